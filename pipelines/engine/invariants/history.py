"""What events tell: I2, I3, I4, I11."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from pipelines.engine.core.fold import fold, row_of
from pipelines.engine.invariants.reading import Whole, whole
from pipelines.models import Purpose
from pipelines.ports.observers import Violation
from pipelines.routing.decide.transitions import COUNTERS

Ids = Sequence[int] | None
MOVES = ("token.moved", "token.forked", "token.joined", "token.ended")


def fold_is_row(task_ids: Ids) -> Iterable[Violation]:
    """I2: fold(events) = row."""
    for each in whole(task_ids, "events", "tokens"):
        folded, row = fold(each.events), row_of(each.task, each.tokens)
        if folded["pinned_id"] is None:
            # Submitted before events said the version, and not migrated since.
            del folded["pinned_id"]
        for name in folded:
            if folded[name] != row[name]:
                yield each.broken("I2", f"{name} is {row[name]!r}, its events say {folded[name]!r}")


def events_are_gapless(task_ids: Ids) -> Iterable[Violation]:
    """I3: event sequence 1…n per task, no gap."""
    for each in whole(task_ids, "events"):
        if [event.seq for event in each.events] != list(range(1, each.task.seq + 1)):
            yield each.broken("I3", f"has {len(each.events)} events, its last number is {each.task.seq}")


def moves_have_one_cause(task_ids: Ids) -> Iterable[Violation]:
    """I4: every move has exactly one event and one cause; a cause makes at most one decision."""
    for each in whole(task_ids, "events", "decisions", "jobs"):
        told = Counter(event.decision_id for event in each.events if event.decision_id)
        for decision in each.decisions:
            if told[decision.pk] != 1:
                yield each.broken("I4", f"decision {decision.pk} has {told[decision.pk]} events")
        for cause, n in Counter(decision.cause for decision in each.decisions).items():
            if n > 1:
                yield each.broken("I4", f"{n} decisions of the one cause {cause}")
        for event in each.events:
            if event.kind in MOVES and not (event.trigger or event.decision_id):
                yield each.broken("I4", f"event {event.seq} moves without a cause")
        yield from _opened(each)


def _opened(each: Whole) -> Iterable[Violation]:
    """Every job was opened by exactly one event."""
    opening = ("task.submitted", "token.moved", "token.forked", "token.joined", "evaluation.asked")
    opened = Counter(
        ref["id"]
        for event in each.events
        if event.kind in opening
        for ref in [*event.data.get("jobs", []), *([event.data["job"]] if "job" in event.data else [])]
    )
    for job in each.jobs:
        if opened[job.pk] != 1:
            yield each.broken("I4", f"job {job.pk} was opened by {opened[job.pk]} events")


def counters_count(task_ids: Ids) -> Iterable[Violation]:
    """I11: a task's counters = counts: of its jobs, of the edges and rules of its moves, of the words said."""
    for each in whole(task_ids, "events", "jobs", "visits"):
        counted = {
            "visits": Counter(job.station for job in each.jobs if job.purpose == Purpose.STATION),
            "rounds": Counter(visit.gate for visit in each.visits if visit.word == "send_back"),
            "edges": _summed(each, "edges"),
            "rules": _summed(each, "rules"),
            "failures": _summed(each, "failures"),
        }
        for name in COUNTERS:
            kept = getattr(each.task, name)
            if dict(counted[name]) != kept:
                yield each.broken("I11", f"{name} are {kept}, counted {dict(counted[name])}")


def _summed(each: Whole, name: str) -> Counter[str]:
    total: Counter[str] = Counter()
    for event in each.events:
        total.update(event.data.get("count", {}).get(name, {}))
    return total
