"""DCGM: `dcgmi dmon` played by a script that the test writes, and dcgm-exporter by a page on a real server."""

import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from collector.gpu.dcgm_fields import BY_ID
from collector.gpu.dmon_table import Table
from collector.gpu_dcgm import DcgmiSampler, DcgmiSettings, exporter_job
from collector.prometheus_scrape import Scraper, ScrapeSettings
from tests.collector.memory_sink import MemorySink, eventually
from tests.collector.pages import pages

HEAD = """\
#Entity         GPUTL             TOTEC                   SMACT        PCITX                     NEWFIELD
ID                                 mJ
"""
ROWS = """\
GPU 0           97                123456789               0.912        2048                      1
GPU 1           N/A                                       0.5          9223372036854775794       1
GPU-CI 3                                                  0.250
"""
DISCOVERY = """\
2 GPUs found.
+--------+---------------------------------+
| GPU ID | Device Information              |
+--------+---------------------------------+
| 0      | Name: Stand-in 80GB             |
|        | PCI Bus ID: 00000000:07:00.0    |
|        | Device UUID: GPU-zero           |
+--------+---------------------------------+
"""


def program(folder: Path, dmon: str) -> str:
    """An executable that answers `discovery -l` and runs these shell lines on `dmon`."""
    path = folder / "dcgmi"
    path.write_text(f"""#!/bin/sh
if [ "$1" = discovery ]; then cat <<'EOF'
{DISCOVERY}EOF
exit; fi
echo "$@" >> {folder}/asked
print() {{ cat <<'EOF'
{HEAD}{ROWS}EOF
}}
{dmon}
""")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


@contextmanager
def sampling(sink: MemorySink, path: str, **settings: Any) -> Iterator[DcgmiSampler]:
    sampler = DcgmiSampler(DcgmiSettings(program=path, **settings), "node-1", sink)
    sampler.start()
    try:
        yield sampler
    finally:
        sampler.stop()


def asked(folder: Path) -> list[str]:
    return (folder / "asked").read_text().splitlines()


