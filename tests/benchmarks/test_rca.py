"""What the benchmarks on recorded microservices share: their argument, and what they say without the right archive."""

from __future__ import annotations

import io
import sys
import tarfile
from pathlib import Path
from types import ModuleType

import pytest

from benchmarks import nezha, petshop

every_one = pytest.mark.parametrize("benchmark", [nezha, petshop], ids=["nezha", "petshop"])


def run(benchmark: ModuleType, archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command with this archive."""
    monkeypatch.setattr(sys, "argv", [benchmark.__name__, str(archive)])
    benchmark.main()


def run_on(benchmark: ModuleType, folder: Path, place: str, into: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command with an archive of the folder, which is at a place in it."""
    with tarfile.open(into / "packed.tar.xz", "w:xz") as out:
        out.add(folder, place)
    run(benchmark, into / "packed.tar.xz", monkeypatch)


@every_one
def test_without_data_it_is_skipped(
    benchmark: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line says that it was skipped and what for."""
    run(benchmark, tmp_path / "nowhere.tar.xz", monkeypatch)
    said = "skipped: nowhere.tar.xz is not at hand (../shared/data/rca beside this checkout)\n"
    assert said == capsys.readouterr().out


@every_one
def test_another_archive_is_refused(benchmark: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An archive without what is looked for ends with what was expected."""
    archive = tmp_path / "other.tar.xz"
    with tarfile.open(archive, "w:xz") as out:
        out.addfile(tarfile.TarInfo("readme"), io.BytesIO())
    with pytest.raises(SystemExit, match="2"):
        run(benchmark, archive, monkeypatch)
