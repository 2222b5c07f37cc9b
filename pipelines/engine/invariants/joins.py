"""Joins: what was merged is what had been delivered (I9), and nobody waits for what cannot come any more (I17)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pipelines.engine.invariants.record_reading import TaskRecord, task_records
from pipelines.models import ENDED, Event
from pipelines.ports.observers import Violation
from pipelines.queries import versions
from pipelines.queries.branches import living_branches
from pipelines.routing.decide.branch_joins.branches import VERDICTS
from pipelines.routing.decide.branch_joins.join_decision import (
    aggregate_verdict,
    first_decidable_merge_or_none,
)

Ids = Sequence[int] | None
STANDINGS = {verdict: state for state, verdict in VERDICTS.items()}


def join_decision_violations(task_ids: Ids) -> Iterable[Violation]:
    """I9: the tokens that a join merged are some that had arrived there and had not been merged yet, each station
    counts as it was delivered, and what follows is what its aggregation says of that."""
    for record in task_records(task_ids, "events", "tokens"):
        arrived: dict[int, dict[str, Any]] = {}
        for event in record.events:
            if event.kind == "token.joined":
                # Taken out: what was merged cannot be merged again
                yield from _merge_violations(
                    record, event, [arrived.pop(pk, None) for pk in event.data["merged"]]
                )
            arrived |= _arrivals_by_token_id(event)
        waiting = {token.pk for token in record.tokens if token.waits_at_join}
        ended = {token.pk for token in record.tokens if token.status in ENDED}
        if set(arrived) - ended != waiting:
            yield record.violation(
                "I9", f"tokens {sorted(set(arrived) - ended)} arrived, {sorted(waiting)} wait"
            )


def _arrivals_by_token_id(event: Event) -> dict[int, dict[str, Any]]:
    """Return the arrivals in an event: of a move, the token that it tells; of a fork its branches."""
    return {token["id"]: join for token in event.data.get("tokens", []) if (join := token.get("join"))}


def _merge_violations(
    record: TaskRecord, event: Event, arrived: list[dict[str, Any] | None]
) -> Iterable[Violation]:
    if None in arrived:
        yield record.violation("I9", f"event {event.seq} merges a token that did not wait there")
        return
    join, delivered = event.data["join"], [arrival for arrival in arrived if arrival]
    for key, verdict in join["branches"].items():
        states = [arrival["standing"] for arrival in delivered if arrival["from"] == key]
        if (key in join["never"]) == bool(states) or (states and STANDINGS[verdict] not in states):
            yield record.violation(
                "I9", f"event {event.seq} counts {key} as {verdict}, delivered was {states}"
            )
    expected = aggregate_verdict(
        join["aggregation"], [STANDINGS[verdict] for verdict in join["branches"].values()]
    )
    if expected != join["verdict"]:
        yield record.violation(
            "I9", f"event {event.seq} comes to {join['verdict']}, its branches to {expected}"
        )


def unmerged_join_violations(task_ids: Ids) -> Iterable[Violation]:
    """I17: no join that could be decided is still waiting."""
    for record in task_records(task_ids, "tokens"):
        if any(token.waits_at_join for token in record.tokens):
            merge = first_decidable_merge_or_none(
                versions.parsed_line_by_version_id(record.task.pinned_id), living_branches(record.tokens)
            )
            if merge is not None:
                yield record.violation(
                    "I17", f"the join of {merge.station} could be decided, and nobody does"
                )
