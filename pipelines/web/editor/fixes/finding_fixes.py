"""Remedies for the findings of a line that can be read: one function for each check that has a remedy.

A remedy is offered only where it removes the finding and brings no other error or warning.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from pipelines.routing.analysis.lint.checks import (
    broken_guarantee,
    constant_condition,
    dead_rule,
    default_not_last,
    no_rule_takes,
    no_way_to_an_end,
    rework_below,
    shadowed_gate,
    unawaited_checks,
    unbounded_cycle,
    unfillable_join,
    unjoined_fork,
    unknown_reference,
    unreachable_station,
    unsatisfiable_gate,
)
from pipelines.routing.analysis.lint.finding import ERROR, Finding
from pipelines.routing.analysis.lint.subject import edge_count_tests
from pipelines.routing.analysis.lint.visits import stations_breaking_unbounded_cycles
from pipelines.routing.document.ends import BUILT_IN_ENDS, end_label
from pipelines.routing.document.line import ParsedLine, Rule, Station
from pipelines.routing.sentences.names import gate_name, target_name
from pipelines.web.editor.fixes import check_fixes, edits, guarantee_fixes, join_fixes
from pipelines.web.editor.fixes.remedies import Remedies, Remedy

KEY = re.compile(r"[a-z0-9][a-z0-9_.-]{0,63}\Z")
VISITS = 10
"""A limit that is offered for a cycle: more rounds than people wait for, and far from the cap."""
RETRIES = 3
"""A budget that is offered for a rule that goes back."""
# Each move that is tried costs the analysis of a station.
MAX_MOVES = 3
TAKING: Mapping[str, Mapping[str, Any]] = {
    "passed": {"all": [{"result": "success"}, {"verdict": "pass"}]},
    "failed": {"any": [{"result": ["failure", "cancelled"]}, {"verdict": "fail"}]},
    "blocked": {"any": [{"result": "blocked"}, {"verdict": "blocked"}]},
}
"""Conditions that are true of all outcomes that passed, failed or are blocked (law §2)."""


def safe_remedies_likeliest_first(remedies: Remedies, finding: Finding) -> list[Remedy]:
    """The one to be expected first; none where none is safe."""
    make = BY_CHECK.get(finding.check)
    return list(make(remedies, finding)) if make else []


def _dead_rule_remedies(remedies: Remedies, finding: Finding) -> Iterator[Remedy]:
    station, place = remedies.station_and_place_of_rule(finding)
    tried = [i for i, rule in enumerate(station.rules[:place]) if rule.id in finding.rules]
    # A limit that the rule has already is not replaced.
    free = station.rules[place].max_retries is None
    moves = ((to, limit) for to in tried[:MAX_MOVES] for limit in ((None, RETRIES) if free else (None,)))
    for to, limit in moves:
        what = ("move", str(place), str(to), str(limit or ""))
        if remedies.trials.does_change_remove_finding(station, finding, what, _rule_mover(place, to, limit)):
            yield _move_above_remedy(station, place, to, limit)
            break
    yield from _keep_gate_remedies(remedies, finding, station, place)
    yield from _delete_remedies(remedies, finding)


def _keep_gate_remedies(
    remedies: Remedies, finding: Finding, station: Station, place: int
) -> Iterator[Remedy]:
    """Yield the deletion of a rule that takes everything to the same target past gates of the dead rule."""
    rule = station.rules[place]
    for index, taker in enumerate(station.rules[:place]):
        if (
            taker.id not in finding.rules
            or set(taker.to) != set(rule.to)
            or not set(taker.gates) < set(rule.gates)
        ):
            continue
        if remedies.trials.does_change_remove_finding(
            station, finding, ("delete", str(index)), _rule_remover(index)
        ):
            label = f"Delete rule {index + 1}, keep {_gate_names(remedies.line, rule)}"
            yield Remedy(label, (edits.edit_removing_rule(taker.id),), "delete")
            return


def _rule_remover(place: int) -> Callable[[tuple[Rule, ...]], tuple[Rule, ...]]:
    return lambda rules: (*rules[:place], *rules[place + 1 :])


def _gate_names(line: ParsedLine, rule: Rule) -> str:
    return ", ".join(gate_name(line, key) for key in rule.gates)


def _rule_mover(
    place: int, to: int, limit: int | None = None
) -> Callable[[tuple[Rule, ...]], tuple[Rule, ...]]:
    def rules_with_moved_rule(rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
        others = (*rules[:place], *rules[place + 1 :])
        rule = rules[place] if limit is None else replace(rules[place], max_retries=limit)
        return (*others[:to], rule, *others[to:])

    return rules_with_moved_rule


def _move_above_remedy(station: Station, place: int, to: int, limit: int | None) -> Remedy:
    """`limit`: where the rule, once it is taken, would go round without a budget."""
    rule = station.rules[place].id
    move = edits.edit_moving_rule(rule, station.rules[to].id)
    if limit is None:
        return Remedy(f"Move above {to + 1}", (move,), "arrow-up")
    # Above it would be taken, and go round without a limit
    label = f"Move above {to + 1}, at most {limit} times"
    return Remedy(label, (move, edits.edit_changing_rule(rule, max_retries=limit)), "arrow-up")


def _delete_remedies(remedies: Remedies, finding: Finding) -> Iterator[Remedy]:
    """Yield the deletion of a rule that matches nothing. A station's last rule stays where no rules at all
    mean something else."""
    station, place = remedies.station_and_place_of_rule(finding)
    policy = remedies.line.policy
    gates = _gate_names(remedies.line, station.rules[place])
    # Without any rule another policy would decide here
    if len(station.rules) > 1 or policy.no_rules == policy.no_match:
        label = f"Delete with its gate {gates}" if gates else "Delete"
        yield Remedy(label, (edits.edit_removing_rule(finding.rule or ""),), "delete")


def _constant_condition_remedies(remedies: Remedies, finding: Finding) -> Iterator[Remedy]:
    station, place = remedies.station_and_place_of_rule(finding)
    if finding.severity == ERROR:
        yield from _delete_remedies(remedies, finding)
    elif place == len(station.rules) - 1:
        drop = edits.edit_changing_rule(finding.rule or "", "when")
        yield Remedy("Take whatever is left", (drop,))


def _move_last_remedies(remedies: Remedies, finding: Finding) -> Iterator[Remedy]:
    station, place = remedies.station_and_place_of_rule(finding)
    last = len(station.rules) - 1
    if remedies.trials.does_change_remove_finding(
        station, finding, ("move", str(place), str(last)), _rule_mover(place, last)
    ):
        label = "Move to the end"
        yield Remedy(label, (edits.edit_moving_rule(finding.rule or "", None),), "arrow-down")


def _remedies_adding_last_rule(remedies: Remedies, finding: Finding) -> Iterator[Remedy]:
    if finding.witness is not None:
        station = remedies.line.station(finding.station or "")
        outcomes = outcome_state_of_witness(finding.witness.situation["outcome"])
        remedy = last_rule_remedy_or_none(remedies, station, outcomes)
        if remedy:
            yield remedy


def outcome_state_of_witness(outcome: Mapping[str, Any]) -> str:
    """passed, failed or blocked: a witness says result and verdict."""
    reported = (outcome.get("result", "success"), outcome.get("verdict"))
    if "blocked" in reported:
        return "blocked"
    return "failed" if reported[0] != "success" or reported[1] == "fail" else "passed"


def last_rule_remedy_or_none(remedies: Remedies, station: Station, outcomes: str) -> Remedy | None:
    """A last rule that takes what none takes: what passed goes on, what failed ends, what is blocked waits."""
    following = remedies.line.next_station_or_none(station.key)
    passed = following.key if following else "completed"
    to = {"passed": passed, "failed": "failed", "blocked": "@blocked"}[outcomes]
    # A remedy that makes the rest of the line worse is none
    if not remedies.trials.may_add_transition(station, to):
        return None
    place = following.name if following else end_label(to, "")
    label = {
        "passed": f"Add a rule to {place}",
        "failed": "Add a rule to the end “failed”",
        "blocked": "Add a rule that waits for an answer",
    }[outcomes]
    return Remedy(label, (edits.edit_adding_rule(station.key, _outcome_rule(station, outcomes, to)),), "plus")


def _outcome_rule(station: Station, outcomes: str, to: str) -> dict[str, Any]:
    # Below the 64 characters of an id; on application it is made unique.
    return {"id": f"{station.key}-{outcomes}"[:60], "when": TAKING[outcomes], "to": to}


def _end_rule_remedies(remedies: Remedies, finding: Finding) -> Iterator[Remedy]:
    """Only where something is left that a rule could lead to an end."""
    station = remedies.line.station(finding.station or "")
    for outcomes, end in (("passed", "completed"), ("failed", "failed")):
        rest = remedies.subject.analysis(station).outcomes_no_rule_takes(outcomes)
        if rest is not None and rest.witness is not None:
            label = f"Add a rule to the end “{end}”"
            rule = edits.edit_adding_rule(station.key, _outcome_rule(station, outcomes, end))
            yield Remedy(label, (rule,), "plus")
            return


def _gate_bypass_remedies(remedies: Remedies, finding: Finding) -> Iterator[Remedy]:
    station, rule = remedies.line.rules_by_id[finding.rule or ""]
    other = remedies.line.rules_by_id[finding.rules[0]][1]
    gates = (*other.gates, *(key for key in rule.gates if key not in other.gates))

    def rules_with_gates(rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
        return tuple(
            replace(candidate, gates=gates) if candidate is other else candidate for candidate in rules
        )

    if remedies.trials.does_change_remove_finding(
        station, finding, ("gates", other.id, *gates), rules_with_gates
    ):
        number = station.rules.index(other) + 1
        label = f"Put the gate on rule {number}, too"
        yield Remedy(label, (edits.edit_changing_rule(other.id, gates=list(gates)),), "gate")


def _unreachable_remedies(remedies: Remedies, finding: Finding) -> Iterator[Remedy]:
    key = finding.station or ""
    if key not in _referenced_stations(remedies.line) and len(remedies.line.stations) > 1:
        yield Remedy("Delete the station", (edits.edit_removing_station(key),), "delete")


def _referenced_stations(line: ParsedLine) -> set[str]:
    """Stations that something leads to or speaks of, their own rules aside."""
    knobs = [line.policy.on_failure, line.policy.on_reject, *(gate.on_reject or "" for gate in line.gates)]
    # `station:<key>` and `route:<key>`; other words give an empty text, which is no key.
    referenced = {knob.partition(":")[2] for knob in knobs} | {
        key for pair in line.forbidden_parallel for key in pair
    }
    referenced.add(line.start)
    for station in line.stations:
        referenced.update(station.join.wait_for if station.join else ())
        for rule in station.rules:
            spoken = {*rule.to, rule.exhausted_to or ""}
            # The condition of a faulty rule cannot be read.
            if rule.fault is None:
                spoken |= {key for edge in edge_count_tests(rule.when) for key in (edge.source, edge.target)}
            referenced |= spoken - {station.key}
    return referenced


def _cycle_remedies(remedies: Remedies, finding: Finding) -> Iterator[Remedy]:
    stations = stations_breaking_unbounded_cycles(remedies.subject, finding.station or "")
    if stations:
        limited = [
            edits.edit_changing_station(key, limits=_limits_with_visits(remedies, key)) for key in stations
        ]
        names = ", ".join(remedies.line.station(key).name for key in stations)
        label = f"At most {VISITS} runs of {names}"
        yield Remedy(label, tuple(limited), "loop")


def _limits_with_visits(remedies: Remedies, key: str) -> dict[str, Any]:
    """The limits as they are written, with one more."""
    # From the document: the parsed line has defaults that nobody wrote.
    written = remedies.document["stations"][remedies.line.index_of_station(key)].get("limits") or {}
    return {**written, "max_visits": VISITS}


def _unknown_reference_remedies(remedies: Remedies, finding: Finding) -> Iterator[Remedy]:
    """Yield remedies for a rule that cannot be read; several faults of one rule are left to a person."""
    station, rule = remedies.line.rules_by_id.get(finding.rule or "", (None, None))
    # “… (and 2 more)” is the message of a rule with several faults.
    if station is None or rule is None or rule.fault is None or finding.message.endswith(" more)"):
        return
    # `stations[1].rules[0].gates[2]` gives `gates` and `2]`.
    what, _dot, rest = finding.path.rpartition(f"rules[{station.rules.index(rule)}].")[2].partition("[")
    if what == "to":
        yield from _unknown_target_remedies(remedies.line, rule, int(rest.rstrip("]")) if rest else None)
    elif what == "gates" and rest:
        yield from _unknown_gate_remedies(rule, int(rest.rstrip("]")))


def _unknown_target_remedies(line: ParsedLine, rule: Rule, index: int | None) -> Iterator[Remedy]:
    if index is not None:
        left = [key for i, key in enumerate(rule.to) if i != index]
        if left:
            to = left[0] if len(left) == 1 else left
            name = target_name(line, rule.to[index])
            label = f"Take “{name}” out of the fork"
            yield Remedy(label, (edits.edit_changing_rule(rule.id, to=to),), "x")
        return
    name = rule.to[0] if rule.to else ""
    known = [*line.stations_by_key, *line.ends_by_key]
    # Bounded, as its time grows with the length of the names and their number.
    for near in difflib.get_close_matches(name[:100], known[:500], n=1):
        place = target_name(line, near)
        yield Remedy(f"Lead to {place}", (edits.edit_changing_rule(rule.id, to=near),), "arrow-right")
    if KEY.match(name):
        yield Remedy(f"Add the end “{name}”", (edits.edit_adding_end(_new_end(name)),), "plus")
    yield Remedy("Delete the rule", (edits.edit_removing_rule(rule.id),), "delete")


def _new_end(name: str) -> dict[str, Any]:
    # not-shipped becomes NOT_SHIPPED
    label = re.sub(r"[^A-Z0-9]+", "_", name.upper())
    return {"key": name, "kind": BUILT_IN_ENDS.get(name, "completed"), "label": label}


def _unknown_gate_remedies(rule: Rule, index: int) -> Iterator[Remedy]:
    written = rule.source.get("gates")
    name = written[index] if isinstance(written, list) and index < len(written) else None
    left = [gate_key for i, gate_key in enumerate(written or ()) if i != index]
    without_gate = (
        edits.edit_changing_rule(rule.id, gates=left) if left else edits.edit_changing_rule(rule.id, "gates")
    )
    yield Remedy("Take the gate off the rule", (without_gate,), "x")
    if isinstance(name, str) and KEY.match(name):
        added = edits.edit_adding_gate({"key": name, "name": name.replace("-", " ").capitalize()})
        yield Remedy(f"Add the gate “{name}”", (added,), "plus")


def _offer_approve_remedies(remedies: Remedies, finding: Finding) -> Iterator[Remedy]:
    match = re.fullmatch(r"gates\[(\d+)\]\.offers", finding.path)
    if match:
        gate = remedies.line.gates[int(match[1])]
        offers = ["approve", *gate.offers]
        yield Remedy("Offer approve", (edits.edit_changing_gate(gate.key, offers=offers),), "check")


BY_CHECK: Mapping[str, Callable[[Remedies, Finding], Iterator[Remedy]]] = {
    unknown_reference.ID: _unknown_reference_remedies,
    constant_condition.ID: _constant_condition_remedies,
    dead_rule.ID: _dead_rule_remedies,
    no_way_to_an_end.ID: _end_rule_remedies,
    unsatisfiable_gate.ID: _offer_approve_remedies,
    default_not_last.ID: _move_last_remedies,
    shadowed_gate.ID: _gate_bypass_remedies,
    unreachable_station.ID: _unreachable_remedies,
    unbounded_cycle.ID: _cycle_remedies,
    no_rule_takes.ID: _remedies_adding_last_rule,
    unjoined_fork.ID: join_fixes.unjoined_fork_remedies,
    unfillable_join.ID: join_fixes.unfillable_join_remedies,
    rework_below.ID: join_fixes.rework_remedies,
    unawaited_checks.ID: check_fixes.push_and_wait_remedies,
    broken_guarantee.ID: guarantee_fixes.refuted_guarantee_remedies,
}
