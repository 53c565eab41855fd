"""Speed and memory, one benchmark after the other: `python -m benchmarks [--quick]`.

How often the answer is right takes longer and is apart: `python -m benchmarks.accuracy`.
"""

from __future__ import annotations

import argparse
import subprocess
import sys

from benchmarks import diagnose


def main() -> None:
    """Each in a process of its own, so that peak memory is each one's own."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer runs, fewer spans: does it work at all")
    quick = parser.parse_args().quick
    print("Loading spans into the store", flush=True)
    subprocess.run([sys.executable, "-m", "benchmarks.store", str(50_000 if quick else 200_000)], check=True)
    print("\nDiagnosis", flush=True)
    diagnose.main(quick)


if __name__ == "__main__":
    main()
