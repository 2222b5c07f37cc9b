"""“Why is it here?”: a stored decision as a table of the rules that were tested, with what each of them saw."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _

from pipelines.models import Decision, GateVisit
from pipelines.queries import versions
from pipelines.queries.conditions import Leaf, leaves
from pipelines.queries.trace import TraceStep, checks_of, steps_of
from pipelines.routing.document.line import Line, Rule, Station
from pipelines.routing.sentences.escalations import role_words, trigger_words
from pipelines.routing.sentences.names import gate_name, station_name, target_name

MATCHED, NO, NOT_TRIED, ASK, FAULT = "matched", "no", "not_tried", "ask", "error"
STOPPED = "stopped"
"""It matched, and its gate did not let the task through."""


@dataclass(slots=True)
class Test:
    """One line of a condition. `value` is None where it was never reached."""

    words: str
    value: str | None
    held: bool | None = None


@dataclass(slots=True)
class RuleRow:
    number: int
    id: str
    label: str
    targets: str
    result: str
    tests: list[Test] = field(default_factory=list)
    gates: list[str] = field(default_factory=list)
    why: str = ""


@dataclass(slots=True)
class Explained:
    """A decision, wherever it was made. `gates`: name, and what became of it."""

    station: str
    sentence: str
    rows: list[RuleRow]
    otherwise: str
    otherwise_used: bool
    notes: list[str]
    gates: list[tuple[str, str]]
    checks: list[dict[str, Any]]
    steps: list[TraceStep]


@dataclass(slots=True)
class Why(Explained):
    """A stored one. `position` of `total`: which of the task's decisions this is, oldest first."""

    decision: Decision
    event: str = ""
    position: int = 0
    total: int = 0
    before: str = ""
    after: str = ""
    at: datetime | None = None

    @property
    def id(self) -> str:
        return str(self.decision.pk)

    @property
    def version(self) -> int:
        return self.decision.pinned.number

    @property
    def milliseconds(self) -> float:
        return self.decision.micros / 1000


def why(decision: Decision) -> Why:
    line = versions.by_id(decision.pinned_id)
    told = explained(line, decision.station, decision.answer, decision.trace)
    told.gates = list(_visits(line, decision))
    return Why(
        **{each.name: getattr(told, each.name) for each in fields(told)}, decision=decision, at=decision.at
    )


def explained(
    line: Line, key: str, answer: Mapping[str, Any], trace: Sequence[Mapping[str, Any]]
) -> Explained:
    """`answer` and `trace` as the decision tool writes them."""
    station = line.stations_by_key.get(key)
    tested = {entry.get("rule"): entry for entry in trace if entry.get("step") == "rules"}
    rows = [
        _row(line, number, rule, tested.get(rule.id))
        for number, rule in enumerate(station.rules if station else (), start=1)
    ]
    stopped = stopped_at(line, answer, trace)
    for row in rows:
        if stopped and row.id == answer.get("rule") and row.result == MATCHED:
            row.result, row.why = STOPPED, stopped
    return Explained(
        station_name(line, key),
        sentence(line, key, answer, stopped),
        rows,
        _otherwise(line, station),
        # The policy was asked: a signal or a gate may have decided before any rule was tested.
        answer.get("rule") is None and answer.get("by") in ("policy", None) and None in tested,
        _notes(trace),
        [],
        checks_of(line, trace),
        steps_of(line, trace),
    )


def _row(line: Line, number: int, rule: Rule, entry: Mapping[str, Any] | None) -> RuleRow:
    targets = ", ".join(target_name(line, key) for key in rule.to)
    row = RuleRow(number, rule.id, rule.label or rule.id, targets, NOT_TRIED)
    row.gates = [gate_name(line, key) for key in rule.gates]
    saw = list(entry.get("saw") or ()) if entry else []
    row.tests = [_test(leaf, saw) for leaf in leaves(rule.when)]
    if entry:
        row.result = {True: MATCHED, False: NO, "ask": ASK}.get(entry.get("result"), FAULT)
        row.why = str(entry.get("why") or "")
    return row


def _test(leaf: Leaf, saw: list[Any]) -> Test:
    """Takes the first value seen of the leaf's operand: the engine notes them in the order in which it asked."""
    for place, seen in enumerate(saw):
        if seen.get("operand") == leaf.operand and seen.get("path", "") == leaf.path:
            del saw[place]
            unasked = leaf.operand in ("agentic", "hook") and seen.get("value") is None
            return Test(leaf.words, None if unasked else shown(seen))
    return Test(leaf.words, None)


def shown(seen: Mapping[str, Any]) -> str:
    """As JSON, but a plain text without its quotes; of the nodes of a path a single one stands alone."""
    value = seen.get("value")
    if "nodes" in seen:
        nodes = seen["nodes"]
        if not nodes:
            return _("nothing there")
        value = nodes[0] if len(nodes) == 1 else nodes
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def stopped_at(line: Line, answer: Mapping[str, Any], trace: Sequence[Mapping[str, Any]]) -> str:
    """“Release review was rejected”: the word or the check of a gate that decided, or ""."""
    if answer.get("by") != "gate":
        return ""
    for entry in reversed(trace):
        gate, _colon, word = str(entry.get("why") or "").partition(": ")
        if entry.get("step") in ("rule_gates", "station_gate") and word in STOPS:
            return STOPS[word]() % {"gate": gate_name(line, gate)}
    return ""


