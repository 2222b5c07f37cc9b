"""A gate that nobody and nothing can pass: by its words, by its checks, or for want of people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from pipelines.routing.analysis.lint.approver_matching import ApproverShortage, approver_shortage_or_none
from pipelines.routing.analysis.lint.finding import ERROR, WARNING, Finding
from pipelines.routing.analysis.lint.gate_contradictions import checks_that_force_action
from pipelines.routing.analysis.lint.people import People
from pipelines.routing.analysis.lint.subject import LintSubject
from pipelines.routing.analysis.satisfiability.effort import EffortExhausted, limiting_effort
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.basics.wording import joined_wording
from pipelines.routing.decide.check_fields import ALIASES, FAMILIES, SINGLE, USAGE
from pipelines.routing.document.checks import RANK, Check
from pipelines.routing.document.gates import Gate
from pipelines.routing.document.kinds import is_done_by_people
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.document.requirements import OWNER

ID = "unsatisfiable-gate"
CAUSE = "Gate that cannot be passed"
MAX_CHECKS = 2_000_000
"""Units of work for the checks of all gates."""
MAX_JUDGED = 500
"""Gates of one line whose people are counted."""


@dataclass(frozen=True, slots=True)
class GateFault:
    """`barred`: people who cannot decide, of whom the message says when."""

    key: str
    message: str
    hint: str
    severity: str = ERROR
    barred: bool = False


def check(subject: LintSubject) -> Iterator[Finding]:
    contradictions = _proved_contradictions_by_gate(subject.line.gates)
    lacks = _approver_shortages(subject)
    for index, gate in enumerate(subject.line.gates):
        for fault in (
            *_gate_faults(gate, subject.line),
            *contradictions.get(gate.key, ()),
            *lacks.get(gate.key, ()),
        ):
            yield Finding(
                check=ID,
                severity=fault.severity,
                path=f"gates[{index}]{fault.key}",
                message=_("Gate %(gate)s %(fault)s", gate=gate.name, fault=fault.message)
                if fault.barred
                else _("Gate %(gate)s: %(fault)s", gate=gate.name, fault=fault.message),
                hint=fault.hint,
            )


def _gate_faults(gate: Gate, line: ParsedLine) -> Iterator[GateFault]:
    """Yield the faults of a gate that the document itself shows."""
    if gate.has_people and "approve" not in gate.offers:
        yield GateFault(".offers", "a person is always asked, but cannot approve", "offer approve")
    user_counts = Counter(need.name for need in gate.approval.who if need.kind == "user")
    for user, times in user_counts.items():
        if times > 1 and gate.has_people:
            message = _(
                "%(user)s is wanted %(times)s times, and one person fills one place", user=user, times=times
            )
            yield GateFault(".approval.who", message, "name each person once")
    for need in gate.approval.who:
        if need.kind == OWNER and not need.agent and gate.has_people:
            name = line.station(need.name).name
            message = _("it asks the owner of %(station)s, where no agent works", station=name)
            yield GateFault(".approval.who", message, "name the agent of the station, or ask somebody else")
    for field in _unknown_fields(gate):
        message = _("no field %(field)s exists, so its check always fails", field=field)
        yield GateFault(".checks", message, "correct the field")


def _unknown_fields(gate: Gate) -> Iterator[str]:
    for gate_check in gate.checks.checks() if gate.checks and gate.enforces_checks else ():
        name = ALIASES.get(gate_check.field, gate_check.field)
        family, _dot, rest = name.partition(".")
        known = name in SINGLE or name in USAGE or (rest and family in FAMILIES)
        if not known and gate_check.severity != "warn":
            yield gate_check.field


# Checks that contradict each other


def _proved_contradictions_by_gate(gates: tuple[Gate, ...]) -> dict[str, list[GateFault]]:
    """Return the contradictions that are proved within the bound; the gates are looked at in their order."""
    faults: dict[str, list[GateFault]] = {}
    with limiting_effort(MAX_CHECKS):
        for gate in gates:
            try:
                faults[gate.key] = list(_gate_contradiction(gate))
            except EffortExhausted:
                # The bound is for all gates together: nothing of it is left for the rest.
                break
    return faults


def _gate_contradiction(gate: Gate) -> Iterator[GateFault]:
    """Yield the fault of the worst action that is certain; a hold only asks a person, which other modes do
    anyway."""
    if gate.checks is None or not gate.enforces_checks or any(_unknown_fields(gate)):
        return
    for action in RANK if gate.mode == "auto" else ("abort", "rework"):
        checks = checks_that_force_action(gate.checks, action)
        if checks:
            yield _contradiction_fault(action, checks)
            return


def _contradiction_fault(action: str, checks: tuple[Check, ...]) -> GateFault:
    conditions = joined_wording((f"{c.field} {c.operator} {c.value!r}" for c in checks[:4]), " and ")
    words = {"checks": conditions, "then": THEN[action]}
    if len(checks) == 1:
        message = _("%(checks)s cannot hold, %(then)s", **words)
    elif len(checks) <= 4:
        message = _("%(checks)s cannot hold together, %(then)s", **words)
    else:
        message = _("%(checks)s and others cannot hold together, %(then)s", **words)
    severity = WARNING if action == "hold" else ERROR
    return GateFault(".checks", message, "correct the checks, or join them by any", severity)


THEN = {
    "abort": "so it always ends the task",
    "rework": "so it always sends the work back",
    "hold": "so it never passes by itself: a person is asked every time",
}


# People


def _approver_shortages(subject: LintSubject) -> dict[str, list[GateFault]]:
    """Return what is missing at gates that are used and may ask a person, if the people are known."""
    if subject.people is None:
        return {}
    used = _may_person_produce_by_gate(subject)
    asking = [gate for gate in subject.line.gates if gate.key in used and _may_gate_ask_person(gate)]
    return {
        gate.key: list(_shortage_faults(gate, subject.people, used[gate.key])) for gate in asking[:MAX_JUDGED]
    }


def _may_person_produce_by_gate(subject: LintSubject) -> dict[str, bool]:
    """The gates that something waits at, and whether a person may have produced what is decided there."""
    produced_by_people: dict[str, bool] = {}
    for station in subject.line.stations:
        by_rules = (key for rule in station.rules if rule.fault is None for key in rule.gates)
        for key in (station.gate, *by_rules):
            if key is not None:
                produced_by_people[key] = produced_by_people.get(key, False) or is_done_by_people(station)
    return produced_by_people


def _may_gate_ask_person(gate: Gate) -> bool:
    checks = gate.checks.checks() if gate.checks is not None and gate.enforces_checks else ()
    return (
        gate.has_people
        or "hold" in gate.tool_actions
        or any(RANK.get(gate_check.action) for gate_check in checks)
    )


def _shortage_faults(gate: Gate, people: People, by_hand: bool) -> Iterator[GateFault]:
    """A warning, since people come and go without a new version, and a line may be published before they come."""
    shortage = approver_shortage_or_none(gate.approval, people, by_hand=by_hand)
    if shortage is not None:
        # A warning: people come and go without a new version, and a line may be published before they come
        yield GateFault(
            ".approval.who", shortage.words, _shortage_remedy(shortage), WARNING, bool(shortage.barred)
        )


def _shortage_remedy(shortage: ApproverShortage) -> str:
    if shortage.barred:
        return _("add reviewers, or let %(who)s decide", who=shortage.remedy)
    return "add people in the settings of the project, or ask others"
