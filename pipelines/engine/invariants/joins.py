"""Joins: what was merged is what had been delivered (I9), and nobody waits for what cannot come any more (I17)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pipelines.engine.invariants.reading import Whole, whole
from pipelines.models import ENDED, Event
from pipelines.ports.observers import Violation
from pipelines.queries import versions
from pipelines.queries.branches import branches_of
from pipelines.routing.decide.joining.branches import VERDICTS
from pipelines.routing.decide.joining.joining import aggregate, due

Ids = Sequence[int] | None
STANDINGS = {verdict: standing for standing, verdict in VERDICTS.items()}


def joins_are_as_decided(task_ids: Ids) -> Iterable[Violation]:
    """I9: the tokens that a join merged are some that had arrived there and had not been merged yet, each station
    counts as it was delivered, and what follows is what its aggregation says of that."""
    for each in whole(task_ids, "events", "tokens"):
        arrived: dict[int, dict[str, Any]] = {}
        for event in each.events:
            if event.kind == "token.joined":
                yield from _fault(each, event, [arrived.pop(pk, None) for pk in event.data["merged"]])
            arrived |= _arrivals(event)
        waiting = {token.pk for token in each.tokens if token.waits_at_join}
        ended = {token.pk for token in each.tokens if token.status in ENDED}
        if set(arrived) - ended != waiting:
            yield each.broken("I9", f"tokens {sorted(set(arrived) - ended)} arrived, {sorted(waiting)} wait")


def _arrivals(event: Event) -> dict[int, dict[str, Any]]:
    """Of a move, the token that it tells; of a fork its branches."""
    return {token["id"]: said for token in event.data.get("tokens", []) if (said := token.get("join"))}


def _fault(each: Whole, event: Event, arrived: list[dict[str, Any] | None]) -> Iterable[Violation]:
    if None in arrived:
        yield each.broken("I9", f"event {event.seq} merges a token that did not wait there")
        return
    join, delivered = event.data["join"], [said for said in arrived if said]
    for key, verdict in join["branches"].items():
        mine = [said["standing"] for said in delivered if said["from"] == key]
        if (key in join["never"]) == bool(mine) or (mine and STANDINGS[verdict] not in mine):
            yield each.broken("I9", f"event {event.seq} counts {key} as {verdict}, delivered was {mine}")
    wanted = aggregate(join["aggregation"], [STANDINGS[verdict] for verdict in join["branches"].values()])
    if wanted != join["verdict"]:
        yield each.broken("I9", f"event {event.seq} comes to {join['verdict']}, its branches to {wanted}")


def nobody_waits_for_nobody(task_ids: Ids) -> Iterable[Violation]:
    """I17: no join that could be decided is left waiting."""
    for each in whole(task_ids, "tokens"):
        if any(token.waits_at_join for token in each.tokens):
            merge = due(versions.by_id(each.task.pinned_id), branches_of(each.tokens))
            if merge is not None:
                yield each.broken("I17", f"the join of {merge.station} could be decided, and nobody does")
