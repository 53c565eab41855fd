"""Builds the real OpenTelemetry Collector of `otelcol/`, once for each set of its sources, outside the tree.

`python -m tests.counterparts.building` does it ahead of the tests, which takes minutes where Go's cache is empty.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

SOURCES = Path(__file__).parent / "otelcol"
TAGS = "remove_all_sd"
"""Without the service discoveries of a dozen clouds in the prometheus receiver: a tenth less to compile."""
DOWNLOAD_S, BUILD_S = 600, 1500


class UnavailableError(Exception):
    """This machine cannot build it: no Go, one too old, or its modules cannot be had."""


def otelcol() -> Path:
    """The program. Tests that ask for it are skipped where it cannot be built; on CI with Go they fail instead."""
    found = _outcome()
    if isinstance(found, Path):
        return found
    if os.environ.get("CI") and shutil.which("go"):
        raise found
    pytest.skip(str(found))


@cache
def _outcome() -> Path | UnavailableError:
    try:
        return build()
    except UnavailableError as error:
        return error


def build() -> Path:
    """Return the program, built if need be. Whoever comes meanwhile waits for it. Raises `UnavailableError`."""
    go = shutil.which("go")
    if go is None:
        raise UnavailableError("the OpenTelemetry Collector is built by Go, and there is no `go` on the PATH")
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tollens"
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / f"otelcol-{_key(go)}"
    with (folder / "otelcol.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not program.exists():
            _compile(go, program)
    return program


def _key(go: str) -> str:
    """Changes with the sources, the versions they name, and the compiler."""
    version = subprocess.run([go, "version"], capture_output=True, check=True).stdout
    parts = [version, TAGS.encode(), *(path.read_bytes() for path in sorted(SOURCES.iterdir()) if path.is_file())]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


def _compile(go: str, program: Path) -> None:
    """Fetch the modules, and no more of them than are compiled; then compile."""
    flags = ["-mod=readonly", f"-tags={TAGS}"]
    fetched = _go(go, "list", *flags, "-deps", ".", limit_s=DOWNLOAD_S)
    if fetched.returncode:
        raise UnavailableError(f"the modules of the OpenTelemetry Collector cannot be had: {fetched.stderr[-500:]}")
    unfinished = program.with_suffix(".unfinished")
    small = ["-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", str(unfinished), "."]
    built = _go(go, "build", *flags, *small, limit_s=BUILD_S)
    assert 0 == built.returncode, built.stderr[-5000:]
    unfinished.rename(program)


def _go(go: str, *arguments: str, limit_s: float) -> subprocess.CompletedProcess[str]:
    command = [go, *arguments]
    return subprocess.run(command, cwd=SOURCES, capture_output=True, text=True, timeout=limit_s, check=False)


if __name__ == "__main__":
    print(build())
