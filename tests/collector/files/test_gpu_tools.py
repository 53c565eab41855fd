"""What GPU tools print, read as files: each form gives the sampler's names, and nothing absent stands for zero."""

from __future__ import annotations

from typing import Any

import pytest

from collector.files import Options
from correlator.model.records import Signal
from tests.collector.files import gpu_texts as texts
from tests.collector.files.support import merged, read_bytes

NEAR = Options(near_unix_nano=texts.T0)
HOUR = 3_600_000_000_000
Points = dict[tuple[str, str], float]


def told(text: str, options: Options = NEAR) -> tuple[list[tuple[dict[str, Any], int, Points]], list[str]]:
    """Each GPU's moment as (resource, time, values by name and label), and the problems."""
    batches, problems = read_bytes(text.encode(), options=options)
    out = []
    for resource in merged(batches, Signal.METRICS).resource_metrics:
        who = {a.key: a.value.string_value or a.value.int_value for a in resource.resource.attributes}
        del who["tollens.source"]
        values: Points = {}
        times = set()
        for metric in resource.scope_metrics[0].metrics:
            for point in [*metric.gauge.data_points, *metric.sum.data_points]:
                label = ",".join(a.value.string_value or str(a.value.int_value) for a in point.attributes)
                values[metric.name, label] = point.as_double or float(point.as_int)
                times.add(point.time_unix_nano)
        out.append((who, min(times), values))
    return out, [str(p) for p in problems]


def test_a_query_gives_the_samplers_readings() -> None:
    """Units of values, flags and the usable share of memory come out as the NVML sampler gives them."""
    (first, second), problems = told(texts.QUERY)
    assert texts.UUID == first[0]["hw.id"]
    assert 0 == first[0]["gpu"]
    assert texts.T0 + 500_000_000 == first[1]
    assert 40500 * 2**20 == first[2]["hw.gpu.memory.usage", ""]
    assert 0.5 == first[2]["hw.gpu.memory.utilization", ""]
    assert 0.97 == first[2]["hw.gpu.utilization", "general"]
    assert 512.25 == first[2]["hw.power", "gpu"]
    assert 1200 == second[2]["gpu_sm_clock", ""]
    assert [0, 1] == [row[2]["gpu_throttle_reason", "hw_slowdown"] for row in (first, second)]
    assert ("hw.gpu.utilization", "general") not in second[2]
    assert ["fan.speed"] == [p.rpartition(": ")[2] for p in problems]


def test_a_query_of_processes_gives_their_memory() -> None:
    """Each process has its memory, a name with commas in it included."""
    rows, problems = told(texts.APPS)
    assert [] == problems
    found = {label: value for _, _, values in rows for (_, label), value in values.items()}
    assert {"4242": 40000 * 2**20, "4243": 400 * 2**20} == found


@pytest.mark.parametrize("hours", [-5, 0, 1, 5.5])
def test_the_zone_follows_from_the_other_files(hours: float) -> None:
    """Times without a zone are moved by the whole or half hours that put them beside the rest, and it is said."""
    near = texts.T0 + int(hours * HOUR) + 20_000_000_000
    (first, _), problems = told(texts.QUERY, Options(near_unix_nano=near))
    assert texts.T0 + int(hours * HOUR) + 500_000_000 == first[1]
    assert bool(hours) == any(f"{hours:+g} h" in problem for problem in problems)


def test_times_far_from_the_other_files_are_not_moved() -> None:
    """A recording of another day is left where it says, and it is said."""
    (first, _), problems = told(texts.QUERY, Options(near_unix_nano=texts.T0 + 50 * HOUR))
    assert texts.T0 + 500_000_000 == first[1]
    assert any("lie far" in problem for problem in problems)


def test_rows_without_a_header_are_refused() -> None:
    """Nobody can know what the columns of `noheader` are: it says what to do instead."""
    rows, problems = told(texts.QUERY.partition("\n")[2])
    assert [] == rows
    assert any("header" in problem for problem in problems)


def test_bad_rows_and_values_are_named() -> None:
    """A cut row, a wrong time and a value that is none are told with their line; the rest is read."""
    broken = texts.QUERY + "2025/03/06 18:00:02.5, GPU-1\n" + texts.QUERY.splitlines()[1].replace("97 %", "oops")
    broken += "\n" + texts.QUERY.splitlines()[1].replace("2025/03", "soon")
    rows, problems = told(broken)
    assert 3 == len(rows)
    assert [":4:", ":5:", ":6:"] == sorted(m for p in problems for m in (":4:", ":5:", ":6:") if m in p)


