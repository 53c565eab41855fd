"""What to scrape: fixed targets, and files of targets in Prometheus' `file_sd` format, read again when they change."""

from __future__ import annotations

import glob
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

import yaml
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, TypeAdapter, ValidationError, model_validator

from collector.files._page import MAX_SAMPLES

MAX_FILE_BYTES = 1 << 20
MAX_PROBLEMS = 100
LONGEST_S = 3600.0
SHORTEST_S = 0.1
DEFAULT_TIMEOUT_S = 10.0
_PORTS = {"http": 80, "https": 443}
_DURATION = re.compile(r"(?:(\d{1,9})h)?(?:(\d{1,9})m)?(?:(\d{1,9})s)?(?:(\d{1,9})ms)?")

Scheme = Literal["http", "https"]
UrlPath = Annotated[str, StringConstraints(pattern=r"^/[\x21-\x7e]*$")]
Interval = Annotated[float, Field(ge=SHORTEST_S, le=LONGEST_S)]


class ScrapeJob(BaseModel):
    """Targets that are scraped alike. `targets` are `host:port`, `files` patterns of `file_sd` files (JSON or YAML)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(min_length=1)
    targets: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    interval_s: Interval = 15.0
    timeout_s: Interval | None = Field(default=None, description="Not given: 10 s, or the interval if shorter.")
    scheme: Scheme = "http"
    metrics_path: UrlPath = "/metrics"
    labels: dict[str, str] = {}
    bearer_token_file: Path | None = Field(default=None, description="Read at each scrape, so that it may be renewed.")
    ca_file: Path | None = Field(default=None, description="Certificates to trust instead of the system's.")
    body_limit_bytes: int = Field(default=16 << 20, gt=0, description="Of a page after decompression.")
    sample_limit: int = Field(
        default=50_000, gt=0, le=MAX_SAMPLES, description="Of a page; one with more is refused as a whole."
    )

    @model_validator(mode="after")
    def _checked(self) -> ScrapeJob:
        for address in self.targets:
            _host_and_port(address, self.scheme)
        return self


class ScrapeSettings(BaseModel):
    """What to scrape, how often files of targets are looked at, and how many targets at most."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    jobs: tuple[ScrapeJob, ...] = ()
    refresh_s: Interval = 5.0
    max_targets: int = Field(default=1_000, gt=0)


@dataclass(frozen=True, slots=True)
class Target:
    """One endpoint. Two that are equal are one and the same: a changed label makes another target."""

    job: str
    instance: str
    host: str
    port: int
    scheme: Scheme
    path: str
    interval_s: float
    timeout_s: float
    labels: tuple[tuple[str, str], ...]
    bearer_token_file: Path | None
    ca_file: Path | None
    body_limit_bytes: int
    sample_limit: int

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}{self.path}"


class _Group(BaseModel):
    model_config = ConfigDict(extra="forbid", coerce_numbers_to_str=True)

    targets: list[str]
    labels: dict[str, str] = {}


class _Meant(BaseModel):
    """What labels with underscores on both sides say of a target."""

    scheme: Scheme
    path: UrlPath
    interval_s: Interval
    timeout_s: Interval | None


_GROUPS = TypeAdapter(list[_Group])


@dataclass(frozen=True, slots=True)
class _File:
    """The version of a file that was read last: what it said, or why it could not be used and what it said before."""

    stamp: tuple[int, ...] = ()
    groups: tuple[_Group, ...] = ()
    problem: str = ""


