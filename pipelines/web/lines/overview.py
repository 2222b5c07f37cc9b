"""A line in words: its stations with their rules in order, what each asks, and where else it leads."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from pipelines.queries.workers import ENFORCED, Unenforced
from pipelines.routing.document.inputs import TYPES
from pipelines.routing.document.kinds import KINDS, executes
from pipelines.routing.document.line import Gate, Line, Requirement, Rule, Station
from pipelines.routing.document.networks import network_of, says_nothing
from pipelines.routing.document.requirements import OWNER
from pipelines.routing.document.work.network import OPEN, egress_of
from pipelines.routing.sentences.conditions import Leaf, leaves
from pipelines.routing.sentences.decisions import policy_words
from pipelines.routing.sentences.names import gate_name, station_name, target_name


@dataclass(frozen=True, slots=True)
class RuleWords:
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
class StationWords:
    key: str
    name: str
    kind: str
    kind_name: str
    does: str
    code: bool
    rules: list[RuleWords]
    otherwise: str
    network: str
    facts: list[tuple[str, Any]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class GateWords:
    gate: Gate
    asks: str
    facts: list[str]


def overview_of(line: Line, unenforced: Unenforced = ENFORCED) -> list[StationWords]:
    """`unenforced`: what running workers cannot keep stations from."""
    return [_station(line, station, unenforced) for station in line.stations]


def _station(line: Line, station: Station, unenforced: Unenforced) -> StationWords:
    rules = [rule_words(line, number, rule) for number, rule in enumerate(station.rules, start=1)]
    limits = station.limits
    facts: list[tuple[str, Any]] = [
        (_("Expected duration"), limits.expected),
        (_("Timeout"), limits.max_timeout),
        (_("No-output timeout"), limits.idle_timeout),
    ]
    return StationWords(
        station.key,
        station.name,
        station.kind,
        _(KINDS[station.kind].name) if station.kind in KINDS else station.kind,
        does(station),
        station.kind in KINDS and KINDS[station.kind].says_code,
        rules,
        otherwise(line, station),
        network_words(station, unenforced),
        [(label, value) for label, value in facts if value],
    )


def network_words(station: Station, unenforced: Unenforced) -> str:
    """Of a station that runs programs. Of a published one, whose version tells it."""
    listed = egress_of(station.work.get("network"))
    if listed is not None:
        kind = KINDS.get(station.kind)
        own = kind.hosts(station.work) if kind else ()
        hosts = ", ".join(dict.fromkeys((*own, *listed)))
        if unenforced.hosts:
            where = {"hosts": hosts, "runners": ", ".join(unenforced.hosts)}
            return _("%(hosts)s · not enforced on %(runners)s") % where
        if unenforced.refusing:
            where = {"hosts": hosts, "runners": ", ".join(unenforced.refusing)}
            return _("%(hosts)s · cannot run on %(runners)s, which cannot limit hosts") % where
        return hosts
    if not executes(station.kind):
        return ""
    if says_nothing(station.work):
        return _("Open, because this version was published before stations had no network by default")
    if network_of(station.work) == OPEN:
        return _("Open")
    if unenforced.hosts:
        return _("None · not enforced on %(workers)s") % {"workers": ", ".join(unenforced.hosts)}
    return _("None")


def does(station: Station) -> str:
    """What happens there, in one line."""
    kind = KINDS.get(station.kind)
    if kind is None:
        return station.kind
    said = kind.says(station)
    if not said:
        return _(kind.silent) if kind.silent else ""
    return _(kind.said_as) % {"said": said} if kind.said_as else said


def rule_words(line: Line, number: int, rule: Rule) -> RuleWords:
    limits = []
    if rule.max_retries is not None:
        words = ngettext("at most %(n)s time", "at most %(n)s times", rule.max_retries)
        limits.append(words % {"n": rule.max_retries})
    if rule.max_visits is not None:
        limits.append(_("at most %(n)s entries of the target") % {"n": rule.max_visits})
    if rule.exhausted_to:
        limits.append(_("then to %(target)s") % {"target": target_name(line, rule.exhausted_to)})
    elif rule.on_exhausted:
        limits.append(_("then %(what)s") % {"what": policy_words(line, rule.on_exhausted)})
    return RuleWords(
        number,
        rule.id,
        rule.label or _("Rule %(number)s") % {"number": number},
        bool(rule.label),
        leaves(rule.when, called=partial(station_name, line)),
        ", ".join(target_name(line, key) for key in rule.to),
        [gate_name(line, key) for key in rule.gates],
        limits,
        str(rule.fault) if rule.fault else "",
    )


def otherwise(line: Line, station: Station) -> str:
    """What the policy does where no rule matches (law §4)."""
    policy = line.policy
    passed = policy.no_match if station.rules else policy.no_rules
    following = line.next_station(station.key)
    words = {
        "passed": _next(line, str(passed), following.name if following else ""),
        "failed": policy_words(line, str(policy.on_failure)),
    }
    return _("No rule matched → %(passed)s · station failed → %(failed)s") % words


def _next(line: Line, knob: str, name: str) -> str:
    if knob in ("default", "advance"):
        return _("on to %(station)s") % {"station": name} if name else _("the task is completed")
    return policy_words(line, knob)


@dataclass(frozen=True, slots=True)
class InputWords:
    """A field of the start form. `asks`: its type, and whether it must be filled in."""

    name: str
    help: str
    asks: str


def inputs_of(line: Line) -> list[InputWords]:
    return [
        InputWords(
            each.label or each.key,
            each.help,
            " · ".join(filter(None, (_(TYPES[each.type]), _("required") if each.required else ""))),
        )
        for each in line.inputs
    ]


def gates_of(line: Line) -> list[GateWords]:
    return [_gate(line, gate) for gate in line.gates]


MODES = {
    "auto": lambda: _("Checks only"),
    "manual": lambda: _("Always a person"),
    "checks_then_manual": lambda: _("Checks, then a person"),
    "skip": lambda: _("Passed, and recorded"),
}


def _gate(line: Line, gate: Gate) -> GateWords:
    facts = [MODES.get(gate.mode, lambda: gate.mode)()]
    if not gate.approval.requester_may:
        facts.append(_("not the requester"))
    if not gate.approval.producer_may:
        facts.append(_("not the producer"))
    return GateWords(gate, ", ".join(_who(line, each) for each in gate.approval.who), facts)


def _who(line: Line, need: Requirement) -> str:
    words = {"n": need.count, "name": need.name}
    if need.kind == "user":
        return need.name
    if need.kind == OWNER:
        return _("owner of %(station)s") % {"station": line.station(need.name).name}
    if need.everyone:
        of_group = _("all of the group %(name)s") % words
        return of_group if need.kind == "group" else _("every %(name)s") % words
    if need.kind == "group":
        return _("%(n)s of the group %(name)s") % words
    return _("%(n)s %(name)s") % words
