"""Facts about people, handed in as a value: who there is to decide. Without them nothing is said of them."""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.routing.approval import Voter


@dataclass(frozen=True, slots=True)
class People:
    """Of one project. `voters`: everybody whose word can count, with their roles and groups. `operators`: those
    among them who may start tasks and do manual jobs, so who may be the requester or the producer."""

    voters: tuple[Voter, ...] = ()
    operators: frozenset[str] = frozenset()
