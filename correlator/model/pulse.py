"""What a collector tells of itself through its own spool, so that the store knows when it was there and what it lost.

Counts are increments since the beat before, so that restarts need no care.
"""

from __future__ import annotations

COLLECTOR, CORRELATOR = "tollens-collector", "tollens-correlator"
"""Names of the two as services."""
EVERY_S = 10.0
"""Between two beats."""
SILENT_S = 30.0
"""After so long without a beat it counts as down: two may be late, or refused by a spool that is full for a moment."""

HEARTBEAT = "tollens.collector.heartbeat"
ACCEPTED = "tollens.collector.accepted_requests"
RECORDS = "tollens.collector.accepted_records"
REFUSED = "tollens.collector.refused_requests"
REJECTED = "tollens.collector.rejected_records"
QUARANTINED = "tollens.correlator.quarantined_requests"
"""Told by the correlator, straight into its tables, at the time of loading."""
