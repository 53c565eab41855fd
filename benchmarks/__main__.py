"""Speed and memory, one benchmark after the other: `python -m benchmarks [--quick]`.

How often the answer is right takes longer and is apart: `python -m benchmarks.accuracy`.
"""

from __future__ import annotations

import argparse
import subprocess
import sys

from benchmarks import diagnose

STEPS = {
    "Receiving OTLP, kept nowhere": "benchmarks.receive",
    "Keeping it in the spool": "benchmarks.spool",
    "Loading spans into the store": "benchmarks.store",
}


def main() -> None:
    """Each in a process of its own, so that peak memory is each one's own."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer runs, fewer spans: does it work at all")
    quick = parser.parse_args().quick
    for title, module in STEPS.items():
        print(f"{title}\n", flush=True)
        subprocess.run([sys.executable, "-m", module, str(50_000 if quick else 200_000)], check=True)
        print(flush=True)
    print("Diagnosis", flush=True)
    diagnose.main(quick)


if __name__ == "__main__":
    main()
