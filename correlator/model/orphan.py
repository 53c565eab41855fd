"""A part of `tollens up` does not outlive it: nobody would be left to stop it."""

from __future__ import annotations

import ctypes
import os
import signal
import sys

SUPERVISED = "TOLLENS_SUPERVISED"
"""Environment variable: the process id of the supervisor."""
_SET_DEATH_SIGNAL = 1
"""PR_SET_PDEATHSIG of prctl(2)."""


def end_with_parent() -> None:
    """Be sent SIGTERM when the supervisor ends, however it does. Elsewhere than on Linux nothing is done."""
    parent = os.environ.get(SUPERVISED)
    if parent is None or sys.platform != "linux":
        return
    ctypes.CDLL(None, use_errno=True).prctl(_SET_DEATH_SIGNAL, signal.SIGTERM)
    if os.getppid() != int(parent):  # it ended before it could be asked for
        os.kill(os.getpid(), signal.SIGTERM)
