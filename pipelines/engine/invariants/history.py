"""Invariants of what events tell: I2, I3, I4, I11."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from pipelines.engine.core.fold import row_folded_from_events, stored_row_of_task
from pipelines.engine.invariants.record_reading import TaskRecord, task_records
from pipelines.models import Purpose
from pipelines.ports.observers import Violation
from pipelines.routing.decide.transitions import COUNTERS

Ids = Sequence[int] | None
MOVES = ("token.moved", "token.forked", "token.joined", "token.ended")


def fold_mismatch_violations(task_ids: Ids) -> Iterable[Violation]:
    """I2: fold(events) = row."""
    for record in task_records(task_ids, "events", "tokens"):
        folded, row = row_folded_from_events(record.events), stored_row_of_task(record.task, record.tokens)
        if folded["pinned_id"] is None:
            # Submitted before events said the version, and not migrated since.
            del folded["pinned_id"]
        for name in folded:
            if folded[name] != row[name]:
                yield record.violation("I2", f"{name} is {row[name]!r}, its events say {folded[name]!r}")


def event_gap_violations(task_ids: Ids) -> Iterable[Violation]:
    """I3: event sequence 1…n per task, no gap."""
    for record in task_records(task_ids, "events"):
        if [event.seq for event in record.events] != list(range(1, record.task.seq + 1)):
            yield record.violation(
                "I3", f"has {len(record.events)} events, its last number is {record.task.seq}"
            )


def move_cause_violations(task_ids: Ids) -> Iterable[Violation]:
    """I4: every move has exactly one event and one cause; a cause makes at most one decision."""
    for record in task_records(task_ids, "events", "decisions", "jobs"):
        event_counts = Counter(event.decision_id for event in record.events if event.decision_id)
        for decision in record.decisions:
            if event_counts[decision.pk] != 1:
                yield record.violation("I4", f"decision {decision.pk} has {event_counts[decision.pk]} events")
        for cause, n in Counter(decision.cause for decision in record.decisions).items():
            if n > 1:
                yield record.violation("I4", f"{n} decisions of the one cause {cause}")
        for event in record.events:
            if event.kind in MOVES and not (event.trigger or event.decision_id):
                yield record.violation("I4", f"event {event.seq} moves without a cause")
        yield from _job_opening_violations(record)


def _job_opening_violations(record: TaskRecord) -> Iterable[Violation]:
    """Every job was opened by exactly one event."""
    opening = ("task.submitted", "token.moved", "token.forked", "token.joined", "evaluation.asked")
    opened = Counter(
        ref["id"]
        for event in record.events
        if event.kind in opening
        for ref in [*event.data.get("jobs", []), *([event.data["job"]] if "job" in event.data else [])]
    )
    for job in record.jobs:
        if opened[job.pk] != 1:
            yield record.violation("I4", f"job {job.pk} was opened by {opened[job.pk]} events")


def counter_mismatch_violations(task_ids: Ids) -> Iterable[Violation]:
    """I11: the counters of a task equal what its jobs, moves and votes add up to."""
    for record in task_records(task_ids, "events", "jobs", "visits"):
        counted = {
            "visits": Counter(job.station for job in record.jobs if job.purpose == Purpose.STATION),
            "rounds": Counter(visit.gate for visit in record.visits if visit.word == "send_back"),
            "edges": _summed_counts(record, "edges"),
            "rules": _summed_counts(record, "rules"),
            "failures": _summed_counts(record, "failures"),
        }
        for name in COUNTERS:
            stored = getattr(record.task, name)
            if dict(counted[name]) != stored:
                yield record.violation("I11", f"{name} are {stored}, counted {dict(counted[name])}")


def _summed_counts(record: TaskRecord, name: str) -> Counter[str]:
    total: Counter[str] = Counter()
    for event in record.events:
        total.update(event.data.get("count", {}).get(name, {}))
    return total
