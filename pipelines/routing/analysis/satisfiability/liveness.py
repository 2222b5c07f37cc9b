"""Results of the first-match analysis of one station (law §10), as values, and of which outcomes it speaks."""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.routing.analysis.satisfiability.situations import Witness
from pipelines.routing.document.rules import Rule

LIVE, SHADOWED, DEAD, UNKNOWN = "live", "partly shadowed", "dead", "unknown"


@dataclass(frozen=True, slots=True)
class Shadow:
    """Part of a later rule that an earlier rule takes. `witness`: one situation that is true of both, where
    it is stored."""

    by: str
    witness: Witness | None = None


@dataclass(frozen=True, slots=True)
class Liveness:
    """Liveness of one rule. `witness`: a situation that it takes; `killers`: earlier rules that together
    leave it nothing, and `instead` a situation that it would take, were they not there.

    `why`: of an unknown one, what stood in the way; of a live one, of which earlier rule it is not known
    whether it takes a part of it, and what stood in the way.
    """

    rule: Rule
    status: str
    witness: Witness | None = None
    killers: tuple[str, ...] = ()
    why: str = ""
    never: bool = False
    after_rework: str | None = None
    instead: Witness | None = None


@dataclass(frozen=True, slots=True)
class Remainder:
    """Situations that no rule takes. `standing`: passed, failed, blocked; `why`: where it is not known."""

    standing: str
    witness: Witness | None = None
    why: str = ""
