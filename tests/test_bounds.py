"""What is bounded stays bounded, measured in a process of its own."""

import subprocess
import sys
from pathlib import Path


def test_a_long_log_takes_bounded_memory(tmp_path: Path) -> None:
    """Two hundred thousand lines are read by a process that may hold no more than a small log needs plus 150 MB."""
    line = "INFO 11-30 03:{:02d}:{:02d} metrics.py:1] request {} handled in {} ms by worker\n"
    peaks = []
    for count in (2_000, 200_000):
        path = tmp_path / f"{count}.log"
        path.write_text("".join(line.format(i // 3600 % 60, i // 60 % 60, i, i % 97) for i in range(count)))
        measure = (
            "import resource, sys; from collector.files import read\n"
            "n = sum(1 for _ in read([sys.argv[1]]))\n"
            "print(n, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
        )
        done = subprocess.run([sys.executable, "-c", measure, str(path)], capture_output=True, check=True)
        items, peak = map(int, done.stdout.split())
        assert items > 0
        peaks.append(peak)
    assert peaks[1] - peaks[0] < 150 << 10
