"""Short ways to ask for the standings of the rules of one station."""

from __future__ import annotations

from typing import Any

from pipelines.routing.analysis.satisfiability.first_match_analysis import FirstMatchAnalysis
from pipelines.routing.document.line import ParsedLine
from tests.routing.support import ruled

When = dict[str, Any]


def output(path: str, op: str, value: Any = None, **more: Any) -> When:
    given = {} if op in ("exists", "missing") else {"value": value}
    return {"output": {"path": path, "op": op, **given, **more}}


def eval_(op: str, value: Any) -> When:
    return {"eval": {"op": op, "value": value}}


def both(*members: When) -> When:
    return {"all": list(members)}


def either(*members: When) -> When:
    return {"any": list(members)}


def without(member: When) -> When:
    return {"not": member}


def analysed(*conditions: When, **more: Any) -> FirstMatchAnalysis:
    of: ParsedLine = ruled(*({"when": when} for when in conditions), **more)
    return FirstMatchAnalysis(of, of.station("a"))


def statuses(*conditions: When, **more: Any) -> list[str]:
    return [standing.status for standing in analysed(*conditions, **more).rule_liveness]


def last(*conditions: When, **more: Any) -> str:
    """Of the last rule: its status, and in brackets the rules that kill it."""
    standing = analysed(*conditions, **more).rule_liveness[-1]
    killers = f" ({' '.join(standing.killers)})" if standing.killers else ""
    return standing.status + (" in itself" if standing.never else "") + killers
