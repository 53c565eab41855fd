"""What `Dockerfile` promises: installed as it does, `tollens up` writes nothing outside its two volumes."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.configs.test_compose import copy

ROOT = Path(__file__).parents[2]
PATIENCE_S = 120
IN_A_NAMESPACE = """
set -e
mount --make-rprivate /
mount -t tmpfs tmpfs "$DATA"
mkdir "$DATA/tmp"
mount -o remount,bind,ro /
if touch "$ROOT/written" 2>/dev/null; then echo "the root can be written"; exit 3; fi
export TMPDIR="$DATA/tmp" PYTHONPATH="$SITE" HOME="$DATA" PYTHONDONTWRITEBYTECODE=1
cd "$DATA"
coproc setpriv --bounding-set=-all --inh-caps=-all --no-new-privs "$PYTHON" "$SITE/bin/tollens" up --data "$DATA/data" \
    --port 0 --otlp-grpc-port 0 --otlp-http-port 0 --metrics-port 0
up=$COPROC_PID
read -r -t 100 -u "${COPROC[0]}" ready
echo "$ready"
kill -TERM $up
wait $up
"""


def namespaces() -> bool:
    """Whether this user may have a mount namespace of its own."""
    if shutil.which("unshare") is None or shutil.which("setpriv") is None or os.geteuid() != 0:
        return False
    return (
        0
        == subprocess.run(
            ["unshare", "-m", "mount", "--make-rprivate", "/"], capture_output=True, check=False
        ).returncode
    )


@contextmanager
def context() -> Iterator[Path]:
    """What Docker's builder is sent: the tree by `.dockerignore`."""
    with TemporaryDirectory() as name:
        for each in (line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")):
            copy(ROOT / each, Path(name) / each)
        yield Path(name)


@pytest.mark.skipif(not namespaces(), reason="a read-only root takes root and mount namespaces")
def test_it_runs_on_a_read_only_root_without_capabilities(tmp_path: Path) -> None:
    """It gets ready and stops well, with its volumes alone; before, the same root was seen to refuse a file."""
    site = tmp_path.parent / f"{tmp_path.name}-site"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    with context() as source:
        subprocess.run([*pip, "--target", str(site), str(source)], check=True, timeout=PATIENCE_S)
    told = os.environ | {"DATA": str(tmp_path), "ROOT": str(ROOT), "PYTHON": sys.executable, "SITE": str(site)}
    told = {name: value for name, value in told.items() if not name.startswith("COV")}
    command = ["unshare", "-m", "--kill-child", "bash", "-c", IN_A_NAMESPACE]
    done = subprocess.run(command, env=told, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert (0, True) == (done.returncode, done.stdout.startswith('{"ready": true')), done.stderr[-3000:]