class Discovery:
    """Knows the targets of all jobs. A file that cannot be used keeps what it said before; `problems` says why."""

    def __init__(self, settings: ScrapeSettings) -> None:
        self._settings = settings
        self._files: dict[str, _File] = {}
        self.problems: dict[str, str] = {}

    def targets(self) -> tuple[Target, ...]:
        """All targets, each once, after a look at the files that changed."""
        self.problems = {}
        jobs = [(job, _paths(job)) for job in self._settings.jobs]
        self._files = {path: self._file(path) for path in sorted({path for _, paths in jobs for path in paths})}
        found = dict.fromkeys(target for job, paths in jobs for target in self._of(job, paths))
        most = self._settings.max_targets
        if len(found) > most:
            self._note("max_targets", f"expected at most {most} targets, found {len(found)}; the rest is left out")
        return tuple(found)[:most]

    def _of(self, job: ScrapeJob, paths: list[str]) -> Iterator[Target]:
        groups = [(path, group) for path in paths for group in self._files[path].groups]
        for source, group in [("", _Group(targets=list(job.targets))), *groups]:
            for address in group.targets:
                try:
                    yield _target(job, address, group.labels)
                except ValueError as error:
                    self._note(f"{source} {address[:100]}".strip(), _brief(error))

    def _file(self, path: str) -> _File:
        known = self._files.get(path, _File())
        try:
            status = Path(path).stat()
            stamp = (status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino)
            found = known if stamp == known.stamp else _read(Path(path), stamp, known.groups)
        except OSError as error:
            found = _File((), known.groups, _brief(error))
        if found.problem:
            self._note(path, found.problem)
        return found

    def _note(self, source: str, problem: str) -> None:
        if len(self.problems) < MAX_PROBLEMS:
            self.problems[source] = problem


def _paths(job: ScrapeJob) -> list[str]:
    return sorted({path for pattern in job.files for path in glob.glob(pattern)})


def _read(path: Path, stamp: tuple[int, ...], before: tuple[_Group, ...]) -> _File:
    """The file as it is now; what it said before if it cannot be used. Raises OSError."""
    with path.open("rb") as stream:
        content = stream.read(MAX_FILE_BYTES + 1)
    try:
        if len(content) > MAX_FILE_BYTES:
            raise ValueError(f"expected at most {MAX_FILE_BYTES} bytes")
        loaded = json.loads(content) if path.suffix == ".json" else yaml.load(content, Loader=yaml.BaseLoader)
        return _File(stamp, tuple(_GROUPS.validate_python(loaded or [])))
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        return _File(stamp, before, _brief(error))


def _target(job: ScrapeJob, address: str, labels: dict[str, str]) -> Target:
    """The target that a job and the labels of its group describe. Raises ValueError."""
    labels = {**job.labels, **labels}
    meant = _Meant(
        scheme=labels.get("__scheme__", job.scheme),  # type: ignore[arg-type]  # checked by the model
        path=labels.get("__metrics_path__", job.metrics_path),
        interval_s=_seconds(labels["__scrape_interval__"]) if "__scrape_interval__" in labels else job.interval_s,
        timeout_s=_seconds(labels["__scrape_timeout__"]) if "__scrape_timeout__" in labels else job.timeout_s,
    )
    host, port = _host_and_port(address, meant.scheme)
    kept = {key: value for key, value in labels.items() if not key.startswith("__")}
    return Target(
        job=kept.pop("job", job.name),
        instance=kept.pop("instance", f"[{host}]:{port}" if ":" in host else f"{host}:{port}"),
        host=host,
        port=port,
        scheme=meant.scheme,
        path=meant.path,
        interval_s=meant.interval_s,
        timeout_s=meant.timeout_s or min(DEFAULT_TIMEOUT_S, meant.interval_s),
        labels=tuple(sorted(kept.items())),
        bearer_token_file=job.bearer_token_file,
        ca_file=job.ca_file,
        body_limit_bytes=job.body_limit_bytes,
        sample_limit=job.sample_limit,
    )


def _host_and_port(address: str, scheme: str) -> tuple[str, int]:
    """The parts of `host:port`; the scheme's usual port if none is given. Raises ValueError."""
    wanted = ValueError(f"expected host:port, found {address[:100]!r}")
    if not re.fullmatch(r"[\w.:\[\]-]+", address, re.ASCII):
        raise wanted
    try:
        parts = urlsplit(f"//{address}")
        host, port = parts.hostname, parts.port
    except ValueError:
        raise wanted from None
    if not host or port == 0:
        raise wanted
    return host, port or _PORTS[scheme]


def _seconds(text: str) -> float:
    """A duration as Prometheus writes it (`1m30s`, `500ms`), in seconds. Raises ValueError."""
    match = _DURATION.fullmatch(text)
    if match is None or not text:
        raise ValueError(f"expected a duration such as 1m30s or 500ms, found {text[:40]!r}")
    hours, minutes, seconds, milliseconds = (int(digits or 0) for digits in match.groups())
    return hours * 3600 + minutes * 60 + seconds + milliseconds / 1000


def _brief(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        return f"{place}: {first['msg']}" if place else first["msg"]
    return " ".join(str(error).split())[:300] or type(error).__name__
