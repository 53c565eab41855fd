"""What the kernel, NCCL and the Collector write: errors named with their codes, times only as sure as they are."""

import pytest

from collector.files import kernel_log
from collector.files._contract import Options, Source
from collector.files._kernel_events import pci_address
from collector.files._uptime import NEAR_NS
from tests.collector.files.log_reading import nano, source
from tests.collector.files.samples import NCCL, OTELCOL, Told, read_as, sample

XID = "NVRM: Xid (PCI:0000:3b:00): 79, pid=7, name=python3, GPU has fallen off the bus."
AT = nano("2026-11-30 03:30:00")


def kernel(text: str, name: str = "input", near: str | None = None) -> Told:
    return read_as("kernel_log", text, name, near)


def test_the_kernels_errors_are_named() -> None:
    """Xid, a lost GPU, the OOM killer, PCIe, machine checks, stalls, heat, crashes and links, and nothing else."""
    assert [
        "xid", "gpu_lost", "xid", "oom_kill", "pcie_error", "machine_check", "kernel_stall", "cpu_throttled",
        "process_crash", "link_down",
    ] == sample("dmesg").happened()  # fmt: skip


def test_an_xid_has_its_code_gpu_and_process() -> None:
    """Code, PCI address as other sources spell it, process where the line names one."""
    lost, kept = (told for name, told in sample("dmesg").events if name == "xid")
    assert {"xid": 79, "gpu.pci_address": "0000:3b:00"} == lost
    assert {
        "xid": 63, "gpu.pci_address": "0000:10:1c", "process.pid": 1896, "process.executable.name": "python3",
    } == kept  # fmt: skip


@pytest.mark.parametrize(
    "line",
    [
        "NVRM: Xid (PCI:0000:01:00 GPU-I:05): 94, pid=7194, Contained: SM (0x1). RST: No, D-RST: No",
        "NVRM: Xid (0000:01:00): 94, Ch 0000000b, errorString CTX SWITCH TIMEOUT",
        "NVRM: Xid (PCI:0000:01:00): 94, pid='<unknown>', name=<unknown>, Ch 0000000b",
    ],
)
def test_every_shape_of_an_xid_is_read(line: str) -> None:
    """MIG instances, the old form without `PCI:`, and a process that is unknown."""
    ((name, told),) = kernel(f"[Mon Nov 30 03:30:00 2026] {line}\n").events
    assert ("xid", 94, "0000:01:00") == (name, told["xid"], told["gpu.pci_address"])


@pytest.mark.parametrize("written", ["00000000:3B:00.0", "0000:3b:00", "0000:3B:00.0", "3b:00", "3b:00.0"])
def test_pci_addresses_are_spelled_alike(written: str) -> None:
    """As the kernel, NVML and `lspci` write the same slot."""
    assert "0000:3b:00" == pci_address(written)


@pytest.mark.parametrize(
    "stamp",
    [
        "[Mon Nov 30 03:30:00 2026] ",
        "kern  :warn  : 2026-11-30T03:30:00,000000+00:00 ",
        "kern  :err   : [Mon Nov 30 03:30:00 2026] ",
        "Nov 30 03:30:00 node kernel: [12345.678901] ",
        "Nov 30 03:30:00 node kernel: ",
        "2026-11-30T03:30:00.000000+00:00 node kernel: ",
        "2026-11-30T04:30:00+0100 node kernel: [12345.678901] ",
        "> [Mon Nov 30 03:30:00 2026] ",
    ],
)
def test_every_form_of_a_stamp_is_read(stamp: str) -> None:
    """dmesg -T, --time-format iso, -x, syslog, journalctl, and a quote before it."""
    found = kernel(f"{stamp}{XID}\n", near="2026-11-30 00:00:00")
    assert ([AT], ["xid"]) == ([log.time_unix_nano for log in found.logs], found.happened())
    assert ([("bad_time", 1)] if "2026]" in stamp else []) == [(one.kind, one.count) for one in found.problems]


