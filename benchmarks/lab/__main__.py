"""`python -m benchmarks.lab FAULT OUT_DIR [--seed N] [--severity X]` writes one simulated capture."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.lab import FAULTS, write_capture


def main() -> None:
    """Parse the arguments and write the capture."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.lab", description=__doc__)
    parser.add_argument("fault", choices=sorted(FAULTS))
    parser.add_argument("out_dir", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--severity", type=float, default=1.0, help="1 is clear, below 1 milder, above 1 harder")
    chosen = parser.parse_args()
    write_capture(FAULTS[chosen.fault](chosen.severity), chosen.out_dir, chosen.seed)


if __name__ == "__main__":
    main()
