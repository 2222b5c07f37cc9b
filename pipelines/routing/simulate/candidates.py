"""Candidates for the next step of a token: outcomes with a witness, votes at gates, answers to evaluations."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import islice, product
from typing import Any, Protocol

from pipelines.routing.analysis.lint.station_analysis import StationAnalysis
from pipelines.routing.analysis.satisfiability.situations import Witness
from pipelines.routing.analysis.satisfiability.statuses import STANDINGS
from pipelines.routing.basics import jsontext
from pipelines.routing.basics.facts import GROUPS
from pipelines.routing.decide.check_fields import ALIASES
from pipelines.routing.decide.decisions import Wait
from pipelines.routing.document.algebra import FactTest, condition_leaf_tests
from pipelines.routing.document.checks import Check
from pipelines.routing.document.evaluations import ANSWERS
from pipelines.routing.document.gates import Gate
from pipelines.routing.document.inputs import Input
from pipelines.routing.document.kinds import KINDS
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.document.stations import Station
from pipelines.routing.simulate.scenario import ScenarioStep
from pipelines.routing.simulate.state import BLOCKED, READY, REVIEW, SimulatedPosition

REASON = "Scripted."
CHOOSES = "reviewer_chooses"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A step, and the rule whose witness it is, if it is one's."""

    step: ScenarioStep
    rule: str | None = None


class StationAnalyser(Protocol):
    """Knows the analysis of each station: a whole Subject, or who makes it for one station at a time."""

    def analysis(self, station: Station) -> StationAnalysis: ...


class Candidates:
    """Candidates of one line; the outcomes of a station are computed when it is first reached."""

    def __init__(self, line: ParsedLine, subject: StationAnalyser) -> None:
        self._line = line
        self._subject = subject
        self._outcomes: dict[str, tuple[Candidate, ...]] = {}

    def candidates_at(self, position: SimulatedPosition) -> Iterator[Candidate]:
        """Nothing for a token that waits for siblings, is held or stuck, or asked a question: running again leads
        nowhere new."""
        if position.arrival:
            return
        if position.status == READY:
            yield from self._candidates_of_station(position.station)
        elif position.status == REVIEW:
            yield from (Candidate(step) for step in self._vote_steps(position))
        elif position.status == BLOCKED and position.wait.get("evaluation"):
            yield from (Candidate(step) for step in possible_answer_steps(position.wait["evaluation"]))

    def _candidates_of_station(self, key: str) -> tuple[Candidate, ...]:
        if key not in self._outcomes:
            station = self._line.station(key)
            candidates = [
                candidate
                for c in _outcome_candidates(self._line, station, self._subject)
                for candidate in _reportable_candidates(station, c)
            ]
            first: dict[str, Candidate] = {}
            for candidate in candidates:
                # Several witnesses may say the same outcome: it stays that of the first rule.
                first.setdefault(jsontext.dumps(candidate.step.to_dict()), candidate)
            self._outcomes[key] = tuple(first.values())
        return self._outcomes[key]

    def _vote_steps(self, position: SimulatedPosition) -> Iterator[ScenarioStep]:
        """Approve everything that is open, or one word against at one gate. Sending back leads nowhere new."""
        open_review = position.asked
        assert open_review is not None and isinstance(open_review.decision, Wait)
        keys = [key for key in open_review.decision.gates if key not in open_review.words]
        yield ScenarioStep("gates", gates={key: {"decision": "approve"} for key in keys})
        for key in keys:
            gate = self._line.gate(key)
            if "rework" in gate.offers:
                yield ScenarioStep("gates", gates={key: {"decision": "rework"}})
            if "reject" in gate.offers:
                yield from self._rejecting_vote_steps(gate)

    def _rejecting_vote_steps(self, gate: Gate) -> Iterator[ScenarioStep]:
        word = {"decision": "reject", "reason": REASON}
        if (gate.on_reject or self._line.policy.on_reject) != CHOOSES:
            yield ScenarioStep("gates", gates={gate.key: word})
            return
        for station in self._line.stations:
            yield ScenarioStep("gates", gates={gate.key: {**word, "route": station.key}})


def possible_answer_steps(evaluation: dict[str, Any]) -> Iterator[ScenarioStep]:
    kind = next(iter(evaluation))
    for word in ANSWERS[kind]:
        yield ScenarioStep("answers", answers=({**evaluation, "answer": word},))


