"""What lines of the kernel tell that a cause may be made of. Read from text without white space, in lower case, so
a line broken by a terminal reads the same. Forms: NVIDIA's Xid messages, mm/oom_kill.c, drivers/pci/pcie/aer.c,
kernel/watchdog.c, kernel/hung_task.c, arch/x86/kernel/cpu/mce. Gaps are bounded, or a long line would take long."""

from __future__ import annotations

import re
from collections.abc import Mapping

from collector.attributes import Value

_PCI = r"(?P<pci>(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2})(?:\.[0-9a-f])?"
HAPPENINGS = tuple(
    (f"tollens.{event}", re.compile(pattern))
    for event, pattern in (
        ("xid", rf"(?<!s)xid\((?:pci:)?{_PCI}[^)]*\):(?P<xid>\d+)(?:,pid='?(?P<pid>\d+)'?)?"
                r"(?:,name=(?P<process>[^,<]+))?"),
        ("nvswitch_error", rf"sxid\((?:pci:)?{_PCI}[^)]*\):(?P<sxid>\d+)"),
        ("gpu_lost", rf"nvrm:.{{0,100}}?(?:gpu(?:at)?(?:pci:)?{_PCI}.{{0,40}}?)?gpuhasfallenoffthebus"),
        ("oom_kill", r"outofmemory:kill(?:ed)?process(?P<pid>\d+),?(?:uid\d+,)?\(?(?P<process>[^),]*)"),
        ("pcie_error", rf"(?:{_PCI}:)?(?:pciebuserror:severity=(?P<severity>\w+?)(?:,type|\(|$)|aer:.{{0,200}}?error)"),
        ("machine_check", r"\[hardwareerror\]|mce:.{0,200}?(?:machinecheck|hardwareerror)|edac\w*:?mc\d+:\d+[cu]e"),
        ("kernel_stall", r"(?:soft|hard)lockup-cpu#?\d+|blockedformorethan(?P<seconds>\d+)seconds"
                         r"|self-detectedstall|detectedhardlockup"),
        ("cpu_throttled", r"temperatureabovethreshold,cpuclock(?:is)?throttled"
                          r"|(?:cpu|package)\d*:.{0,200}clockthrottled"),
        ("process_crash", r"(?P<process>[^\[\]\s]{1,32})\[(?P<pid>\d+)\]:segfaultat|trapsgeneralprotection"),
        ("link_down", r"(?:nic)?link(?:is)?down\.?$"),
    )
)  # fmt: skip
_NAMES = {"pci": "gpu.pci_address", "pid": "process.pid", "process": "process.executable.name"}
_NUMBERS = frozenset({"xid", "sxid", "pid", "seconds"})
_DIGITS = 9
_BUS = 4  # digits of a PCI domain as the kernel writes it


def happening(squeezed: str) -> tuple[str, Mapping[str, Value]]:
    """The name of what a line tells ("" for nothing) and its figures: code, PCI address, process."""
    for event, pattern in HAPPENINGS:
        if match := pattern.search(squeezed):
            found = {key: text for key, text in match.groupdict().items() if text}
            return event, {_NAMES.get(key, key): _value(key, text) for key, text in found.items()}
    return "", {}


def _value(key: str, text: str) -> Value:
    if key == "pci":
        return pci_address(text)
    return int(text[:_DIGITS]) if key in _NUMBERS else text


def pci_address(text: str) -> str:
    """`00000000:3B:00.0`, `0000:3b:00` or `3b:00` as `0000:3b:00`: the log leaves the function out, NVML does not."""
    domain, _, rest = text.lower().partition(":")
    if ":" not in rest:
        domain, rest = "", text.lower()
    return f"{domain.lstrip('0').rjust(_BUS, '0')}:{rest.partition('.')[0]}"
