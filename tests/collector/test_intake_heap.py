"""Memory freed by one request is there for the next."""

import subprocess
import sys

import pytest

PROGRAM = """
import resource, sys
from benchmarks.generate import genai_trace_requests
from collector.heap import keep_freed_memory
from tests.collector.telemetry import KINDS
from correlator.model.records import Signal
if sys.argv[1] == "keep" and not keep_freed_memory():
    sys.exit(77)
request = next(genai_trace_requests(1000))
faults = []
for _ in range(60):
    KINDS[Signal.TRACES].FromString(request)
    faults.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt)
print(faults[-1] - faults[9])
"""


def faults(how: str) -> int:
    done = subprocess.run([sys.executable, "-c", PROGRAM, how], capture_output=True, timeout=60, check=False)
    if done.returncode == 77:
        pytest.skip("the C library cannot keep freed memory")
    return int(done.stdout)


def test_kept_memory_is_not_asked_for_again() -> None:
    """Decoding the same request over and over touches fresh pages far less often."""
    assert faults("keep") * 5 < faults("leave")
