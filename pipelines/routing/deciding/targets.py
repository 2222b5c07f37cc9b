"""Step 7 of semantics §5: revisit policy, cap, budgets, preconditions; and step 9, what entering means.

One check after the other, each for every target of a fork. A breach does not move and tries no further rule.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pipelines.routing.deciding.case import Case
from pipelines.routing.decisions import Decision, Escalate, Finish, Move, Stuck, Wait
from pipelines.routing.model import BLOCKED, Rule

RETRY_LIMIT = "RetryLimitExceeded"
FORBIDDEN = "ForbiddenParallel"


@dataclass(frozen=True, slots=True)
class Way:
    """Where a token is about to go, and why.

    `rule` names the rule that led here; `takes` says that this very rule is taken, so that its budgets and
    the revisit policy bind. `targets` holds stations, or one end, or `@blocked`.
    """

    targets: tuple[str, ...]
    by: str
    rule: Rule | None = None
    takes: bool = False
    feedback: str | None = None
    variables: Mapping[str, Any] = field(default_factory=dict)

    @property
    def rule_id(self) -> str | None:
        return self.rule.id if self.rule else None

    @property
    def shown(self) -> str:
        return " + ".join(self.targets)


def enter(case: Case, way: Way) -> Decision:
    """Step 7, then 9, for what no rule gate guards."""
    return obstacle(case, way) or arrive(case, way)


def obstacle(case: Case, way: Way) -> Decision | None:
    """What stands in the way, if anything; what an exhausted budget leads to is a decision, too."""
    return (
        (_circle(case, way) if way.takes else None)
        or _cap(case, way)
        or _forbidden(case, way)
        or _exhausted(case, way)
        or _missing(case, way)
    )


def arrive(case: Case, way: Way) -> Decision:
    case.note("effects", way.rule, True, f"goes to {way.shown} (by {way.by})")
    target = way.targets[0]
    if target == BLOCKED:
        return Wait("blocked", rule=way.rule_id)
    if target in case.line.ends_by_key:
        return Finish(target, case.line.end(target).kind, way.rule_id, way.by)
    return Move(way.targets, way.rule_id, way.by, way.feedback, way.variables)


def _stations(case: Case, way: Way) -> tuple[str, ...]:
    return tuple(target for target in way.targets if target in case.line.stations_by_key)


def _circle(case: Case, way: Way) -> Decision | None:
    """The revisit policy: it binds moves by a rule only, and the rule's `allow_revisit` overrides it."""
    for station in _stations(case, way):
        if _revisits(case, way, station):
            return _stuck(
                case, way, "CircularWorkflow", f"This task has been at {station} before, and may not return."
            )
    return None


def _revisits(case: Case, way: Way, station: str) -> bool:
    policy = case.line.policy
    allowed = way.rule.allow_revisit if way.rule else None
    if allowed is True:
        return False
    if allowed is False or policy.forbids_revisits:
        return case.situation.has_visited(station)
    limit = policy.revisit_limit
    return limit is not None and case.situation.visits_of(station) > limit


def _cap(case: Case, way: Way) -> Decision | None:
    cap = case.line.policy.visit_cap
    for station in _stations(case, way):
        visits = case.situation.visits_of(station)
        if visits >= cap:
            message = f"This task has entered {station} {visits} times; the cap is {cap}."
            return _stuck(case, way, "VisitLimitExceeded", message)
    return None


def _forbidden(case: Case, way: Way) -> Decision | None:
    """Pairs of stations that must never run in parallel (semantics §7). Waiting at a join is not running there."""
    entered = [target for target in _stations(case, way) if not case.line.waits_at(target, case.station.key)]
    for place, station in enumerate(entered):
        for other in (*entered[place + 1 :], *case.facts.beside):
            if {station, other} in map(set, case.line.forbidden_parallel):
                message = f"{station} and {other} must never run in parallel."
                return _stuck(case, way, FORBIDDEN, message)
    return None


