"""What the store leaves behind: nothing but its own folder."""

from pathlib import Path

import pytest

from correlator.model.records import Batch, Signal
from correlator.store import Store


def test_loading_leaves_the_working_directory_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever starts Tollens in a folder of telemetry finds nothing new in it."""
    monkeypatch.chdir(tmp_path)
    with Store.open() as store:
        assert 0 == sum(store.load([Batch(Signal.TRACES, b"")]).rows.values())
        assert [] == list(tmp_path.iterdir())
