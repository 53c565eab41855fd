"""The command line from end to end: what goes in, what comes out, and what happens with bad input."""

import gzip
import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import pytest
import zstandard
from jsonschema import Draft202012Validator
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from correlator.cli import main
from tests import recorded
from tests.collector.files.support import otlp_json
from tests.correlator.join.telemetry import T0, Span, chat, retrieval, root, served, traces
from tests.recorded import FOLDER

SCHEMA = json.loads((Path(__file__).parents[1] / "docs" / "diagnosis.schema.json").read_text())
HEALTHY_S, SECONDS = 60, 120
START = T0 // 10**9


@dataclass(frozen=True)
class Ran:
    """Exit code, standard output and standard error of one command."""

    code: int
    out: str
    err: str

    @property
    def found(self) -> dict:  # type: ignore[type-arg]
        """The one JSON object on standard output, which fits the schema."""
        found: dict = json.loads(self.out)  # type: ignore[type-arg]
        assert [] == [error.message for error in Draft202012Validator(SCHEMA).iter_errors(found)]
        return found

    @property
    def first(self) -> str:
        return str(self.found["findings"][0]["hypothesis"])


Run = Callable[..., Ran]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """The command `tollens` in this process; it must end by itself, never with a traceback."""
    piped = tmp_path.with_name(f"{tmp_path.name}-stdin")

    def command(*arguments: object, stdin: bytes = b"") -> Ran:
        piped.write_bytes(stdin)
        monkeypatch.setattr(sys, "argv", ["tollens", *map(str, arguments)])
        code = 0
        with piped.open() as read_from:
            monkeypatch.setattr(sys, "stdin", read_from)
            try:
                main()
            except SystemExit as end:
                code = int(end.code or 0)
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return Ran(code, out, err)

    return command


def answer(i: int, retrieval_s: float) -> list[Span]:
    """A request every half second, of which only retrieval takes long."""
    t, at = f"t{i}", i / 2
    wobble = 0.02 * (i * 7 % 10)
    call = at + retrieval_s + 0.02
    end = call + 0.2 + wobble
    return [
        root(trace=t, start=at, end=end + 0.01),
        retrieval(trace=t, id="r", parent="root", start=at + 0.01, end=at + 0.01 + retrieval_s),
        chat(trace=t, id="c", parent="root", start=call, end=end),
        served(trace=t, id="s", parent="c", start=call + 0.01, end=end - 0.01),
    ]


def lines(first: int = 0, last: int = 2 * SECONDS) -> list[bytes]:
    """OTLP JSON, ten requests a line; from the middle on retrieval takes a second."""
    out = []
    for at in range(first, last, 10):
        spans = [s for i in range(at, at + 10) for s in answer(i, (0.05 if i < 2 * HEALTHY_S else 1.0) + i % 3 / 50)]
        request = ExportTraceServiceRequest.FromString(traces(spans).payload)
        out.append(json.dumps(otlp_json(request)).encode() + b"\n")
    return out


@pytest.fixture(scope="module")
def incident() -> bytes:
    return b"".join(lines())


@pytest.fixture
def file(tmp_path: Path, incident: bytes) -> Path:
    path = tmp_path / "traces.jsonl"
    path.write_bytes(incident)
    return path


MIDDLE, END = START + HEALTHY_S, START + SECONDS
WINDOWS = ("--baseline-window", f"{START}/{MIDDLE}", "--incident-window", f"{MIDDLE}/{END}")


def test_a_file_is_diagnosed(run: Run, file: Path) -> None:
    """A file of traces gives one JSON object, nothing else, with the cause first."""
    ran = run("diagnose", file, "--json")
    assert (0, "", 1) == (ran.code, ran.err, ran.out.count("\n"))
    assert "retrieval_slow" == ran.first


def packed(content: bytes, name: str) -> bytes:
    packers = {"x.gz": gzip.compress, "x.zst": zstandard.ZstdCompressor().compress}
    return packers.get(name, bytes)(content)


@pytest.mark.parametrize("name", ["x.gz", "x.zst", "no_suffix", "wrong.pdf"])
def test_what_a_file_is_called_does_not_matter(run: Run, tmp_path: Path, incident: bytes, name: str) -> None:
    """Compression and format are found by content."""
    (tmp_path / name).write_bytes(packed(incident, name))
    assert "retrieval_slow" == run("diagnose", tmp_path / name, "--json").first


