"""Highest cost of a task, and why: reported where the line limits a cost, or an agent works."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from pipelines.routing.analysis.lint.cost import CostBound, StationCost, cost_bound_or_none
from pipelines.routing.analysis.lint.finding import INFO, WARNING, Finding
from pipelines.routing.analysis.lint.subject import LintSubject
from pipelines.routing.basics.wording import Wording
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.document.kinds import is_unpriced
from pipelines.routing.document.model import ParsedLine

ID = "cost-of-a-task"
CAUSE = "Cost of a task"
LIMIT_IT = Wording.of(
    "give the station, or the line, limits: {cost_usd: …}", "set a most cost of the station, or of a task"
)


def check(subject: LintSubject) -> Iterator[Finding]:
    bound = cost_bound_or_none(subject)
    if bound is None:
        return
    without = next((part for part in bound.parts if part.most is None), None)
    if bound.amount is None and without is not None:
        yield _unlimited_finding(subject, without)
        return
    assert bound.amount is not None
    yield Finding(
        check=ID,
        severity=INFO,
        path="limits.cost_usd",
        message=_(
            "at most %(amount)s a task, and one reported step more a run, because %(why)s",
            amount=_dollars_text(bound.amount),
            why=_bound_reason(subject.line, bound),
        ),
        hint=_hint(subject.line, bound),
    )


def _unlimited_finding(subject: LintSubject, part: StationCost) -> Finding:
    station = subject.line.station(part.station)
    if is_unpriced(station):
        return Finding(
            check=ID,
            severity=WARNING,
            path=f"{subject.path_of_station_or_rule(station)}.work",
            message=_("what %(station)s costs is unknown: its agent reports no price", station=station.name),
            hint="enter the price of a million tokens at the station",
            station=station.key,
        )
    return Finding(
        check=ID,
        severity=WARNING,
        path=subject.path_of_station_or_rule(station),
        message=_("nothing limits what %(station)s, and so a task, may cost", station=station.name),
        hint=LIMIT_IT,
        station=station.key,
    )


def _bound_reason(line: ParsedLine, bound: CostBound) -> str:
    if bound.is_task_limit:
        return "that is the limit of a task"
    sentences = [
        _(
            "%(station)s runs at most %(runs)s times at %(most)s",
            station=line.station(part.station).name,
            runs=part.runs,
            most=_dollars_text(part.most or Decimal()),
        )
        for part in bound.parts
    ]
    return "; ".join(map(str, sentences))


def _hint(line: ParsedLine, bound: CostBound) -> str:
    cycle = next((part.cycle for part in bound.parts if part.cycle), ())
    if not cycle or bound.is_task_limit:
        return ""
    names = " → ".join(line.station(key).name for key in (*cycle, cycle[0]))
    return _("%(cycle)s has no limit of its own: give it one, or the task", cycle=names)


def _dollars_text(amount: Decimal) -> str:
    # Parts of a cent only where there are any.
    return f"${amount:,.2f}" if amount == amount.quantize(Decimal("0.01")) else f"${amount.normalize():,f}"