def _reportable_candidates(station: Station, candidate: Candidate) -> Iterator[Candidate]:
    """Yield the candidate in the forms that the worker of the station can report."""
    for outcome in reportable_outcomes(station, candidate.step.outcome):
        yield replace(candidate, step=replace(candidate.step, outcome=outcome))


def _outcome_candidates(line: ParsedLine, station: Station, subject: StationAnalyser) -> Iterator[Candidate]:
    """Yield one outcome for each rule, then those that no rule takes; each also as the checks of the gates on
    its way require it."""
    if not station.rules:
        yield Candidate(ScenarioStep("outcome", outcome={"result": "success"}))
    analysis = subject.analysis(station)
    for liveness in analysis.standings:
        if liveness.witness:
            yield from _witness_candidates(
                line, station, liveness.witness, liveness.rule.id, liveness.rule.gates
            )
    for name in STANDINGS:
        rest = analysis.outcomes_no_rule_takes(name)
        if rest and rest.witness:
            yield from _witness_candidates(line, station, rest.witness)


def _witness_candidates(
    line: ParsedLine, station: Station, witness: Witness, rule: str | None = None, gates: tuple[str, ...] = ()
) -> Iterator[Candidate]:
    outcome = to_storable_json(witness.situation["outcome"])
    answers = tuple(witness.situation.get("facts", {}).get("answers", ()))
    keys = [*([station.gate] if station.gate else []), *gates]
    checks = [check for key in keys for check in _checks_if_enforced(line.gate(key))]
    for variant in [
        outcome,
        *([_outcome_with_passing_values(outcome, checks)] if checks else []),
        *_outcomes_with_and_without_zero_counts(line, station, outcome),
    ]:
        yield Candidate(ScenarioStep("outcome", outcome=variant, answers=answers), rule)