def test_a_table_arrives(tmp_path: Path) -> None:
    """Values stand under DCGM's names and units; N/A, blanks, empty and unknown columns are left out."""
    sink = MemorySink()
    with sampling(sink, program(tmp_path, "print; exec sleep 60"), fields=(203, 1002), interval_s=0.5) as sampler:
        points = sink.until(sink.points)
        state = sampler.state()
    told = [(p.resource.get("gpu", p.resource.get("dcgm.entity")), p.name, p.unit, p.kind, p.value) for p in points]
    assert [
        (0, "DCGM_FI_DEV_GPU_UTIL", "%", "gauge", 97.0),
        (0, "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "mJ", "sum", 123456789.0),
        (0, "DCGM_FI_PROF_SM_ACTIVE", "1", "gauge", 0.912),
        (0, "DCGM_FI_PROF_PCIE_TX_BYTES", "By/s", "gauge", 2048.0),
        (1, "DCGM_FI_PROF_SM_ACTIVE", "1", "gauge", 0.5),
        ("GPU-CI 3", "DCGM_FI_PROF_SM_ACTIVE", "1", "gauge", 0.25),
    ] == told
    assert ["dmon -e 203,1002 -d 500"] == asked(tmp_path)
    assert (True, "", 3, 0) == (state.available, state.reason, state.counts["rows"], state.counts["faults"])


def test_the_resource_names_host_and_gpu(tmp_path: Path) -> None:
    """Host and number, and the id and model of a GPU that `dcgmi discovery` lists."""
    sink = MemorySink()
    with sampling(sink, program(tmp_path, "print; exec sleep 60")):
        points = sink.until(sink.points)
    resources = {point.resource.get("gpu"): point.resource for point in points}
    assert {"host.name": "node-1", "gpu": 0, "hw.id": "GPU-zero", "gpu.model": "Stand-in 80GB"} == resources[0]
    assert {"host.name": "node-1", "gpu": 1} == resources[1]


def test_it_is_started_again_when_it_dies(tmp_path: Path) -> None:
    """A process that ends after its rows is run again; meanwhile the state says that it ended and how."""
    sink = MemorySink()
    with sampling(sink, program(tmp_path, "print; echo Lost connection to the host engine; exit 3")) as sampler:
        sink.until(lambda: len(sink.points("DCGM_FI_DEV_GPU_UTIL")) >= 2)
        sampler.stop()
        state = sampler.state()
    assert state.profiling
    assert state.counts["starts"] >= 2
    assert state.counts["faults"] >= 1


def test_profiling_fields_that_are_refused(tmp_path: Path) -> None:
    """Where all is refused for the sake of the profiling fields, the next run asks for the others alone."""
    sink = MemorySink()
    refusing = 'case "$3" in *1002*) echo "Error setting watches. Result: -6: Feature not supported"; exit 1;; esac'
    path = program(tmp_path, f"{refusing}\nprint; exec sleep 60")
    with sampling(sink, path, fields=(203, 252, 1002)) as sampler:
        sink.until(sink.points)
        assert not sampler.state().profiling
    assert ["dmon -e 203,252,1002 -d 1000", "dmon -e 203,252 -d 1000"] == asked(tmp_path)


def test_a_failure_is_said(tmp_path: Path) -> None:
    """What the process said last, and its status, are the reason why DCGM is off."""
    sink = MemorySink()
    with sampling(sink, program(tmp_path, "echo Error: unable to connect; exit 5"), fields=(203,)) as sampler:
        reason = eventually(lambda: sampler.state().reason)
    assert reason.endswith("ended with status 5: Error: unable to connect")
    assert [] == sink.points()


def test_no_dcgmi() -> None:
    """Without the program DCGM is off, with a reason, and never healthy."""
    with sampling(MemorySink(), "dcgmi-that-is-not-here") as sampler:
        state = eventually(lambda: (now := sampler.state()).available is not None and now)
    assert (False, 0) == (state.available, state.counts.get("starts", 0))
    assert "No such file or directory" in state.reason


@pytest.mark.parametrize("stubborn", ["", "trap '' TERM", "sleep 60 &"])
def test_stopping_ends_the_process(tmp_path: Path, stubborn: str) -> None:
    """After stop nothing of it is left, even if it ignores the polite signal or has children of its own."""
    sink = MemorySink()
    with sampling(sink, program(tmp_path, f"{stubborn}\necho $$ > {tmp_path}/pid; print; sleep 60; :")) as sampler:
        sink.until(sink.points)
        sampler.stop()
    group = (tmp_path / "pid").read_text().strip()
    eventually(lambda: all(_group(path) != group for path in Path("/proc").glob("[0-9]*/stat")))


def _group(path: Path) -> str:
    """The process group of a process that is alive; none for one that is gone or a zombie."""
    try:
        state, _, group, *_ = path.read_text().rpartition(")")[2].split()
    except (OSError, ValueError):
        return ""
    return "" if state == "Z" else group


def rows(text: str) -> list[tuple[str, dict[int, float]]]:
    table = Table()
    found = [row for line in text.splitlines() if (row := table.row(line))]
    return [(row.entity, {field.id: value for field, value in row.values}) for row in found]


@pytest.mark.parametrize("first", [10, 11, 16])
def test_tables_of_every_version(first: int) -> None:
    """The first column has had three widths; the header is printed again and may change its columns."""
    head = "#Entity".ljust(first) + "GPUTL             SMACT        \n" + "ID".ljust(first) + "\n"
    again = "#Entity".ljust(first) + "SMACT        FBUSD             \n" + "ID".ljust(first) + "\n"
    row = "GPU 12".ljust(first) + "97                0.912        \n"
    other = "GPU 12".ljust(first) + "0.5          74210             \n"
    expected = [("GPU 12", {203: 97.0, 1002: 0.912}), ("GPU 12", {1002: 0.5, 252: 74210.0})]
    assert expected == rows(head + row + again + other)


def test_an_older_header() -> None:
    """A header whose mark stands apart, as older versions print it, is read as well."""
    assert [("GPU 0", {203: 97.0})] == rows("# Entity          GPUTL\n        Id\n    GPU 0          97\n")


@pytest.mark.parametrize("line", ["Error: lost", "GPU x           97", "GPU 0           ninety", "\x00", "97"])
def test_a_line_that_is_no_row(line: str) -> None:
    """A line or cell that cannot be is counted, and the rows around it are read."""
    table = Table()
    text = f"#Entity         GPUTL\nGPU 0           1\n{line}\nGPU 0           2\n"
    found = [row for text_line in text.splitlines() if (row := table.row(text_line)) and row.values]
    assert ([1.0, 2.0], 1) == ([row.values[0][1] for row in found], table.faults)


@given(st.text(max_size=300), st.text("GPU 0123-CI.NA#Entity\n\tSMACT", max_size=300))
def test_any_text_is_survived(one: str, two: str) -> None:
    """No text makes the reader fail."""
    rows(f"{one}\n#Entity         GPUTL             SMACT\n{two}\n{one}")


@pytest.mark.parametrize(
    ("id_", "tag", "unit"),
    [(1001, "GRACT", "1"), (1002, "SMACT", "1"), (1003, "SMOCC", "1"), (1004, "TENSO", "1"), (1005, "DRAMA", "1"),
     (1006, "FP64A", "1"), (1007, "FP32A", "1"), (1008, "FP16A", "1"), (1009, "PCITX", "By/s"), (1010, "PCIRX", "By/s"),
     (1011, "NVLTX", "By/s"), (1012, "NVLRX", "By/s"), (1013, "TIMMA", "1"), (1014, "THMMA", "1"),
     (203, "GPUTL", "%"), (252, "FBUSD", "MiBy"), (254, "FBUSP", "1")],
)  # fmt: skip
def test_fields_have_their_right_meaning(id_: int, tag: str, unit: str) -> None:
    """Profiling fields are shares and rates; memory used is 252, not 1001; utilization 203 is a percentage."""
    assert (tag, unit) == (BY_ID[id_].tag, BY_ID[id_].unit)


@pytest.mark.parametrize("fields", [(), (203, 99999)])
def test_unknown_fields_are_refused(fields: tuple[int, ...]) -> None:
    """Field ids that we could not read are refused when settings are read."""
    with pytest.raises(ValidationError, match="expected ids of DCGM fields"):
        DcgmiSettings(fields=fields)


PAGE = """\
# TYPE DCGM_FI_DEV_GPU_UTIL gauge
DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-zero"} 97
# TYPE DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL counter
DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL{gpu="0"} 1234
# TYPE DCGM_FI_DEV_ECC_DBE_VOL_TOTAL gauge
DCGM_FI_DEV_ECC_DBE_VOL_TOTAL{gpu="0"} 2
# TYPE DCGM_FI_PROF_SM_UTIL_RATIO gauge
DCGM_FI_PROF_SM_UTIL_RATIO{gpu="0"} 0.5
# TYPE DCGM_FI_DEV_FB_USED gauge
DCGM_FI_DEV_FB_USED{gpu="0"} 100
DCGM_FI_DEV_FB_USED{gpu="1"} 9223372036854775794
# TYPE DCGM_FI_DEV_MEMORY_TEMP gauge
DCGM_FI_DEV_MEMORY_TEMP{gpu="0"} 140737488355330.0
# TYPE DCGM_FI_DEV_SOMETHING_NEW counter
DCGM_FI_DEV_SOMETHING_NEW{gpu="0"} 7
"""


def test_an_exporter_is_scraped_and_meant_rightly() -> None:
    """Units are DCGM's; a rate typed as counter is a gauge, a counter typed as gauge a sum; blanks are left out."""
    sink = MemorySink()
    with pages(PAGE) as server:
        scraper = Scraper(ScrapeSettings(jobs=(exporter_job(server.address, interval_s=0.1),)), sink)
        scraper.start()
        points = sink.until(lambda: [p for p in sink.points() if p.name.startswith("DCGM")])
        scraper.stop()
    assert {
        ("DCGM_FI_DEV_GPU_UTIL", "%", "gauge", "0", 97.0),
        ("DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL", "MBy/s", "gauge", "0", 1234.0),
        ("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", "{error}", "sum", "0", 2.0),
        ("DCGM_FI_PROF_SM_UTIL_RATIO", "1", "gauge", "0", 0.5),
        ("DCGM_FI_DEV_FB_USED", "MiBy", "gauge", "0", 100.0),
        ("DCGM_FI_DEV_SOMETHING_NEW", "", "sum", "0", 7.0),
    } == {(p.name, p.unit, p.kind, p.attributes["gpu"], p.value) for p in points}
    assert {"dcgm-exporter"} == {point.resource["service.name"] for point in points}


def test_the_usual_exporter() -> None:
    """Without an address the exporter is expected where it listens by default."""
    assert ("dcgm-exporter", ("localhost:9400",)) == (exporter_job().name, exporter_job().targets)
