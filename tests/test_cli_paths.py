"""What `tollens diagnose` says of paths it cannot use, before any work."""

import os
from pathlib import Path

import pytest

from tests.test_cli import Run, refused, run  # noqa: F401 (a fixture)

TOO_LONG = "a" * 5_000


def test_a_path_that_is_too_long_is_refused(run: Run) -> None:  # noqa: F811
    """By its beginning and the system's own reason, beside a path that is fine or alone."""
    ran = run("diagnose", TOO_LONG)
    refused(ran, "aaa…", "cannot be read", "too long")
    assert len(ran.err) < 400
    refused(run("diagnose", Path(__file__).parent, "--baseline", TOO_LONG), "cannot be read")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_path_that_may_not_be_looked_at_is_refused(run: Run, tmp_path: Path) -> None:  # noqa: F811
    """A folder without permission hides what lies in it: that is said, not that there is nothing."""
    tmp_path.chmod(0)
    refused(run("diagnose", tmp_path / "traces.json"), "traces.json", "Permission denied")


def test_a_link_to_itself_is_refused(run: Run, tmp_path: Path) -> None:  # noqa: F811
    """Something is there, but it leads nowhere."""
    (tmp_path / "loop").symlink_to("loop")
    refused(run("diagnose", tmp_path / "loop"), "loop: cannot be read", "symbolic links")


@pytest.mark.parametrize("paths", [("-", "-"), ("-", "--baseline", "-"), ("x", "--baseline", "-", "--baseline", "-")])
def test_standard_input_is_not_read_twice(run: Run, paths: tuple[str, ...]) -> None:  # noqa: F811
    """Whoever came second would find it empty."""
    refused(run("diagnose", *paths, stdin=b"{}"), "- is given twice", "once")


def test_a_report_in_a_folder_with_too_long_a_name_is_refused(run: Run) -> None:  # noqa: F811
    """As one in a folder that is not there."""
    refused(run("diagnose", Path(__file__).parent, "--report", f"/{TOO_LONG}/x.md"), "--report", "no folder")
