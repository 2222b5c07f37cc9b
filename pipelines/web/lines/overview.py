"""A line in words: its stations with their rules in order, what each asks, and where else it leads."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any

from pipelines.models import Line, Trigger
from pipelines.queries.workers import ENFORCED, NetworkGaps
from pipelines.routing.basics.plural import singular_or_plural
from pipelines.routing.document.inputs import TYPES
from pipelines.routing.document.kinds import KINDS, kind_executes
from pipelines.routing.document.line import Gate, ParsedLine, Requirement, Rule, Station
from pipelines.routing.document.networks import omits_network, station_network
from pipelines.routing.document.requirements import OWNER
from pipelines.routing.document.work.network import OPEN, egress_entries_or_none
from pipelines.routing.sentences.conditions import Leaf, condition_leaves
from pipelines.routing.sentences.decisions import policy_words
from pipelines.routing.sentences.names import gate_name, station_name, target_name
from pipelines.work.triggers.table import KINDS as TRIGGER_KINDS

MOST_TRIGGERS = 5
"""More stand on the page of triggers alone."""


@dataclass(frozen=True, slots=True)
class RuleSummary:
    number: int
    id: str
    label: str
    named: bool
    conditions: list[Leaf]
    targets: str
    gates: list[str]
    limits: list[str]
    fault: str


@dataclass(frozen=True, slots=True)
class StationSummary:
    key: str
    name: str
    kind: str
    kind_name: str
    does: str
    code: bool
    rules: list[RuleSummary]
    otherwise: str
    network: str
    facts: list[tuple[str, Any]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class GateSummary:
    gate: Gate
    asks: str
    facts: list[str]


def station_summaries(line: ParsedLine, unenforced: NetworkGaps = ENFORCED) -> list[StationSummary]:
    """`unenforced`: what running workers cannot keep stations from."""
    return [_station_summary(line, station, unenforced) for station in line.stations]


def _station_summary(line: ParsedLine, station: Station, unenforced: NetworkGaps) -> StationSummary:
    rules = [rule_summary(line, number, rule) for number, rule in enumerate(station.rules, start=1)]
    limits = station.limits
    facts: list[tuple[str, Any]] = [
        ("Expected duration", limits.expected),
        ("Timeout", limits.max_timeout),
        ("No-output timeout", limits.idle_timeout),
    ]
    return StationSummary(
        station.key,
        station.name,
        station.kind,
        KINDS[station.kind].name if station.kind in KINDS else station.kind,
        work_text(station),
        station.kind in KINDS and KINDS[station.kind].says_code,
        rules,
        fallback_text(line, station),
        network_text(station, unenforced),
        [(label, value) for label, value in facts if value],
    )


def network_text(station: Station, unenforced: NetworkGaps) -> str:
    """Describe the network of a published station that runs programs, as its version tells it."""
    listed = egress_entries_or_none(station.work.get("network"))
    if listed is not None:
        kind = KINDS.get(station.kind)
        own = kind.hosts(station.work) if kind else ()
        # An agent reaches the hosts of its model besides (house §5).
        hosts = ", ".join(dict.fromkeys((*own, *listed)))
        if unenforced.hosts:
            where = {"hosts": hosts, "runners": ", ".join(unenforced.hosts)}
            return "{hosts} · not enforced on {runners}".format(**where)
        if unenforced.refusing:
            where = {"hosts": hosts, "runners": ", ".join(unenforced.refusing)}
            return "{hosts} · cannot run on {runners}, which cannot limit hosts".format(**where)
        return hosts
    if not kind_executes(station.kind):
        return ""
    # Absent means open in versions from before the key existed, and none in new ones (house §5).
    if omits_network(station.work):
        return "Open, because this version was published before stations had no network by default"
    if station_network(station.work) == OPEN:
        return "Open"
    if unenforced.hosts:
        return f"None · not enforced on {', '.join(unenforced.hosts)}"
    return "None"


def work_text(station: Station) -> str:
    """Describe in one line what happens at the station."""
    kind = KINDS.get(station.kind)
    if kind is None:
        return station.kind
    summary = kind.says(station)
    if not summary:
        return kind.silent if kind.silent else ""
    return kind.said_as % {"said": summary} if kind.said_as else summary


def rule_summary(line: ParsedLine, number: int, rule: Rule) -> RuleSummary:
    limits = []
    if rule.max_retries is not None:
        words = singular_or_plural("at most %(n)s time", "at most %(n)s times", rule.max_retries)
        limits.append(words % {"n": rule.max_retries})
    if rule.max_visits is not None:
        limits.append(f"at most {rule.max_visits} entries of the target")
    if rule.exhausted_to:
        limits.append(f"then to {target_name(line, rule.exhausted_to)}")
    elif rule.on_exhausted:
        limits.append(f"then {policy_words(line, rule.on_exhausted)}")
    return RuleSummary(
        number,
        rule.id,
        rule.label or f"Rule {number}",
        bool(rule.label),
        condition_leaves(rule.when, called=partial(station_name, line)),
        ", ".join(target_name(line, key) for key in rule.to),
        [gate_name(line, key) for key in rule.gates],
        limits,
        str(rule.fault) if rule.fault else "",
    )


def fallback_text(line: ParsedLine, station: Station) -> str:
    """Describe what the policy does where no rule matches (law §4)."""
    policy = line.policy
    passed = policy.no_match if station.rules else policy.no_rules
    following = line.next_station_or_none(station.key)
    words = {
        "passed": _next_text(line, str(passed), following.name if following else ""),
        "failed": policy_words(line, str(policy.on_failure)),
    }
    return "No rule matched → {passed} · station failed → {failed}".format(**words)


def _next_text(line: ParsedLine, knob: str, name: str) -> str:
    if knob in ("default", "advance"):
        return f"on to {name}" if name else "the task is completed"
    return policy_words(line, knob)


@dataclass(frozen=True, slots=True)
class InputSummary:
    """A field of the start form. `asks`: its type, and whether it must be filled in."""

    name: str
    help: str
    asks: str


def input_summaries(line: ParsedLine) -> list[InputSummary]:
    return [
        InputSummary(
            line_input.label or line_input.key,
            line_input.help,
            " · ".join(filter(None, (TYPES[line_input.type], "required" if line_input.required else ""))),
        )
        for line_input in line.inputs
    ]


@dataclass(frozen=True, slots=True)
class TriggerSummary:
    """A trigger in its words. `next_at`: when it starts a task next, where it waits for a time."""

    words: str
    next_at: datetime | None
    is_paused: bool


def trigger_summaries(line: Line) -> list[TriggerSummary]:
    """Describe what starts tasks of the line by itself."""
    triggers = Trigger.objects.filter(line=line).select_related("source").order_by("pk")[:MOST_TRIGGERS]
    return [
        TriggerSummary(
            TRIGGER_KINDS[trigger.kind].words(trigger.options_with_line_name),
            trigger.next_at,
            trigger.paused_at is not None,
        )
        for trigger in triggers
    ]


def gate_summaries(line: ParsedLine) -> list[GateSummary]:
    return [_gate_summary(line, gate) for gate in line.gates]


MODES = {
    "auto": "Checks only",
    "manual": "Always a person",
    "checks_then_manual": "Checks, then a person",
    "skip": "Passed, and recorded",
}


def _gate_summary(line: ParsedLine, gate: Gate) -> GateSummary:
    facts = [MODES.get(gate.mode, gate.mode)]
    barred = [
        *(["the requester"] if not gate.approval.requester_may else []),
        *(["the producer"] if not gate.approval.producer_may else []),
    ]
    if barred:
        # law §6, A project of one
        facts.append(f"not {' or '.join(barred)}, unless they are the only member of the project")
    return GateSummary(
        gate, ", ".join(_requirement_text(line, requirement) for requirement in gate.approval.who), facts
    )


def _requirement_text(line: ParsedLine, need: Requirement) -> str:
    words = {"n": need.count, "name": need.name}
    if need.kind == "user":
        return need.name
    if need.kind == OWNER and need.everyone:
        return f"whoever answers for {need.agent}"
    if need.kind == OWNER:
        return f"owner of {line.station(need.name).name}"
    if need.everyone:
        of_group = "all of the group {name}".format(**words)
        return of_group if need.kind == "group" else "every {name}".format(**words)
    if need.kind == "group":
        return "{n} of the group {name}".format(**words)
    return "{n} {name}".format(**words)