def test_standard_input_is_read(run: Run, incident: bytes) -> None:
    """A dash reads what is piped in, compressed or not."""
    for content in (incident, gzip.compress(incident)):
        assert "retrieval_slow" == run("diagnose", "-", "--json", stdin=content).first


def test_a_folder_and_files_are_the_same(run: Run, tmp_path: Path) -> None:
    """One folder, or its files one by one: the same findings."""
    for i, part in enumerate((lines(0, 100), lines(100))):
        (tmp_path / f"part{i}").write_bytes(b"".join(part))
    folder = run("diagnose", tmp_path, "--json").found
    files = run("diagnose", *sorted(tmp_path.iterdir()), "--json").found
    assert folder["findings"] == files["findings"]


def test_a_person_reads_it_on_a_terminal(run: Run, file: Path) -> None:
    """Without --json the text names symptom, cause and what was refuted."""
    ran = run("diagnose", file)
    assert 0 == ran.code
    assert {"retrieval_slow", "Symptom", "Refuted"} <= set(ran.out.replace("(", " ").split())


@pytest.mark.parametrize(("suffix", "sign"), [(".html", "<html"), (".md", "# ")])
def test_a_report_is_written(run: Run, file: Path, tmp_path: Path, suffix: str, sign: str) -> None:
    """--report writes one page of the kind its name says, beside the usual output."""
    report = tmp_path / f"report{suffix}"
    ran = run("diagnose", file, "--json", "--report", report)
    assert (0, "retrieval_slow") == (ran.code, ran.first)
    assert sign in report.read_text() and "retrieval_slow" in report.read_text()


def refused(ran: Ran, *said: str) -> None:
    """Exit code 2, nothing on standard output, and a message that says these things."""
    assert (2, "") == (ran.code, ran.out)
    assert [] == [text for text in said if text not in ran.err]


def test_a_report_of_an_unknown_kind_is_refused(run: Run, file: Path, tmp_path: Path) -> None:
    """A suffix that says nothing is an error before any work, naming those that do."""
    refused(run("diagnose", file, "--report", tmp_path / "x.pdf"), "x.pdf", ".html", ".md")


def test_a_report_that_cannot_be_written_is_an_error(run: Run, file: Path, tmp_path: Path) -> None:
    """A folder that is not there is told by name."""
    refused(run("diagnose", file, "--report", tmp_path / "none" / "x.md"), "--report", "x.md", "no folder")


def test_two_bundles_are_compared(run: Run, tmp_path: Path) -> None:
    """The bundle given as baseline is the baseline, the other the incident."""
    (tmp_path / "before").write_bytes(b"".join(lines(0, 2 * HEALTHY_S)))
    (tmp_path / "after").write_bytes(b"".join(lines(2 * HEALTHY_S)))
    ran = run("diagnose", tmp_path / "after", "--baseline", tmp_path / "before", "--json")
    assert "retrieval_slow" == ran.first
    assert ran.found["symptom"]["change"]["low"] > 1
    reverse = run("diagnose", tmp_path / "before", "--baseline", tmp_path / "after", "--json").found
    assert reverse["symptom"] is None


def test_a_report_of_two_bundles_shows_traces_of_both(run: Run, tmp_path: Path) -> None:
    """Examples of a comparison come from both bundles, also where both are the same."""
    (tmp_path / "traces").write_bytes(b"".join(lines()))
    report = tmp_path / "x.html"
    ran = run("diagnose", tmp_path / "traces", "--baseline", tmp_path / "traces", "--json", "--report", report)
    assert (0, None) == (ran.code, ran.found["symptom"])
    assert "POST /v1/answer" in report.read_text()


@pytest.mark.parametrize("form", ["unix", "rfc 3339", "rfc 3339 with an offset"])
def test_windows_are_given_in_several_forms(run: Run, file: Path, form: str) -> None:
    """Unix seconds and RFC 3339 mean the same windows, which the answer repeats."""
    spelled = {
        "unix": WINDOWS,
        "rfc 3339": (
            "--baseline-window", "2026-11-30T00:53:20Z/2026-11-30T00:54:20Z",
            "--incident-window", "2026-11-30T00:54:20Z/2026-11-30T00:55:20Z",
        ),
        "rfc 3339 with an offset": (
            "--baseline-window", "2026-11-30T01:53:20+01:00/2026-11-30T01:54:20+01:00",
            "--incident-window", "2026-11-29T20:54:20-04:00/2026-11-29T20:55:20-04:00",
        ),
    }  # fmt: skip
    found = run("diagnose", file, "--json", *spelled[form]).found
    assert ("2026-11-30T00:53:20Z", "2026-11-30T00:54:20Z") == (
        found["symptom"]["baseline"]["start"], found["symptom"]["onset"],
    )  # fmt: skip
    assert "retrieval_slow" == found["findings"][0]["hypothesis"]


