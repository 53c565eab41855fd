"""Lets a process of Tollens die by its own hand before a named step; imported where PYTHONPATH names the folder.

The file named by TOLLENS_TEST_DEATH says which part is to die before which operation on files, counted from when the
order is there: `correlator unlink 2`. At its death the part removes the order and adds to the file `died`, beside it,
what it was about to do.
"""

import os
import signal
import sys
from collections import Counter
from pathlib import Path

ORDER = Path(os.environ.get("TOLLENS_TEST_DEATH", "/nonexistent"))
PART = {("collector",): "collector", ("correlator", "serve"): "correlator"}
OPERATIONS = ("fdatasync", "fsync", "rename", "replace", "unlink")
SEEN = Counter()


def mortal(part, name):
    """The operation of `os`, before which this process may end."""
    original, unlink = getattr(os, name), os.unlink

    def call(*arguments, **options):
        try:
            order, given = ORDER.read_text(), ORDER.stat().st_mtime_ns
        except OSError:
            return original(*arguments, **options)
        SEEN[given, name] += 1
        if order == f"{part} {name} {SEEN[given, name]}":
            with ORDER.with_name("died").open("a") as died:
                died.write(f"{order} {Path(str(arguments[-1])).name}\n")
            unlink(ORDER)
            os.kill(os.getpid(), signal.SIGKILL)
        return original(*arguments, **options)

    return call


def arm():
    command = sys.orig_argv[sys.orig_argv.index("-m") + 1 :] if "-m" in sys.orig_argv else []
    part = next((name for start, name in PART.items() if tuple(command[: len(start)]) == start), None)
    if part:
        for name, function in [(name, mortal(part, name)) for name in OPERATIONS]:
            setattr(os, name, function)


arm()
