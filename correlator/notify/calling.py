"""One unary gRPC call to a checked address: the bytes of a message out, the bytes of its answer back.

Like a POST: the host is resolved once and judged, the connection goes to that very address, name and certificate are
still the host's, and proxies of the environment are not used. gRPC is imported when it is needed, and only then.
"""

from __future__ import annotations

import ssl
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, urlsplit

from correlator.model.notices import HttpRequest
from correlator.model.outbound import Address
from correlator.model.retrying import LONGEST_RETRY_AFTER_S, Later, Never
from correlator.notify.addresses import addresses
from correlator.notify.answers import MAX_ANSWER_BYTES, private, said

if TYPE_CHECKING:
    import grpc

FINAL = frozenset(
    {"INVALID_ARGUMENT", "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED"}
    | {"UNAUTHENTICATED", "FAILED_PRECONDITION", "UNIMPLEMENTED"}
)
"""Status codes that blame the sender, as client errors of HTTP do. The others may pass."""
DETAILS = "grpc-status-details-bin"


async def call(
    request: HttpRequest, secret: str, context: ssl.SSLContext, allow: Collection[str], timeout_s: float
) -> bytes:
    """Call `grpc(s)://host:port/service/method`. Raises Later or Never, whose text holds no secret."""
    import grpc

    url = urlsplit(request.url)
    found = await addresses(url.hostname or "", url.port or 0, allow)
    metadata = [(name.lower(), value) for name, value in request.headers.items()]
    async with _channel(url, found, context) as channel:
        try:
            ask: Any = channel.unary_unary(url.path)
            answer: bytes = await ask(request.body, metadata=metadata, timeout=timeout_s)
        except grpc.aio.AioRpcError as error:
            code = error.code().name
            text = f"gRPC status {code}{said(error.details() or '', private(request, secret))}"
            if code in FINAL:
                raise Never(text) from None
            raise Later(text, _asked_s(error)) from None
    return answer


def _channel(url: SplitResult, found: Sequence[Address], context: ssl.SSLContext) -> grpc.aio.Channel:
    """To the addresses of one family; gRPC tries them in turn."""
    import grpc

    family = found[0].version
    places = [f"[{a}]:{url.port}" if family == 6 else f"{a}:{url.port}" for a in found if a.version == family]
    options: list[tuple[str, Any]] = [
        ("grpc.default_authority", url.netloc),
        ("grpc.enable_http_proxy", 0),
        ("grpc.enable_retries", 0),
        ("grpc.max_receive_message_length", MAX_ANSWER_BYTES),
        ("grpc.use_local_subchannel_pool", 1),
    ]
    target = f"ipv{family}:{','.join(places)}"
    if url.scheme == "grpc":
        return grpc.aio.insecure_channel(target, options)
    trusted = "".join(ssl.DER_cert_to_PEM_cert(each) for each in context.get_ca_certs(binary_form=True))
    credentials = grpc.ssl_channel_credentials(trusted.encode() or None)
    return grpc.aio.secure_channel(target, credentials, [*options, ("grpc.ssl_target_name_override", url.hostname)])


def _asked_s(error: grpc.aio.AioRpcError) -> float:
    """Seconds that a `google.rpc.RetryInfo` asks for, as the OTLP specification has it; 0 without one."""
    from google.protobuf.message import DecodeError
    from google.rpc.error_details_pb2 import RetryInfo  # type: ignore[import-untyped]
    from google.rpc.status_pb2 import Status  # type: ignore[import-untyped]

    info = RetryInfo()
    for name, value in error.trailing_metadata() or ():
        try:
            details = Status.FromString(bytes(value)).details if name == DETAILS and isinstance(value, bytes) else ()
            if any(detail.Unpack(info) for detail in details):
                return float(min(max(0.0, info.retry_delay.ToTimedelta().total_seconds()), LONGEST_RETRY_AFTER_S))
        except (DecodeError, ValueError, OverflowError):
            return 0.0
    return 0.0
