"""What an exporter that delivers is: settings, and a pure function from a notice to the requests that tell it.

Each stands in a file of its own as `EXPORTER`. Delivery (outbox, retries, addresses, limits) is the same for all and
lies in `correlator/notify`. Files of this folder without `EXPORTER` render a diagnosis for people instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Generic, Self, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from correlator.model.notices import Attempt, HttpRequest, Notice
from correlator.model.outbound import allowance, http_url, leads_inside
from exporters._templates import Template

Url = Annotated[str, Field(max_length=2_000, repr=False), AfterValidator(http_url)]
Allowed = Annotated[str, AfterValidator(allowance)]


class ExporterSettings(BaseModel):
    """What every target can be told; an exporter adds its own."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True, hide_input_in_errors=True)

    exporter: str
    name: str = Field(pattern=r"^[A-Za-z0-9_-]{1,40}$", description="Its name in metrics, logs and API.")
    secret_file: Path | None = Field(default=None, description="File that holds the secret; read at each attempt.")
    secret_env: str | None = Field(default=None, description="Environment variable that holds the secret instead.")
    allow: tuple[Allowed, ...] = Field(
        default=(), max_length=100, description="Private networks (CIDR) and host names that may be reached."
    )
    ca_file: Path | None = Field(default=None, description="PEM file: trusted instead of the system's authorities.")
    connect_timeout_s: float = Field(default=5, gt=0, le=60)
    timeout_s: float = Field(default=10, gt=0, le=120, description="For the whole attempt.")
    per_minute: int = Field(default=60, ge=1, le=60_000, description="Most requests in a minute; more wait.")
    give_up_s: float = Field(
        default=86_400, gt=0, le=30 * 86_400, description="A notice not taken for so long becomes a dead letter."
    )
    summary_template: Template | None = Field(default=None, description="Jinja file for the sentence of a notice.")

    @model_validator(mode="after")
    def _one_secret(self) -> Self:
        if self.secret_file is not None and self.secret_env is not None:
            raise ValueError("secret_file, secret_env: expected one of them, not both")
        return self

    @model_validator(mode="after")
    def _goes_outside(self) -> Self:
        url = getattr(self, "url", None)
        if url is not None and leads_inside(url, self.allow):
            raise ValueError("url: expected a public address, or its host or network under `allow`")
        return self


S = TypeVar("S", bound=ExporterSettings)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exporter(Generic[S]):
    """`id` is the file's stem. `requests` is pure: same notice, settings and attempt, same requests.

    They are sent one after the other, all again when one of them is not taken. `check` looks at a secret when the
    service starts: ValueError, which never shows the secret, says what was expected. `answered` reads what came back
    with a status of success: the name of the incident's thread there, for later attempts; Never or Later when the
    answer says that nothing was taken after all.
    """

    id: str
    settings: type[S]
    requests: Callable[[Notice, S, Attempt], Sequence[HttpRequest]]
    check: Callable[[str], None] = lambda secret: None
    answered: Callable[[bytes], str] = lambda answer: ""


AnyExporter = Exporter[Any]