def test_one_window_is_enough(run: Run, file: Path) -> None:
    """With the incident alone the baseline is what came before."""
    ran = run("diagnose", file, "--json", *WINDOWS[2:])
    assert "retrieval_slow" == ran.first
    assert "2026-11-30T00:53:20Z" == ran.found["symptom"]["baseline"]["start"]


@pytest.mark.parametrize(
    ("window", "said"),
    [
        ("yesterday/today", "expected a time"),
        ("1796000000", "START/END"),
        ("1796000060/1796000000", "the end must be after the start"),
        ("1796000000/1796000000", "the end must be after the start"),
        ("10/20", "holds no data"),
        ("/", "expected a time"),
        ("nan/inf", "expected a time"),
        ("1e300/1e301", "holds no data"),
    ],
)
def test_nonsense_windows_are_refused(run: Run, file: Path, window: str, said: str) -> None:
    """What is no window, or holds nothing, is an error that names the flag or the window."""
    refused(run("diagnose", file, "--json", "--baseline-window", window), "baseline", said)


def test_a_window_that_leaves_nothing_to_compare_with_says_so(run: Run, file: Path) -> None:
    """The window that was not given is not blamed for holding no data."""
    refused(run("diagnose", file, "--incident-window", "1/2000000000"), "nothing is left for the baseline")


def test_the_version_is_told(run: Run) -> None:
    """`--version` prints name and version and does nothing else."""
    assert f"tollens {version('tollens')}" == run("--version").out.strip()


def test_a_symptom_can_be_asked_for(run: Run, file: Path) -> None:
    """The kind asked for is explained; an unknown one is refused with the known ones."""
    assert "errors" == run("diagnose", file, "--json", "--symptom", "errors").found["symptom"]["kind"]
    refused(run("diagnose", file, "--symptom", "sadness"), "sadness", "latency", "quality")


def test_hypotheses_are_listed_and_shown(run: Run) -> None:
    """The list has every id; one of them is shown with claim and remedy; an unknown one is refused."""
    assert {"retrieval_slow", "none_of_these"} <= set(run("hypotheses").out.split())
    shown = run("hypotheses", "retrieval_slow")
    assert 0 == shown.code
    assert "Remedy" in shown.out and "Refuted if" in shown.out
    refused(run("hypotheses", "gremlins"), "gremlins", "retrieval_slow")


def test_the_demo_shows_a_diagnosis(run: Run) -> None:
    """`tollens demo` explains the recorded incident that ships with it."""
    ran = run("demo")
    assert 0 == ran.code
    assert "input_token_inflation" in ran.out
    assert [] == [line for line in ran.out.splitlines() if line != line.rstrip()]


@pytest.mark.parametrize("arguments", [(), ("--json",), ("--unknown", "x"), ("x", "--baseline-window")])
def test_wrong_usage_ends_with_two(run: Run, arguments: Sequence[str]) -> None:
    """Missing paths and unknown or incomplete flags are usage errors."""
    refused(run("diagnose", *arguments))


def nothing(folder: Path) -> tuple[Path, str]:
    return folder, "folder is empty"


def missing(folder: Path) -> tuple[Path, str]:
    return folder / "gone", "No such file"


def junk(folder: Path) -> tuple[Path, str]:
    (folder / "core.bin").write_bytes(bytes(range(256)) * 64)
    return folder, "core.bin"


def hollow(folder: Path) -> tuple[Path, str]:
    (folder / "empty.log").touch()
    return folder, "empty.log"


@pytest.mark.parametrize("make", [nothing, missing, junk, hollow])
def test_where_nothing_is_readable_it_says_why(
    run: Run, tmp_path: Path, make: Callable[[Path], tuple[Path, str]]
) -> None:
    """Nothing to work on is exit code 2 with each file and its reason."""
    path, said = make(tmp_path)
    refused(run("diagnose", path, "--json"), str(path), said)


def spoiled_lines() -> bytes:
    good = lines()
    return b"".join([*good[:3], b'{"resourceSpans": [{"scope\n', *good[3:]])