@pytest.mark.parametrize("wrap", ["> {}", "gpu-0 | {}", "\x1b[32m{}\x1b[0m"])
def test_pasted_text_is_read(wrap: str) -> None:
    """A quote mark, a prefix or colours around every line change nothing."""
    pasted = "\n".join(wrap.format(line) for line in texts.QUERY.splitlines())
    assert told(texts.QUERY)[0] == told(pasted)[0]


def test_the_table_gives_each_gpu_and_its_processes() -> None:
    """The default table is read: two GPUs, watts, memory, load and the process on the first."""
    (first, second), problems = told(texts.TABLE)
    assert [] == problems
    assert 482 == first[2]["hw.power", "gpu"]
    assert 60346 * 2**20 == first[2]["gpu_process_memory", "4242"]
    assert {"gpu": 1, "gpu.model": "NVIDIA H100 80GB HBM3"}.items() <= second[0].items()
    assert 0 == second[2]["hw.gpu.utilization", "general"]


@pytest.mark.parametrize("text", [texts.REPORT, texts.XML], ids=["text", "xml"])
def test_a_report_is_read_as_text_and_as_xml(text: str) -> None:
    """`-q` and `-q -x` give the same figures."""
    ((who, at, values),), problems = told(text)
    assert [] == problems
    assert (texts.UUID, texts.T0) == (who["hw.id"], at)
    assert 0.5 == values["hw.gpu.memory.utilization", ""]
    assert 0.97 == values["hw.gpu.utilization", "general"]
    assert ("mem_copy_util", "") not in values
    assert [1, 1] == [values["gpu_throttle_reason", r] for r in ("hw_thermal_slowdown", "sw_power_cap")]
    assert (482.1, 1980, 41) == (values["hw.power", "gpu"], values["gpu_sm_clock", ""], values["hw.temperature", "gpu"])
    assert 40000 * 2**20 == values["gpu_process_memory", "4242"]


def test_a_report_counts_volatile_errors_only() -> None:
    """Errors since the driver was loaded add up by kind; those of the GPU's whole life are not among them."""
    ((_, _, values),), _ = told(texts.REPORT)
    assert 10 == values["hw.errors", "gpu,uncorrected"]
    assert 5 == values["hw.errors", "gpu,corrected"]


def test_a_cut_xml_gives_the_whole_gpus() -> None:
    """XML that ends in the middle is told as such; GPUs that ended before are read."""
    second = texts.XML.partition("</nvidia_smi_log>")[0] + '<gpu id="00000000:3B:00.0"><product_name>cut'
    rows, problems = told(second)
    assert 1 == len(rows)
    assert any("ends before" in problem for problem in problems)


def test_dmon_is_read() -> None:
    """Rows of `nvidia-smi dmon`: load, clocks, power, the share of time under the power cap; `-` is nothing."""
    (first, second), problems = told(texts.DMON)
    assert [] == problems
    assert (texts.T0, texts.T0 + 1_000_000_000) == (first[1], second[1])
    assert 0.97 == first[2]["hw.gpu.utilization", "general"]
    assert 0.5 == first[2]["gpu_throttle_reason", "sw_power_cap"]
    assert 14_000_000 == first[2]["pcie_rx", ""]
    assert 40500 * 2**20 == first[2]["hw.gpu.memory.usage", ""]
    assert ("hw.temperature", "gpu") not in second[2]


def test_pmon_gives_processes_and_a_time_that_is_said_to_be_assumed() -> None:
    """Processes of `nvidia-smi pmon` have memory and SM share; rows without a time get the file's, and it is said."""
    rows, problems = told(texts.PMON, Options(scrape_time_unix_nano=texts.T0))
    assert [({"gpu": 0}, texts.T0)] == [({"gpu": who["gpu"]}, at) for who, at, _ in rows]
    assert {("gpu_process_memory", "4242"): 40000 * 2**20, ("gpu_process_sm_util", "4242"): 0.8} == rows[0][2]
    assert any("no time" in problem for problem in problems)


def test_dcgmi_rows_are_a_second_apart() -> None:
    """Fields keep DCGM's names; the last row of a GPU is at the file's time, the one before a second earlier."""
    rows, problems = told(texts.DCGMI, Options(scrape_time_unix_nano=texts.T0))
    times = {(who["gpu"], at): values for who, at, values in rows}
    assert 0.912 == times[0, texts.T0 - 1_000_000_000]["DCGM_FI_PROF_SM_ACTIVE", ""]
    assert 98 == times[0, texts.T0]["DCGM_FI_DEV_GPU_UTIL", ""]
    assert ("DCGM_FI_PROF_SM_ACTIVE", "") not in times[1, texts.T0]
    assert any("no time" in problem for problem in problems)
