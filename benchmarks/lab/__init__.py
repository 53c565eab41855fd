"""A small fault lab: a seeded simulation of a RAG client and an engine that writes captures like the recorded ones.

`python -m benchmarks.lab FAULT OUT_DIR` writes one capture; `FAULTS` names what can go wrong.
"""

from benchmarks.lab.capture import write_capture
from benchmarks.lab.faults import FAULTS
from benchmarks.lab.world import Scenario

__all__ = ["FAULTS", "Scenario", "write_capture"]
