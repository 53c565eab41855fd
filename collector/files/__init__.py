"""Telemetry that people have at hand: any mix of files, folders and standard input, told apart by content."""

from collections.abc import Callable, Iterator, Sequence

from collector.files._aside import Aside
from collector.files._contract import Options
from correlator.model.records import Batch, Problem

__all__ = ["Aside", "Options", "read"]


def read(
    paths: Sequence[str],
    options: Options = Options(),  # noqa: B008 (frozen)
    progress: Callable[[str], None] | None = None,
) -> Iterator[Batch | Problem]:
    """All telemetry under `paths` as OTLP requests, and what could not be used, as it is met.

    `-` is standard input. `progress` is told each input's name as its reading begins. Nothing in the
    input raises: a file, line or record that cannot be read is a Problem and the rest is still read.
    """
    from collector.files._intake import read_all  # brings every reader along; who has others read needs none

    return read_all(paths, options, progress or (lambda name: None))
