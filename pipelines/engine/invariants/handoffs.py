"""Handoff documents: kept with the move that they went along with (I11), and sound where one is required (I10)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pipelines.engine.invariants.record_reading import task_records
from pipelines.ports.observers import Violation
from pipelines.queries import versions
from pipelines.routing.document.preconditions import HANDOFF

Ids = Sequence[int] | None
MOVES = ("token.moved", "token.forked")


def handoff_event_violations(task_ids: Ids) -> Iterable[Violation]:
    """I11: a handoff that a move tells of is kept under its name, and each that has a name went along with a move that
    was decided about the outcome of its job."""
    for record in task_records(task_ids, "events", "decisions", "handoffs"):
        names = {handoff.name for handoff in record.handoffs}
        about = {decision.pk: decision.job_id for decision in record.decisions}
        moved = {
            about[event.decision_id]
            for event in record.events
            if event.kind in MOVES and event.decision_id in about
        }
        for event in record.events:
            if event.data.get("handoff", "") not in {"", *names}:
                yield record.violation("I11", f"event {event.seq} tells of a handoff that is not kept")
        for handoff in record.handoffs:
            if handoff.name and handoff.job_id not in moved:
                yield record.violation("I11", f"handoff {handoff.pk} has a name, and nothing moved with it")


def handoff_soundness_violations(task_ids: Ids) -> Iterable[Violation]:
    """I10: what left a station forward that requires a handoff took one along in which its schema finds nothing wrong.
    Of a task that was migrated each decision was bound by its own version, which I9 decides again."""
    for record in task_records(task_ids, "events", "jobs", "handoffs"):
        jobs = {job.pk: job for job in record.jobs}
        # Another version may have asked for no handoff
        if any(event.kind == "task.migrated" for event in record.events):
            continue
        for handoff in record.handoffs:
            if handoff.faults and handoff.to_id and handoff.job_id in jobs and handoff.to_id in jobs:
                line = versions.parsed_line_by_version_id(record.task.pinned_id)
                source, to = jobs[handoff.job_id].station, jobs[handoff.to_id].station
                if HANDOFF in line.requirements_of(source) and line.index_of_station(
                    to
                ) > line.index_of_station(source):
                    yield record.violation(
                        "I10", f"handoff {handoff.pk} went forward although {handoff.faults[0]}"
                    )
