"""Predictions about how an engine's weights were read at its start."""

from __future__ import annotations

from correlator.model.evidence import Evidence
from correlator.model.findings import Outcome, Reading
from hypotheses._contract import Test
from hypotheses._facts import in_force, number
from hypotheses._frames import untestable

SECONDS, SIZE, FILESYSTEM = "engine.weights_load_s", "engine.checkpoint_gib", "engine.checkpoint_filesystem"
SLOW = 0.3
"""GiB/s: the least that a local SATA disk reads; reports of slow storage have 0.1 to 0.25."""
LONG_S = 30.0
"""What loads faster keeps nobody waiting, however slow the storage."""
NETWORK = frozenset({"nfs", "nfs4", "lustre", "fuse", "fuseblk", "ceph", "cifs", "smb2", "9p", "gpfs", "beegfs", "afs"})


def weights_came_slowly() -> Test:
    """The weights in force at the incident's end took long, for their size or against the start before."""

    def read(evidence: Evidence) -> Reading:
        before, after = in_force(evidence, (SECONDS, SIZE))
        took, size, earlier = number(after.get(SECONDS)), number(after.get(SIZE)), number(before.get(SECONDS))
        if took is None or (size is None and earlier is None):
            return untestable((SECONDS,) if took is None else (SIZE,))
        slow = (size is not None and size / max(took, 0.001) < SLOW) or (earlier is not None and took >= 2 * earlier)
        sizes = "" if size is None else f" for {size:g} GiB"
        text = f"loading weights took {took:g} s{sizes}" + ("" if earlier is None else f", {earlier:g} s before")
        return Reading(Outcome.HELD if slow and took >= LONG_S else Outcome.FAILED, text)

    return Test(f"weights came at less than {SLOW:g} GiB/s, or took twice as long as before", read)


def weights_on_network() -> Test:
    """The checkpoint lies on a file system that is reached over a network."""

    def read(evidence: Evidence) -> Reading:
        kind = in_force(evidence, (FILESYSTEM,))[1].get(FILESYSTEM)
        if kind is None:
            return untestable((FILESYSTEM,))
        return Reading(Outcome.HELD if kind in NETWORK else Outcome.FAILED, f"{FILESYSTEM}={kind}")

    return Test(f"the checkpoint lies on network storage ({FILESYSTEM})", read)
