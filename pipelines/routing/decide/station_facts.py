"""Facts of other stations (law §13, Across stations): the facts of their latest passed visit that was observed on the
current tree."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from pipelines.routing.basics.facts import SOURCE, Facts

STATIONS: Final = "stations"
"""The root under which conditions and checks read them."""

Visit = tuple[str, Facts]
"""A passed visit: its station, and what was observed of it."""


def facts_by_station_with_last_tree(own: Facts, passed_visits: Iterable[Visit]) -> dict[str, dict[str, Any]]:
    """Facts by station. `own`: facts of the outcome being decided; `passed_visits`: earlier visits, oldest first.
    If the outcome has no tree of its own, the last tree seen on its path counts."""
    visits = list(passed_visits)
    tree = next(
        (
            candidate
            for facts in (own, *(visit_facts for _, visit_facts in reversed(visits)))
            if (candidate := tree_left_by_visit_or_none(facts))
        ),
        None,
    )
    by_station: dict[str, dict[str, Any]] = {}
    for station, facts in visits if tree is not None else ():
        there = {group: members for group, members in facts.items() if _source_tree_or_none(members) == tree}
        if there:
            # Group by group: a later visit replaces only what it observed on this tree (law §13).
            by_station[station] = {**by_station.get(station, {}), **there}
    return by_station


def tree_left_by_visit_or_none(facts: Facts) -> str | None:
    """The tree that a visit left, from git or from any group of facts."""
    git: str | None = facts.get("git", {}).get("tree")
    return git or next((tree for members in facts.values() if (tree := _source_tree_or_none(members))), None)


def _source_tree_or_none(members: Any) -> str | None:
    tree: str | None = members.get(SOURCE, {}).get("tree")
    return tree
