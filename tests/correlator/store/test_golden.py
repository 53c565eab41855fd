"""Real requests of another project's generator against rows written down, and against the oracle."""

import json
from pathlib import Path

import pytest

from correlator.model.records import Batch, Signal
from tests.correlator.store.support import check, emptied, stored

HERE = Path(__file__).parent
DATA = HERE.parents[1] / "data" / "otlp" / "otlp2parquet"
FILES = sorted(DATA.glob("*.pb"))
GOLDEN = sorted((HERE / "golden").glob("*.json"))


def signal_of(file):
    return next(signal for signal in Signal if file.stem.startswith(signal.rstrip("s")))


def test_there_are_files():
    """The folders hold what the tests below run over."""
    assert (8, 7) == (len(FILES), len(GOLDEN))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_real_requests(store, file):
    """Every record of the file arrives as the official decoder reads it."""
    check(store, signal_of(file), file.read_bytes())


@pytest.mark.parametrize("file", GOLDEN, ids=lambda file: file.stem)
def test_golden_rows(store, file):
    """The rows of the file are those written down."""
    signal = signal_of(file)
    emptied(store).load([Batch(signal, (DATA / f"{file.stem}.pb").read_bytes())])
    assert json.loads(file.read_text()) == in_order(stored(store, signal))


def in_order(rows):
    return sorted(([table, row] for table, row in rows), key=lambda row: json.dumps(row, sort_keys=True))
