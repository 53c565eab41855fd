"""A process that loads a spool and may be killed by its own hand before a certain step.

    python -m tests.correlator.store.spooled_child DATA SPOOL [STEP]

Steps are statements of the engine and operations on files, from the first that `load_ready` makes.
"""

import os
import signal
import sys
from itertools import count
from pathlib import Path

from correlator.store import Store
from correlator.store.spooled import load_ready


def die_before(step, engine):
    """Kill this process instead of the operation number `step`."""
    steps = count()

    def mortal(function):
        def call(*arguments, **options):
            if next(steps) == step:
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*arguments, **options)

        return call

    engine.query, engine.insert = mortal(engine.query), mortal(engine.insert)
    for name in ("replace", "unlink", "fsync"):
        setattr(os, name, mortal(getattr(os, name)))


def main(data, spool, step=None):
    with Store.open(Path(data)) as store:
        print("opened", flush=True)
        if step is not None:
            die_before(int(step), store.engine)
        for loaded in load_ready(store, Path(spool)):
            assert (0, 0) == (loaded.quarantined, loaded.lost_bytes)


if __name__ == "__main__":
    main(*sys.argv[1:])