def _outcomes_with_and_without_zero_counts(
    line: ParsedLine, station: Station, outcome: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    """Yield the outcome with zeros for the counts that it leaves out and another station reads: a count that was not
    observed is 0 here, and nothing there."""
    facts = outcome.get("facts", {})
    zeros = {
        group: {**dict.fromkeys(names, 0), **facts.get(group, {})}
        for group, names in _counts_read_elsewhere(line, station.key).items()
    }
    if zeros and zeros != {group: facts.get(group) for group in zeros}:
        yield {**outcome, "facts": {**facts, **zeros}}


def _counts_read_elsewhere(line: ParsedLine, key: str) -> dict[str, list[str]]:
    """Return by group the counts of this station that rules of the line read."""
    counts: dict[str, list[str]] = {}
    for condition in (
        leaf
        for station in line.stations
        for rule in station.rules
        for leaf in condition_leaf_tests(rule.when)
    ):
        if not isinstance(condition, FactTest):
            continue
        match condition.path.text.removeprefix("$.").split("."):
            case ["stations", name, group, count] if (
                name == key and GROUPS.get(group, {}).get(count) == "count"
            ):
                counts.setdefault(group, []).append(count)
    return counts


def _checks_if_enforced(gate: Gate) -> list[Check]:
    return list(gate.checks.checks()) if gate.checks is not None and gate.enforces_checks else []


def _outcome_with_passing_values(outcome: dict[str, Any], checks: list[Check]) -> dict[str, Any]:
    """Return the outcome with a value that suits each check, where it does not have that field yet."""
    fitting = dict(outcome)
    for check in checks:
        name = ALIASES.get(check.field, check.field)
        family, _, rest = name.partition(".")
        if family == "output" and rest:
            output = fitting.get("output", {})
            if isinstance(output, dict):
                fitting["output"] = {rest: _passing_value(check), **output}
        elif family == "usage" and rest:
            fitting["usage"] = {rest: _passing_value(check), **fitting.get("usage", {})}
        elif name in ("exit_code", "failure_type", "eval", "verdict") and name not in fitting:
            fitting[name] = _passing_value(check)
    return fitting


def _passing_value(check: Check) -> Any:
    """Return a value for which the check passes, where that is easy to state; `simulate` has the last word."""
    value = check.value
    if check.operator in ("less_than", "greater_than", "not_equals") and isinstance(value, int):
        return value - 1 if check.operator == "less_than" else value + 1
    if check.operator == "in" and isinstance(value, list) and value:
        return value[0]
    if check.operator == "not_equals":
        return f"not {value}"
    return True if check.operator == "exists" and value is None else value


def to_storable_json(value: Any) -> Any:
    """Return the value without numbers that no store of JSON holds: a Decimal becomes the nearest integer or
    double."""
    if isinstance(value, dict):
        return {key: to_storable_json(member) for key, member in value.items()}
    if isinstance(value, list):
        return [to_storable_json(member) for member in value]
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() and value.adjusted() < 300 else float(value)
    return value


# Sample values for required form fields that a scenario does not mention.


TEXT = "made-up"
FILE: Mapping[str, str] = {"name": "made-up.txt", "digest": hashlib.sha256(TEXT.encode()).hexdigest()}
FORMS = 16
"""Ways to fill in one form that are tried."""
_TYPES: Mapping[str, tuple[type, ...]] = {
    "text": (str,),
    "long_text": (str,),
    "number": (int, float),
    "date": (str,),
    "revision": (str,),
}


def sample_input_value(field: Input) -> Any:
    """Return a value for one field without a default, within its bounds; None for a secret, which nobody can
    make up, and for a text that has to match a pattern."""
    if field.type in ("text", "long_text"):
        return None if field.pattern else _shortest_sample_text(field)
    known = {
        "number": _sample_number(field),
        "date": "2026-01-31",
        "choice": next(iter(field.choices), ""),
        "yes_no": True,
        "repository": "https://example.org/made-up.git",
        "file": {**FILE, "name": f"made-up{next(iter(field.accept), '.txt')}"},
        "secret": None,
    }
    return known.get(field.type, TEXT)


def _sample_number(field: Input) -> int:
    least = max(1, field.minimum or 1)
    return least if field.maximum is None else min(least, field.maximum)


def _shortest_sample_text(field: Input) -> str:
    return TEXT.ljust(field.minimum or 0, "-")[: field.maximum]


# Forms


def manual_form_fields(station: Station) -> tuple[Input, ...]:
    """The fields that a person fills in who completes this station."""
    kind = KINDS.get(station.kind)
    return kind.form(station) if kind and not kind.chooses else ()


def reportable_outcomes(station: Station, outcome: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The outcome as a person can report it: with the form of the station filled in, in every choice that it leaves
    open. Nothing where the form does not take it. Who reports no `result: success` need not fill the form in."""
    fields, output = manual_form_fields(station), outcome.get("output", {})
    needless = "output" not in outcome and outcome.get("result") != "success"
    if not fields or needless or not isinstance(output, Mapping):
        yield dict(outcome)
        return
    values = {key: entry for key, entry in output.items() if entry not in (None, "")}
    known = {field.key: field for field in fields}
    if any(key not in known or not _is_entry_allowed(known[key], entry) for key, entry in values.items()):
        return
    yield from _filled_outcomes(fields, values, outcome)
    if not values and outcome.get("result") == "success":
        # For what a form that is filled in never leads to: a verdict alone says the same, and leaves it open.
        rest = {key: entry for key, entry in outcome.items() if key not in ("result", "output")}
        yield {"verdict": "pass", **rest}


def _filled_outcomes(
    fields: Iterable[Input], values: Mapping[str, Any], outcome: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    open_ones = [field for field in fields if field.key not in values]
    ways = product(*(_possible_entries(field) for field in open_ones))
    for way in islice(ways, FORMS):
        filled = {field.key: entry for field, entry in zip(open_ones, way, strict=True) if entry is not None}
        yield {**outcome, "output": {**values, **filled}}


def _possible_entries(field: Input) -> tuple[Any, ...]:
    """Return the possible entries of the field; None: no entry."""
    if field.has_default and field.type != "secret":
        return (field.default,)
    if not field.required:
        return (None,)
    if field.type == "yes_no":
        return (True, False)
    made = sample_input_value(field)
    if made is None:
        return ()
    return field.choices if field.type == "choice" else (made,)


def _is_entry_allowed(field: Input, entry: Any) -> bool:
    if field.type == "choice":
        return entry in field.choices
    if field.type == "yes_no":
        return isinstance(entry, bool)
    return not isinstance(entry, bool) and isinstance(entry, _TYPES.get(field.type, (str, dict)))
