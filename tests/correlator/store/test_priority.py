"""The engine's threads give way; Python's do not."""

import json
import subprocess
import sys

import pytest

CODE = """
import json, os, threading
from correlator.store import Store
from correlator.store.priority import Background
with Store.open() as store:
    background = Background()
    threads = {thread.native_id for thread in threading.enumerate()}
    found = [background.lower(), background.lower(), background.lower()]
    tasks = {int(name) for name in os.listdir("/proc/self/task")}
    nice = {task: os.getpriority(os.PRIO_PROCESS, task) for task in tasks}
    print(json.dumps([found, sorted({nice[t] for t in threads}), sorted({nice[t] for t in tasks - threads})]))
    print(store.query("SELECT 1 AS one")["one"][0])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="threads are found in /proc")
def test_only_threads_of_the_engine_are_lowered() -> None:
    """At the second call, once each; the engine goes on. In a process of its own: it cannot be taken back."""
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, timeout=120, check=True)
    lowered, one = done.stdout.splitlines()
    (first, second, third), ours, theirs = json.loads(lowered)
    assert (0, [0], True, "1") == (first, ours, second > 0, one)
    assert 10 in theirs and third < second
