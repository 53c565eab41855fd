"""The process of `_aside`: `python -m collector.files OPTIONS PATH…` writes what it read to standard output."""

import gc
import json
import os
import pickle
import sys

from collector.files import Options, read
from correlator.model.orphan import end_with_parent


def main() -> None:
    """Each input's name, batch and problem as a pickle; None is the end. Ends early when nobody takes them."""
    end_with_parent()
    gc.disable()  # reading makes no garbage in cycles, and this process lives no longer than it reads
    out = os.fdopen(os.dup(1), "wb")
    options, paths = Options(**json.loads(sys.argv[1])), sys.argv[2:]

    def put(item: object) -> None:
        pickle.dump(item, out, pickle.HIGHEST_PROTOCOL)

    try:
        for item in read(paths, options, put):
            put(item)
        put(None)
        out.flush()
    except BrokenPipeError:
        os._exit(1)


if __name__ == "__main__":
    main()
