"""A process that fills a spool from several threads and says what was acknowledged, until it is killed.

python -m tests.collector.spool_child FOLDER FIRST
"""

import os
import sys
import threading
from itertools import count
from pathlib import Path

from collector.spool import Spool
from correlator.model.records import Signal

THREADS = 4
SIZES = (1, 500, 70_000, 3_000_000)


def fill(spool, signal, size, numbers):
    for number in numbers:
        spool.put(signal, f"{number} ".encode().ljust(size)).result()
        os.write(1, f"{number}\n".encode())


def main(folder, first):
    spool = Spool(Path(folder))
    for thread, size in enumerate(SIZES):
        signal = list(Signal)[thread % 3]
        numbers = count(int(first) + thread, len(SIZES))
        threading.Thread(target=fill, args=(spool, signal, size, numbers)).start()


if __name__ == "__main__":
    main(*sys.argv[1:])
