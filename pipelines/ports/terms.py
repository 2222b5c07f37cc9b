"""Terms that a worker and the server agree on beforehand; plain values, for both sides."""

from __future__ import annotations

LEASE_SECONDS = 10.0
# A worker whose work is taken from it is not counted on either: it renews its leases and its sign of life by one
# statement.
ALIVE_SECONDS = LEASE_SECONDS
DRIVE, QUICK, EVALUATE = "drive", "quick", "evaluate"
"""The queues of what works: stations, those whose work takes no time, and questions about an outcome. None waits for
another."""
TRIALS, TRY_STATION = "trials", "pipelines.try_station"
"""The queue of stations that are run by themselves, and its only task."""
EVALUATIONS = "evaluations"
"""The queue of the same task for past tasks that are given to a station once more: nobody waits in front of these."""
SHIPPED = "As shipped with Gateline"
"""The name of each version of the demo's lines: a line whose live version is called otherwise is a person's."""
