"""read(): what is found under paths, how it is decompressed, and that nothing in it stops the rest."""

import io
import json
import os
import random
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from collector.files import read
from correlator.model.records import Signal
from tests.collector.files.support import (
    T0,
    json_lines,
    log,
    logs,
    merged,
    parted,
    read_bytes,
    span,
    span_names,
    traces,
    zipped,
)

CAPTURES = Path(__file__).parents[2] / "data" / "captures"
THREE = json_lines(*(traces(span(n)) for n in (1, 2, 3)))


def zstd(content: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(content)


def kinds(path: Path) -> list[tuple[str, str]]:
    _, problems = parted(read([str(path)]))
    return [(os.path.relpath(problem.source, path), problem.kind) for problem in problems]


@pytest.mark.parametrize("pack", [lambda content: content, zipped, zstd])
@pytest.mark.parametrize("name", ["a.jsonl", "a.gz", "a.zst", "a.log", "no name at all"])
def test_compression_is_found_by_content(pack: Callable[[bytes], bytes], name: str) -> None:
    """Plain, gzip and zstd give the same, whatever the file is called."""
    plain, _ = read_bytes(THREE)
    batches, problems = read_bytes(pack(THREE), name)
    assert [] == problems
    assert plain == batches


@pytest.mark.parametrize("pack", [zipped, zstd])
def test_members_follow_one_another(pack: Callable[[bytes], bytes]) -> None:
    """Compressed files put one behind the other are read to the end."""
    content = b"".join(pack(json_lines(traces(span(n)))) for n in (1, 2, 3))
    batches, problems = read_bytes(content)
    assert [] == problems
    assert ["span 1", "span 2", "span 3"] == span_names(batches)


def incompressible(count: int, drawn: random.Random) -> bytes:
    return json_lines(*(traces(span(n, name=f"span {n}", traceId=drawn.randbytes(16).hex())) for n in range(count)))


@pytest.mark.parametrize("pack", [zipped, zstd])
@pytest.mark.parametrize("share", [0.45, 0.9, 0.999])
def test_cut_compression_gives_what_came_before(pack: Callable[[bytes], bytes], share: float) -> None:
    """A truncated file gives its readable beginning and one problem that names it."""
    drawn = random.Random(4_000)
    content = b"".join(pack(incompressible(4_000, drawn)[:200_000]) for _ in range(4))
    batches, problems = read_bytes(content[: int(len(content) * share)], "cut.gz")
    assert len(span_names(batches)) > 1_500 * share
    (truncated,) = [problem for problem in problems if problem.kind == "truncated"]
    assert truncated.source.endswith("cut.gz")
    assert "cut off" in truncated.reason


@pytest.mark.parametrize("pack", [zipped, zstd])
def test_damaged_compression_is_named(pack: Callable[[bytes], bytes]) -> None:
    """Flipped bytes inside compressed data end that file, say so, and cost nothing else."""
    content = bytearray(pack(incompressible(4_000, random.Random(1))))
    content[len(content) // 2 : len(content) // 2 + 200] = bytes(200)
    _, problems = read_bytes(bytes(content))
    assert "truncated" in [problem.kind for problem in problems]


def test_a_recorded_incident_is_read_whole() -> None:
    """A capture folder gives every span, log line and scrape of it, and no problem but its truth file."""
    folder = CAPTURES / "s01_token_inflation"
    batches, problems = parted(read([str(folder)]))
    assert [("truth.json", "unsupported")] == [(Path(p.source).name, p.kind) for p in problems]
    assert 2185 == len(span_names(batches))
    scraped = [r for r in merged(batches, Signal.METRICS).resource_metrics if has_source(r)]
    assert 82 == len(scraped)


def has_source(resource_metrics: object) -> bool:
    attributes = resource_metrics.resource.attributes  # type: ignore[attr-defined]
    return any(a.key == "tollens.source" and a.value.string_value.endswith("scrape") for a in attributes)


def test_folder_files_and_stdin_are_equal(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A folder, its files one by one, and the bytes on standard input give the same batches."""
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "deep" / "er" / "t.gz").write_bytes(zipped(THREE))
    (tmp_path / "l.jsonl").write_bytes(json_lines(logs(log())))
    folder = parted(read([str(tmp_path)]))
    files = parted(read([str(tmp_path / "deep" / "er" / "t.gz"), str(tmp_path / "l.jsonl")]))
    stdin = type("Stdin", (), {"buffer": io.BytesIO(zipped(THREE + json_lines(logs(log()))))})
    monkeypatch.setattr("sys.stdin", stdin)
    assert (4, []) == (len(folder[0]), folder[1])
    assert folder == files == parted(read(["-"]))


def test_order_is_that_of_names(tmp_path: Path) -> None:
    """Files of a folder are read by name, and progress hears each name before its batches come."""
    for name, number in (("b", 2), ("c", 3), ("a", 1)):
        (tmp_path / name).write_bytes(json_lines(traces(span(number))))
    heard: list[str] = []
    batches, _ = parted(read([str(tmp_path)], progress=heard.append))
    assert ["span 1", "span 2", "span 3"] == span_names(batches)
    assert ["a", "b", "c"] == [Path(name).name for name in heard]


def test_a_file_that_vanishes_costs_itself_only(tmp_path: Path) -> None:
    """A file deleted between being found and being read is a problem; the next one is read."""
    for name, number in (("a", 1), ("b", 2)):
        (tmp_path / name).write_bytes(json_lines(traces(span(number))))

    def lose_a(name: str) -> None:
        if name.endswith("a"):
            os.remove(name)

    batches, problems = parted(read([str(tmp_path)], progress=lose_a))
    assert ["span 2"] == span_names(batches)
    assert ["unreadable"] == [problem.kind for problem in problems]


def test_what_is_no_telemetry_is_named(tmp_path: Path) -> None:
    """An empty file, an empty folder, binary junk, a socket and a dangling link each give one problem."""
    (tmp_path / "empty").touch()
    (tmp_path / "folder").mkdir()
    (tmp_path / "junk").write_bytes(bytes(range(256)) * 40)
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    (tmp_path / "packed.gz").write_bytes(zipped(b""))
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
        found = kinds(tmp_path)
    names = ["empty", "folder", "junk", "link", "packed.gz", "socket"]
    assert [(name, "unreadable") for name in names] == found


def test_a_path_that_is_not_there(tmp_path: Path) -> None:
    """A missing path is a problem and the next path is read."""
    (tmp_path / "t").write_bytes(THREE)
    batches, problems = parted(read([str(tmp_path / "missing"), str(tmp_path / "t")]))
    assert 3 == len(batches)
    assert ["cannot be read (No such file or directory)"] == [problem.reason for problem in problems]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission(tmp_path: Path) -> None:
    """A file that may not be read is named."""
    (tmp_path / "secret").write_bytes(THREE)
    (tmp_path / "secret").chmod(0)
    assert [("secret", "unreadable")] == kinds(tmp_path)


def test_links_that_go_round_end(tmp_path: Path) -> None:
    """A link to a folder above is not followed for ever, and a file reached twice is read once."""
    (tmp_path / "t").write_bytes(THREE)
    (tmp_path / "up").symlink_to(tmp_path)
    (tmp_path / "z").symlink_to(tmp_path / "t")
    batches, problems = parted(read([str(tmp_path), str(tmp_path / "t")]))
    assert 3 == len(batches)
    assert ["duplicate"] * 3 == [problem.kind for problem in problems]


def test_a_pipe_is_read_like_standard_input(tmp_path: Path) -> None:
    """A named pipe, as shells make for process substitution, is read once and whole."""
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(THREE,), daemon=True)
    writer.start()
    batches, problems = parted(read([str(tmp_path / "pipe")]))
    writer.join()
    assert [] == problems
    assert ["span 1", "span 2", "span 3"] == span_names(batches)


def test_truth_is_never_read(tmp_path: Path) -> None:
    """A JSON file of no telemetry format is named and nothing of its content is used."""
    truth = {"cause": "kv_cache_preemption", "baseline": [1796009707, 1796009777]}
    (tmp_path / "truth.json").write_text(json.dumps(truth, indent=1))
    batches, problems = parted(read([str(tmp_path)]))
    assert ([], ["unsupported"]) == (batches, [problem.kind for problem in problems])
    assert "preemption" not in str(problems)


def test_copies_of_spans_are_left_out(tmp_path: Path) -> None:
    """The same trace and span id again, in the same file or another, is counted and dropped."""
    (tmp_path / "a").write_bytes(json_lines(traces(span(1), span(2), span(1)), traces(span(2))))
    (tmp_path / "b").write_bytes(json_lines(traces(span(2), span(3)), traces(span(2, traceId="0b" * 16))))
    batches, problems = parted(read([str(tmp_path)]))
    assert ["span 1", "span 2", "span 3", "span 2"] == span_names(batches)
    assert [("a", "duplicate", 2), ("b", "duplicate", 1)] == [
        (Path(problem.source).name, problem.kind, problem.count) for problem in problems
    ]


def test_year_less_logs_come_last(tmp_path: Path) -> None:
    """A log without years takes its year from the other files, whatever the order of names."""
    (tmp_path / "a.log").write_text("INFO 11-30 05:06:07 [loggers.py:1] Engine 000: started\n" * 3)
    (tmp_path / "b").write_bytes(json_lines(traces(span(1))))
    heard: list[str] = []
    batches, _ = parted(read([str(tmp_path)], progress=heard.append))
    assert ["b", "a.log"] == [Path(name).name for name in heard]
    records = merged(batches, Signal.LOGS).resource_logs[0].scope_logs[0].log_records
    assert abs(records[0].time_unix_nano - T0) < 366 * 86_400 * 10**9