SPOILED = {
    "junk.bin": (lambda: bytes(range(256)) * 64, "junk.bin"),
    "cut.gz": (lambda: gzip.compress(b"".join(lines()))[:-900], "cut off"),
    "broken.jsonl": (spoiled_lines, "broken.jsonl:4"),
    "gone": (None, "gone"),
}


@pytest.mark.parametrize("name", SPOILED)
def test_one_bad_file_does_not_spoil_the_rest(run: Run, file: Path, name: str) -> None:
    """What cannot be read is named with file and line, counted in coverage, and the rest is diagnosed."""
    make, said = SPOILED[name]
    bad = file.parent / name
    if make is not None:
        bad.write_bytes(make())
    found = run("diagnose", file, bad, "--json").found
    assert "retrieval_slow" == found["findings"][0]["hypothesis"]
    assert sum(found["coverage"]["problems"].values()) >= 1
    assert [m for m in found["coverage"]["messages"] if name in m and said in m]


def edited(times: Callable[[int], int]) -> bytes:
    """The incident with the times of every tenth line changed."""
    out = []
    for number, line in enumerate(lines()):
        record = json.loads(line)
        spans = [s for r in record["resourceSpans"] for scope in r["scopeSpans"] for s in scope["spans"]]
        for span in spans if number % 10 == 3 else []:
            for key in ("startTimeUnixNano", "endTimeUnixNano"):
                span[key] = str(times(int(span[key])))
        out.append(json.dumps(record).encode() + b"\n")
    return b"".join(out)


@pytest.mark.parametrize(
    ("times", "name"),
    [(lambda t: 0, "zero"), (lambda t: t // 1000, "microseconds"), (lambda t: t + 173 * 365 * 86_400 * 10**9, "2200")],
    ids=["zero", "microseconds", "year 2200"],
)
def test_wrong_times_are_counted(run: Run, tmp_path: Path, times: Callable[[int], int], name: str) -> None:
    """Times that cannot be are counted as such and change nothing about the others."""
    path = tmp_path / f"{name}.jsonl"
    path.write_bytes(edited(times))
    found = run("diagnose", path, "--json").found
    assert found["coverage"]["problems"].get("bad_time", 0) >= 1
    assert [m for m in found["coverage"]["messages"] if f"{name}.jsonl:" in m]
    assert "retrieval_slow" == found["findings"][0]["hypothesis"]


def test_the_same_spans_twice_count_once(run: Run, file: Path) -> None:
    """A copy of a file adds duplicates to the problems and nothing to the evidence."""
    copy = file.parent / "copy.jsonl"
    copy.write_bytes(file.read_bytes())
    once, twice = run("diagnose", file, "--json").found, run("diagnose", file, copy, "--json").found
    assert once["findings"] == twice["findings"]
    assert once["coverage"]["records"] == twice["coverage"]["records"]
    assert once["coverage"]["records"]["spans"] == twice["coverage"]["problems"]["duplicate"]


def test_where_nothing_can_be_compared_nothing_is_judged(run: Run) -> None:
    """One scrape has no before and no after: every cause is untestable, none refuted by its absence."""
    page = sorted((FOLDER / "s01_token_inflation" / "scrape").iterdir())[0]
    found = run("diagnose", page, "--json").found
    assert found["symptom"] is None
    causes = {f["verdict"] for f in found["findings"] if f["hypothesis"] != "none_of_these"}
    assert {"untestable"} == causes


def test_missing_parents_are_counted(run: Run, tmp_path: Path) -> None:
    """Spans whose parents were lost are counted, and the share of torn traces is told."""
    spans = [s for i in range(2 * SECONDS) for s in answer(i, 0.1) if not (i < 40 and s.id == "root")]
    path = tmp_path / "traces.binpb"
    path.write_bytes(traces(spans).payload)
    coverage = run("diagnose", path, "--json").found["coverage"]
    assert 80 == coverage["problems"]["missing_parent"]
    assert coverage["orphan_share"] > 0.05


def test_the_installed_command_is_quiet_and_exact() -> None:
    """As a process of its own: one JSON object on standard output, nothing on standard error."""
    paths = recorded.paths("s12_healthy", {"traces.jsonl.gz", "vllm.log.gz"})
    command = [sys.executable, "-m", "correlator", "diagnose", "--json", *paths]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    ran = Ran(done.returncode, done.stdout, done.stderr)
    assert ("", None, "none_of_these") == (ran.err, ran.found["symptom"], ran.first)