@pytest.mark.parametrize("stamp", ["", "kern  :info  : ", "> "])
def test_the_zone_of_local_times_is_that_of_lines_that_name_utc(stamp: str) -> None:
    """`dmesg -T` prints local time; an audit line beside tells how far that is from UTC, also for lines before it."""
    audit = "audit: type=1400 audit(1796009395.000:2): op=load"
    text = f"{stamp}[Mon Nov 30 09:00:00 2026] {XID}\n{stamp}[Mon Nov 30 08:59:57 2026] {audit}\n"
    found = kernel(text)
    assert (AT, []) == (found.logs[0].time_unix_nano, found.problems)


def test_an_audit_line_of_another_day_tells_no_zone() -> None:
    """No zone is farther from UTC than fourteen hours: such a wall time is none of this clock."""
    found = kernel(
        f"[Mon Nov 30 03:30:00 2026] audit: audit(1795000000.000:2): op=load\n[Mon Nov 30 03:30:00 2026] {XID}\n"
    )
    assert (AT, [2]) == (found.logs[1].time_unix_nano, [problem.count for problem in found.problems])


@pytest.mark.parametrize(
    ("clock", "first", "last"),
    [
        ("[    5.000000] rtc_cmos 00:01: setting system clock to 2026-11-30T03:29:55 UTC (1796009395)", 5, 10),
        ("[    5.000000] audit: type=1400 audit(1796009395.000:2): op=load", 5, 10),
        ("6,1,5000000,-;audit: type=1400 audit(1796009395.000:2): op=load", 5, 10),
    ],
)
def test_times_since_boot_are_placed_by_a_wall_time_in_the_log(clock: str, first: int, last: int) -> None:
    """The clock set from the hardware, and audit lines, tell when the machine started."""
    xid = f"[   {last}.000000] {XID}" if clock.startswith("[") else f"3,2,{last}000000,-;{XID}"
    found = kernel(f"{clock}\n{xid}\n")
    times = [log.time_unix_nano for log in found.logs]
    assert (last - first) * 10**9 == times[1] - times[0]
    assert (1796009395 * 10**9, []) == (times[0], found.problems)


def test_times_since_boot_end_with_the_file() -> None:
    """Without a wall time in the log, a time in the file's name is that of its last line."""
    found = kernel(f"[   10.000000] booting\n[   70.500000] {XID}\n", f"dmesg-{AT // 10**9}.txt")
    assert ([AT - 60_500_000_000, AT], []) == ([log.time_unix_nano for log in found.logs], found.problems)


def test_times_since_boot_without_any_hint_are_not_guessed() -> None:
    """Standard input with uptimes only: nothing is dated, and the problem says what would help."""
    found = kernel(f"[   70.500000] {XID}\n")
    assert ([], {"bad_time"}) == (found.logs, {problem.kind for problem in found.problems})


