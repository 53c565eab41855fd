"""A process has one data folder open, and leaves nothing behind."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from correlator.store import Store, StoreError
from correlator.store.engine import Engine
from tests.correlator.store.build import log_batch, span_batch


def test_rows_survive_reopening(tmp_path):
    """A data folder keeps its rows, whatever its name, and takes more."""
    for expected in (1, 2):
        with Store.open(tmp_path / "data ü") as store:
            store.load([span_batch()])
            assert [expected] == store.query("SELECT count() AS n FROM otel_traces")["n"].tolist()


def test_temporary_store_leaves_nothing(tmp_path, monkeypatch):
    """Without a path the data live in a temporary folder that goes with the store."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with Store.open() as store:
        assert [True] == [folder.is_dir() for folder in tmp_path.iterdir()]
        store.load([log_batch()])
    assert [] == list(tmp_path.iterdir())


def test_a_second_folder_is_refused(tmp_path):
    """One process has one data folder; the first goes on working."""
    with Store.open(tmp_path / "one") as store:
        with pytest.raises(StoreError, match="already initialized"):
            Store.open(tmp_path / "two")
        assert [1] == store.query("SELECT 1 AS x")["x"].tolist()


@pytest.mark.parametrize("name", ["a?b", "a&b", "a%20b"])
def test_a_folder_the_engine_would_misread_is_refused(tmp_path, name):
    """Signs that mean something in an address may not be in a folder's name."""
    with pytest.raises(StoreError, match="must be without"):
        Store.open(tmp_path / name)


def test_a_stray_config_file_is_not_read(tmp_path, monkeypatch):
    """A config.xml in the working folder has no say."""
    (tmp_path / "config.xml").write_text("<clickhouse><timezone>Asia/Tokyo</timezone></clickhouse>")
    monkeypatch.chdir(tmp_path)
    with Store.open() as store:
        assert ["Etc/UTC"] == store.query("SELECT timezone() AS zone")["zone"].tolist()


def test_closed_is_closed():
    """Closing twice is safe; asking afterwards is an error, not a new store."""
    store = Store.open()
    store.close()
    store.close()
    with pytest.raises(StoreError, match="closed"):
        store.query("SELECT 1")


def test_threads_share_a_store():
    """Readers in threads get their own answers while another thread loads."""
    with Store.open() as store, ThreadPoolExecutor(4) as pool:
        loading = threading.Thread(target=store.load, args=([log_batch(str(n)) for n in range(500)],))
        loading.start()
        asked = pool.map(lambda n: store.query("SELECT {n:Int64} AS n", n=n)["n"][0], range(100))
        assert list(range(100)) == [int(n) for n in asked]
        loading.join()
        assert [500] == store.query("SELECT count() AS n FROM otel_logs")["n"].tolist()


def test_closing_waits_for_a_thread_that_is_just_connecting(tmp_path, monkeypatch):
    """A statement that begins as the engine closes neither blocks it nor leaves a handle behind."""
    engine = Engine(tmp_path / "data")
    connect, began, closing = engine._connect, threading.Event(), threading.Event()

    def late():
        began.set()
        closing.wait(20)
        return connect()

    monkeypatch.setattr(engine, "_connect", late)
    running = engine._pool.submit(engine.query, "SELECT 1", {})
    assert began.wait(20)
    monkeypatch.setattr(engine._pool, "shutdown", _after(closing.set, engine._pool.shutdown))
    closer = threading.Thread(target=engine.close, daemon=True)
    closer.start()
    closer.join(20)
    assert not closer.is_alive()
    assert running.exception(0) is None


def _after(first, then):
    def both(*args, **kwargs):
        first()
        return then(*args, **kwargs)

    return both
