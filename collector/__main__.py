"""`python -m collector`: the collector alone, on a GPU host or as a sidecar.

Says its ports in one line of JSON on standard output when it is ready. Exit codes: 0 stopped by SIGTERM or SIGINT, with
everything acknowledged on disk; 2 bad configuration, or a port or spool that is in use.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from collector.logs import to_stderr
from correlator.model.errors import TollensError

if TYPE_CHECKING:
    from collector.service import Ports
    from collector.settings import CollectorSettings


def main(arguments: Sequence[str] | None = None) -> int:
    """Run until a signal says to stop; the exit code."""
    options = _parser().parse_args(arguments)
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # what it says at the start we say ourselves
    to_stderr()
    from collector.heap import keep_freed_memory
    from collector.settings import load
    from correlator.model.orphan import end_with_parent

    end_with_parent()
    keep_freed_memory()
    try:
        settings = load(options.config, options.data)
        ports = options.otlp_grpc_port, options.otlp_http_port, options.metrics_port
        asyncio.run(_serve(settings.on_ports(*ports)))
    except TollensError as error:
        print(f"tollens collector: {error}", file=sys.stderr)
        return 2
    return 0


async def _serve(settings: CollectorSettings) -> None:
    from collector.service import run

    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def end() -> None:
        stop.set()
        loop.remove_signal_handler(signal.SIGINT)
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # a second one ends at once, whatever hangs

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, end)
    await run(settings, stop, _say)


def _say(ports: Ports) -> None:
    try:
        print(json.dumps({"ready": True, **asdict(ports)}), flush=True)
    except BrokenPipeError:  # whoever wanted to know is gone; what is sent must be kept all the same
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m collector", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--config", type=Path, metavar="FILE", help="tollens.yaml; its section `collector` is read")
    parser.add_argument("--data", type=Path, metavar="DIR", help="the spool is in its folder `spool`")
    for name in ("--otlp-grpc-port", "--otlp-http-port", "--metrics-port"):
        parser.add_argument(name, type=_port, metavar="N", help="0: any free one")
    return parser


def _port(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and int(text) <= 65_535):
        raise argparse.ArgumentTypeError(f"expected a port from 0 to 65535, got {text!r}")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