def _stuck(case: Case, way: Way, error: str, message: str) -> Stuck:
    case.note("target", way.rule, False, message)
    return Stuck(error, message, way.rule_id)


# Budgets


def _exhausted(case: Case, way: Way) -> Decision | None:
    """Of several breaches fail > stuck > escalate > a target, which only a rule that is taken names."""
    breaches = [*_own_breaches(case, way), *_station_breaches(case, way)]
    if not breaches:
        return None
    hows = [how for how, _ in breaches]
    case.note("target", way.rule, False, f"{RETRY_LIMIT}: {'; '.join(why for _, why in breaches)}")
    how = next((word for word in ("fail", "stuck", "escalate") if word in hows), None)
    if how == "fail":
        return Finish("failed", "failed", way.rule_id, "policy", RETRY_LIMIT)
    if how == "stuck":
        return Stuck(
            RETRY_LIMIT, f"A limit is reached: {'; '.join(why for _, why in breaches)}.", way.rule_id
        )
    if how == "escalate":
        return Escalate(RETRY_LIMIT, way.rule_id)
    return _instead(case, way)


def _own_breaches(case: Case, way: Way) -> list[tuple[str, str]]:
    """How the rule's own budgets are broken, with what each of them leads to."""
    rule = way.rule
    if rule is None or not way.takes:
        return []
    how = "target" if rule.exhausted_to else rule.on_exhausted or case.line.policy.on_exhausted
    taken = case.facts.rules.get(rule.id, 0)
    whys = []
    if rule.max_retries is not None and taken >= rule.max_retries:
        whys.append(f"rule {rule.id} was taken {taken} of {rule.max_retries} times")
    for station in _stations(case, way):
        visits = case.situation.visits_of(station)
        if rule.max_visits is not None and visits >= rule.max_visits:
            whys.append(f"{station} was entered {visits} of {rule.max_visits} times")
    limit = case.line.policy.self_loop_limit
    if limit is not None and taken >= limit and _is_free_loop(case, way, rule):
        whys.append(f"rule {rule.id}, a loop, was taken {taken} of {limit} times")
    return [(how, why) for why in whys]


def _is_free_loop(case: Case, way: Way, rule: Rule) -> bool:
    """Leads to its own station, and has neither `max_retries` nor `max_visits`."""
    free = rule.max_retries is None and rule.max_visits is None
    return free and case.station.key in _stations(case, way)


def _station_breaches(case: Case, way: Way) -> list[tuple[str, str]]:
    breaches = []
    for station in _stations(case, way):
        most, visits = case.line.station(station).limits.max_visits, case.situation.visits_of(station)
        if most is not None and visits >= most:
            why = f"{station} was entered {visits} of {most} times"
            breaches.append((case.line.policy.on_exhausted, why))
    return breaches


def _instead(case: Case, way: Way) -> Decision:
    """The target that the rule names for its exhaustion: checked once, no gates, no variables.

    The rule's own budgets are spent and do not bind it again; the station's `max_visits` does, as every entry.
    """
    assert way.rule is not None and way.rule.exhausted_to is not None
    instead = Way((way.rule.exhausted_to,), "rule", way.rule, feedback=way.feedback)
    return _circle(case, instead) or enter(case, instead)


# Preconditions


def _missing(case: Case, way: Way) -> Decision | None:
    """Of a forward move: in the order given, then `no_open_escalation`."""
    if not any(_is_forward(case, target) for target in way.targets):
        return None
    missing = [name for name, met in case.facts.preconditions.items() if not met]
    if case.facts.open_escalations:
        missing.append("no_open_escalation")
    if not missing:
        return None
    case.note("target", way.rule, False, f"missing: {', '.join(missing)}")
    return Wait("held", to=way.targets, rule=way.rule_id, missing=tuple(missing))


def _is_forward(case: Case, target: str) -> bool:
    """To a station that stands later in the order, or to a completed end."""
    if target in case.line.stations_by_key:
        return case.line.position(target) > case.line.position(case.station.key)
    return target in case.line.ends_by_key and case.line.end(target).kind == "completed"