STOPS = {
    "reject": lambda: _("%(gate)s was rejected"),
    "send_back": lambda: _("%(gate)s was sent back"),
    "rework": lambda: _("%(gate)s asked for rework"),
    "abort": lambda: _("%(gate)s ended the task"),
}


def sentence(line: Line, station: str, answer: Mapping[str, Any], stopped: str = "") -> str:
    """The decision in one sentence. `stopped`: which gate decided, see `stopped_at`."""
    if stopped and answer.get("decision") in ("move", "finish"):
        to = answer.get("to") or [str(answer.get("end", ""))]
        words = {"by": stopped, "targets": ", ".join(target_name(line, key) for key in to)}
        moves = answer["decision"] == "move"
        return (_("%(by)s: on to %(targets)s.") if moves else _("%(by)s: it ends, %(targets)s.")) % words
    name = station_name(line, station)
    targets = ", ".join(target_name(line, key) for key in answer.get("to") or ())
    match answer.get("decision"):
        case "move":
            return _("%(by)s: on to %(targets)s.") % {"by": _by(line, name, answer), "targets": targets}
        case "finish":
            end = target_name(line, str(answer.get("end", "")))
            return _("%(by)s: it ends, %(end)s.") % {"by": _by(line, name, answer), "end": end}
        case "wait" if answer.get("gates"):
            gates = ", ".join(gate_name(line, key) for key in answer["gates"])
            words = {"by": _by(line, name, answer), "targets": targets, "gates": gates}
            if not targets:
                return _("%(by)s: it waits at %(gates)s.") % words
            return _("%(by)s: on to %(targets)s, after %(gates)s.") % words
        case "wait":
            return _("%(by)s: it stays at %(station)s and waits.") % {
                "by": _by(line, name, answer),
                "station": name,
            }
        case "ask":
            return _("An evaluation has to be answered first.")
        case "escalate":
            trigger = str(answer.get("trigger", ""))
            role = answer.get("role") or line.escalation(trigger).role
            words = {"station": name, "role": role_words(str(role)), "why": trigger_words(trigger)}
            return _("%(station)s: escalated to %(role)s, since %(why)s.") % words
        case "stuck":
            return str(answer.get("message") or _("The engine could not decide."))
    return ""


def _by(line: Line, station: str, answer: Mapping[str, Any]) -> str:
    found = line.rules_by_id.get(str(answer.get("rule") or ""))
    if found:
        number = found[0].rules.index(found[1]) + 1
        return _("Rule %(number)s of %(station)s matched") % {"number": number, "station": found[0].name}
    return {
        "policy": _("No rule of %(station)s matched; the line's policy"),
        "signal": _("%(station)s gave a signal"),
        "gate": _("A gate after %(station)s"),
        "fallback": _("The fallback of %(station)s"),
    }.get(str(answer.get("by") or ""), "%(station)s") % {"station": station}


def _otherwise(line: Line, station: Station | None) -> str:
    """What the policy does at this station where no rule took the outcome (law §4)."""
    policy = line.policy
    passed = policy.no_match if station is None or station.rules else policy.no_rules
    return _("no rule matched → %(no_match)s · station failed → %(on_failure)s") % {
        "no_match": policy_words(str(passed)),
        "on_failure": policy_words(str(policy.on_failure)),
    }


def policy_words(knob: str) -> str:
    """A value of `no_match` or `on_failure` as what happens then."""
    if knob.startswith("station:"):
        return _("on to %(station)s") % {"station": knob.removeprefix("station:")}
    return KNOBS.get(knob, lambda: knob)()


KNOBS = {
    "default": lambda: _("next station"),
    "advance": lambda: _("next station"),
    "end": lambda: _("the task ends"),
    "refuse": lambda: _("refused"),
    "fail": lambda: _("task fails"),
    "halt": lambda: _("task fails"),
    "stuck": lambda: _("stuck"),
    "fallback": lambda: _("the blocked route"),
    "escalate": lambda: _("escalated"),
}


def _notes(trace: Sequence[Mapping[str, Any]]) -> list[str]:
    """What was tried besides the rules, in the engine's words."""
    return [str(entry["why"]) for entry in trace if entry.get("why") and _besides(entry)]


def _besides(entry: Mapping[str, Any]) -> bool:
    """Whether an entry is no row of the table: what a rule said of itself stands there."""
    if entry.get("step") == "rules":
        return entry.get("rule") is None
    return entry.get("step") in ("signal", "blocked", "station_gate", "target", "rule_gates")


def _visits(line: Line, decision: Decision) -> Iterator[tuple[str, str]]:
    for visit in decision.gate_visits.select_related("decided_by").order_by("position"):
        if visit.state == GateVisit.State.OPEN:
            yield gate_name(line, visit.gate), _("still open")
        elif visit.state == GateVisit.State.DECIDED:
            words = {"word": visit.get_word_display(), "who": visit.decided_by or "Gateline"}
            yield gate_name(line, visit.gate), _("%(word)s, %(who)s") % words
        else:
            yield gate_name(line, visit.gate), _("closed without a decision")
