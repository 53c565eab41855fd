"""Speed and memory, one benchmark after the other: `python -m benchmarks [--quick]`.

How often the answer is right takes longer and is apart: `python -m benchmarks.accuracy`.
"""

from __future__ import annotations

import argparse
import subprocess
import sys

from benchmarks import diagnose

STEPS = {
    "Receiving OTLP, kept nowhere and in the spool": ("benchmarks.receive", ["200000"], ["50000"]),
    "Beside the OpenTelemetry Collector": ("benchmarks.peer", ["200000"], ["50000"]),
    "Keeping it in the spool": ("benchmarks.spool", ["200000"], ["50000"]),
    "Loading spans into the store": ("benchmarks.store", ["200000"], ["50000"]),
    "Memory of the service": ("benchmarks.memory", ["50000", "30"], ["10000", "5"]),
    "Reads of the API": ("benchmarks.api", ["50000", "30", "20"], ["10000", "5", "20"]),
}
"""Title → module, its arguments, and those of a quick run."""


def main() -> None:
    """Each in a process of its own, so that peak memory is each one's own."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer runs, fewer spans: does it work at all")
    quick = parser.parse_args().quick
    for title, (module, usual, short) in STEPS.items():
        print(f"{title}\n", flush=True)
        subprocess.run([sys.executable, "-m", module, *(short if quick else usual)], check=True)
        print(flush=True)
    print("Diagnosis", flush=True)
    diagnose.main(quick)


if __name__ == "__main__":
    main()