def test_a_file_copied_later_says_nothing_of_its_lines() -> None:
    """A modification time more than a day from the other files' is no clock."""
    text = f"[   70.500000] {XID}\n"
    written = Source("dmesg", text.encode(), source(text).open, AT)
    near = list(kernel_log.read(written, Options(near_unix_nano=AT - NEAR_NS // 2)))
    far = list(kernel_log.read(written, Options(near_unix_nano=AT - 2 * NEAR_NS)))
    assert (1, 0) == (sum(hasattr(item, "payload") for item in near), sum(hasattr(item, "payload") for item in far))


def test_a_line_of_another_program_is_no_happening() -> None:
    """What a user's process says of out of memory is not the kernel's doing."""
    assert [] == kernel("Nov 30 03:30:00 node kernel: usb 1-1: new device\n", near="2026-11-30 00:00:00").happened()
    assert 0.0 == kernel_log.accepts(source("Nov 30 03:30:00 node sshd[12]: session opened\n"))


def test_nccl_tells_how_ranks_are_connected() -> None:
    """Version, network and the transports of all channels, without device numbers."""
    found = sample("nccl")
    assert {
        "engine.nccl_version": "2.21.5+cuda12.4",
        "engine.nccl_network": "Socket",
        "engine.nccl_transport": "NET/SOCKET,SHM",
    }.items() <= found.facts.items()


def test_nccl_tells_what_failed() -> None:
    """A network that is missing, shared memory that is full, the watchdog of PyTorch."""
    assert ["nccl_fallback", "shared_memory_failure", "nccl_failure"] == sample("nccl").happened()


def test_nccl_without_times_has_that_of_its_file() -> None:
    """Its lines have none of their own; that is said once, with the count."""
    bare = "".join(line.removeprefix(line[:21]) + "\n" for line in NCCL.splitlines()[:-1])
    found = read_as("nccl_log", bare, "1796009540.log")
    assert {1796009540 * 10**9} == {log.time_unix_nano for log in found.logs}
    assert ([("bad_time", 7)]) == [(problem.kind, problem.count) for problem in found.problems]


def test_the_collector_counts_what_it_lost() -> None:
    """Items dropped and rejected are its own counters; refusal under memory pressure is an event."""
    found = sample("otelcol")
    assert {
        "otelcol_exporter_send_failed_spans": 512,
        "otelcol_exporter_enqueue_failed_log_records": 42,
    } == found.figures()
    assert ["telemetry_dropped", "telemetry_refused", "telemetry_dropped"] == found.happened()


def test_the_collectors_stack_trace_belongs_to_its_line() -> None:
    """What follows an error without a stamp is part of it."""
    (lost, *_) = [log for log in sample("otelcol").logs if log.event_name]
    assert "NewQueueSender" in lost.body.string_value
    assert 4 == len(sample("otelcol").logs)


def test_a_count_that_is_no_number_is_no_count() -> None:
    """`dropped_items` as text gives the event without a figure."""
    found = read_as("otelcol_log", OTELCOL.replace("512", '"many"'))
    assert "otelcol_exporter_send_failed_spans" not in found.figures()
    assert 3 == len(found.happened())


LOST = "2026-11-30T03:31:00.678Z\t{}\tinternal/{}\t{}\t{{{}}}\n"
FIELDS = '"otelcol.component.id": "otlp", "otelcol.signal": "traces", '


@pytest.mark.parametrize(
    ("message", "fields", "metric"),
    [
        ("Exporting failed. Rejecting data.", '"error": "sending queue is full", "rejected_items": 7',
         "enqueue_failed"),
        ("Exporting failed. Rejecting data. Try enabling sending_queue to survive temporary failures.",
         '"error": "connection refused", "rejected_items": 7', "send_failed"),
        ("Dropping data because sending_queue is full. Try increasing queue_size.", '"dropped_items": 7',
         "enqueue_failed"),
        ("Exporting failed. Dropping data.", '"error": "not retryable error", "dropped_items": 7', "send_failed"),
        ("Exporting failed. The error is not retryable. Dropping data.", '"dropped_items": 7', "send_failed"),
    ],
)  # fmt: skip
def test_every_wording_of_a_loss_is_counted(message: str, fields: str, metric: str) -> None:
    """Of a full queue and of a failed export, in the words of old and new versions."""
    found = read_as("otelcol_log", LOST.format("error", "queue_sender.go:50", message, FIELDS + fields))
    assert ({f"otelcol_exporter_{metric}_spans": 7}, ["telemetry_dropped"]) == (found.figures(), found.happened())


def test_what_will_be_tried_again_is_no_loss() -> None:
    """A retry is not a loss yet."""
    line = LOST.format(
        "info", "retry_sender.go:126", "Exporting failed. Will retry the request after interval.", '"interval": "5s"'
    )
    assert ([], {}) == (read_as("otelcol_log", line).happened(), read_as("otelcol_log", line).figures())


def test_the_kernel_log_is_read_after_files_that_know_the_year() -> None:
    """Syslog stamps have no year; the other files' time decides it."""
    found = kernel("Dec 31 23:59:59 node kernel: " + XID + "\n", near="2023-01-02 00:00:00")
    assert [nano("2022-12-31 23:59:59")] == [log.time_unix_nano for log in found.logs]
