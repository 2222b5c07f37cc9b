"""A station is not entered if its templates need output that could not be parsed (Vibe Factory C25)."""

from __future__ import annotations

from pipelines.routing.decide.decisions import Stuck
from pipelines.routing.decide.steps.candidate import TransitionCandidate, stations
from pipelines.routing.decide.steps.context import Case
from pipelines.routing.document.templates import wanted

ERROR = "OutputDataParseError"


def unreadable(case: Case, way: TransitionCandidate) -> Stuck | None:
    """Unparseable output only matters when a template reads one of the declared output keys."""
    for station in stations(case, way) if case.unreadable else ():
        for family, name in sorted(wanted(case.line.station(station).work)):
            key = name if name in case.unreadable else name.partition(".")[0]
            if key in case.unreadable and _reads_context(case, way, family, key):
                message = f"{station} asks for {key}, but the output that should have said it was not JSON."
                case.note("target", way.rule, "error", message)
                return Stuck(ERROR, message, way.rule_id)
    return None


def _reads_context(case: Case, way: TransitionCandidate, family: str, key: str) -> bool:
    """`{{.x}}` tries variables and inputs first."""
    if family:
        return family == "context"
    facts = case.of_now.facts
    return not any(key in values for values in (facts.variables, way.variables, facts.inputs))
