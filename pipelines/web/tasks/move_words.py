"""The plan of a move by hand in sentences (law §17)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pipelines.engine import MovePlan
from pipelines.models import Status
from pipelines.routing.basics.plural import plural
from pipelines.routing.document.line import ParsedLine
from pipelines.routing.sentences.names import gate_name, place_name


def plan_words(line: ParsedLine, plan: MovePlan) -> list[tuple[str, str]]:
    """Return what the move does: for each thing an icon and a sentence."""
    return [*_left_behind(line, plan), *_entered(line, plan), *_cost(plan)]


def _left_behind(line: ParsedLine, plan: MovePlan) -> Iterator[tuple[str, str]]:
    if plan.work:
        yield "x", f"Running work at {place_name(line, plan.work)} is stopped."
    if plan.closes:
        gates = _either([gate_name(line, gate) for gate in plan.closes], "and")
        fallen = plural(" %(n)s vote no longer counts.", " %(n)s votes no longer count.", plan.votes)
        yield "gate", f"The review at {gates} is closed." + (fallen % {"n": plan.votes} if plan.votes else "")


def _entered(line: ParsedLine, plan: MovePlan) -> Iterator[tuple[str, str]]:
    for station, status in plan.places:
        name = place_name(line, station)
        if status == Status.QUEUED:
            yield "status-queued", f"{name} starts."
        elif status != Status.AWAITING_REVIEW:
            yield f"status-{status}", f"It then waits at {name}: {Status(status).label}."
    if plan.end:
        yield "flag", f"It ends: {place_name(line, plan.end)}."
    if plan.gates:
        gates = _either([gate_name(line, gate) for gate in plan.gates], "and")
        yield "actor-people", f"People are asked at {gates}."
    if plan.asks:
        yield "arrow-right", f"From there it goes to {_either([place_name(line, key) for key in plan.asks])}."


def _cost(plan: MovePlan) -> Iterator[tuple[str, str]]:
    if plan.cap is not None:
        yield "cost", f"It costs up to ${plan.cap:.2f} more; ${plan.spent:.2f} so far."
    elif plan.spent:
        yield "cost", f"It cost ${plan.spent:.2f} so far; one more run has no limit."


def _either(names: Sequence[str], conjunction: str = "or") -> str:
    return f" {conjunction} ".join(part for part in (", ".join(names[:-1]), names[-1]) if part)
