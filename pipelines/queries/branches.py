"""The living tokens of a task as the branches that a join is decided from (law §7)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pipelines.models import ENDED, Token
from pipelines.routing.decide.branch_joins.branches import Arrival, Branch, Fork


def living_branches(tokens: Iterable[Token]) -> list[Branch]:
    """Return the branches of the living tokens of one task."""
    living = {token.pk: token for token in tokens if token.status not in ENDED}
    return [
        Branch(token.pk, token.station, _enclosing_forks(token, living), _join_arrival_or_none(token))
        for token in living.values()
        if not token.forked
    ]


def _enclosing_forks(token: Token, living: Mapping[int, Token]) -> tuple[Fork, ...]:
    forks: list[Fork] = []
    while token.parent_id is not None:
        # A forked token lives as long as it waits for a child.
        token = living[token.parent_id]
        forks.insert(0, Fork(token.pk, token.station, tuple(token.wait.get("to", ()))))
    return tuple(forks)


def _join_arrival_or_none(token: Token) -> Arrival | None:
    if not token.waits_at_join:
        return None
    join = token.wait["join"]
    return Arrival(join["from"], join["standing"], join["order"], join.get("failure_type", ""))
