"""A box as one full situation, run through the rules of the very engine before anybody sees it.

Nothing here is believed: what the walk of `decide` says about the situation is what counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from typing import Any

from pipelines.routing.analysis.regions import cells, choices, evals, numbers
from pipelines.routing.analysis.regions.documents import document
from pipelines.routing.analysis.regions.effort import spend
from pipelines.routing.analysis.regions.formulas import EVAL, FAILURE_TYPE, STATUS
from pipelines.routing.analysis.regions.guesses import guesses
from pipelines.routing.analysis.regions.outcomes import Impossible, Unknown
from pipelines.routing.analysis.regions.solver import Box
from pipelines.routing.basics.bounds import Steps
from pipelines.routing.basics.errors import EvaluationFailed
from pipelines.routing.basics.outcome import FORCED, Derived, Outcome, derive
from pipelines.routing.basics.problems import Malformed
from pipelines.routing.basics.values import MISSING
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.decide.decide import decide
from pipelines.routing.decide.decisions import Decision
from pipelines.routing.decide.judging import as_expected
from pipelines.routing.decide.situation import Situation, assumed, read_situation
from pipelines.routing.decide.steps.context import Case, TakenRoute
from pipelines.routing.decide.trace import TestedRules
from pipelines.routing.document.algebra import FactTest, PathTest, holds
from pipelines.routing.document.evaluations import ANSWERS, Evaluation
from pipelines.routing.document.kinds import failed
from pipelines.routing.document.model import SIGNAL_RETRIES, Line
from pipelines.routing.document.rules import Rule
from pipelines.routing.document.stations import Station

BLOCKED = ("blocked", "blocked")
EXHAUSTED = ("blocked", "fail")
"""Of a blocked outcome whose `rework` signals are exhausted: the signal comes before step 4 (law §5)."""

_ORDER = (
    ("success", "pass"),
    ("failure", "fail"),
    ("cancelled", "fail"),
    ("success", "fail"),
    ("failure", "pass"),
    ("cancelled", "pass"),
    BLOCKED,
    EXHAUSTED,
)
MOST_OBSERVED = 12
DECISION, DECISION_RULE, ANSWER, WALKED_PATH = 100, 20, 20, 20
"""What running `decide` costs, each rule that it may have to test, each answer that it reads, and each operand whose
path has to be walked: one with `$`, which may have wildcards and filters."""


@dataclass(frozen=True, slots=True)
class Witness:
    """A situation, as `decide` reads it, and what it decides."""

    situation: dict[str, Any]
    decision: dict[str, Any]
    rule: str | None

    def to_dict(self) -> dict[str, Any]:
        return {"situation": self.situation, "decision": self.decision}


def witness(
    line: Line, station: Station, box: Box, gates: dict[str, Any] | None = None
) -> list[dict[str, Any]]:
    """Situations that lie in the box, the likeliest first. Raises Impossible or Unknown."""
    read = [*_base(line), *((v[1], d) for v, d in box.items() if v[0] == "cell")]
    places: dict[Any, Any] = {}
    for place, cell in read:
        places[place] = places[place].meet(cell) if place in places else cell
    output = document(places)
    facts = _facts(line, station, box, gates or {})
    outcome = _outcome(box, station.kind)
    met = assumed(line, station.key, outcome)
    if met:
        facts["preconditions"] = met
    if outcome.get("signals"):
        limit = station.limits.max_retries
        facts["signal_reworks"] = SIGNAL_RETRIES if limit is None else limit
    free = [(v[1].test, next(iter(d.only))) for v, d in box.items() if v[0] == "opaque" and d.only]
    found = []
    for seen in _observed(box, [each for each in free if isinstance(each[0], FactTest)]):
        others = {"observed": seen["stations"]} if seen.get("stations") else {}
        own = {group: members for group, members in seen.items() if group != "stations"}
        said = {**outcome, "facts": own} if own else outcome
        for value in guesses(output, [each for each in free if not isinstance(each[0], FactTest)]):
            whole = as_expected(station, said if value is MISSING else {**said, "output": value})
            known = {**facts, **others}
            found.append({"station": station.key, "outcome": whole, **({"facts": known} if known else {})})
    return found


def _observed(box: Box, free: list[tuple[PathTest, bool]]) -> Iterator[Any]:
    """What Gateline may have observed, as an outcome says it. A try that no outcome may say is left out by who reads
    it."""
    places = {variable[1]: cell for variable, cell in box.items() if variable[0] == "fact"}
    if not places and not free:
        return iter(({},))
    return islice(guesses(document({(): cells.OBJECTS, **places}), free), MOST_OBSERVED)


def _base(line: Line) -> list[tuple[Any, Any]]:
    """In scope `merged` there is always an object; else a document need not be."""
    return [((), cells.OBJECTS)] if line.policy.condition_scope == "merged" else []


def _outcome(box: Box, kind_of_work: str) -> dict[str, Any]:
    pair = next(pair for pair in _ORDER if box[STATUS].holds(pair))
    said: dict[str, Any] = {"result": pair[0]}
    if pair == EXHAUSTED:
        said["signals"] = [{"verdict": "rework"}]
    usual = _usual(pair[0], kind_of_work)
    if pair[1] != usual.verdict and pair != EXHAUSTED:
        said["verdict"] = pair[1]
    wanted = box.get(EVAL, evals.ANY)
    if pair != BLOCKED and not wanted.holds(usual.eval):
        said["eval"] = wanted.sample()
    kind = box.get(FAILURE_TYPE, choices.ANY)
    if not kind.holds(None):
        said["failure_type"] = _chosen(kind)
    return said


@lru_cache(maxsize=200)
def _usual(result: str, kind_of_work: str) -> Derived:
    """What follows where an outcome says nothing but its result."""
    return derive(Outcome(result=result), failed(kind_of_work))


def _chosen(allowed: choices.ValueChoice) -> str:
    if allowed.only is not None:
        return min(value for value in allowed.only if value is not None)
    return next(word for i in range(len(allowed.but) + 1) if allowed.holds(word := f"other{i or ''}"))


def _facts(line: Line, station: Station, box: Box, gates: dict[str, Any]) -> dict[str, Any]:
    edges = {v[1]: _least(d) for v, d in box.items() if v[0] == "edge"}
    edges = {edge: taken for edge, taken in edges.items() if taken}
    asked = [*station.evaluations, *(_tools_of(line, station) if line.gates else ())]
    answers = [{**each.to_dict(), "answer": _answer(box, each)} for each in asked]
    passed = {**({station.gate: {"decision": "approve"}} if station.gate else {}), **gates}
    facts = {"edges": edges, "answers": answers, "gates": passed}
    return {key: value for key, value in facts.items() if value}


def _least(taken: numbers.NumberSet) -> int:
    counts = [interval.low for interval in taken.intervals if interval.low is not None and interval.low > 0]
    if taken.holds(0):
        return 0
    if not counts:
        raise Impossible
    return int(min(counts))


def _tools_of(line: Line, station: Station) -> list[Evaluation]:
    keys = dict.fromkeys((station.gate, *(key for rule in station.rules for key in rule.gates)))
    gates = [line.gates_by_key[key] for key in keys if key in line.gates_by_key]
    return [gate.tool.question(gate.key) for gate in gates if gate.tool is not None and gate.runs_its_tool]


def _answer(box: Box, evaluation: Evaluation) -> str:
    """The one that the box wants; any other evaluation is answered, too, so that nothing has to be asked."""
    wanted = box.get(("answer", evaluation.key))
    return min(wanted.only) if wanted else ANSWERS[evaluation.kind][0]


@dataclass(frozen=True, slots=True)
class TestedSituation:
    """What `decide` said of a situation; `tested`: the rules in the order tested, with what came out."""

    decision: Decision
    situation: dict[str, Any]
    tested: tuple[tuple[str, bool | str], ...]

    @property
    def matches(self) -> tuple[str, ...]:
        return tuple(rule for rule, result in self.tested if result is True)

    @property
    def at_first(self) -> tuple[tuple[str, bool | str], ...]:
        """What came out the first time that rules were tested: until one was true."""
        for at, (_rule, result) in enumerate(self.tested, 1):
            if result is True:
                return self.tested[:at]
        return self.tested

    def none_of(self, rules: tuple[Rule, ...]) -> bool:
        """Whether the first walk through the rules tested all of them, and none was true."""
        for (tested, result), rule in zip(self.tested, rules, strict=False):
            if result is not False or tested != rule.id:
                return False
        return len(self.tested) >= len(rules)

    def is_true_of(self, rule: Rule) -> bool:
        """Whether the rule's condition is true when rules are first tested."""
        first = next((part for part in self.decision.trace.parts if isinstance(part, TestedRules)), None)
        if first is None:
            return False
        first.view.steps = Steps(again=True)
        try:
            return rule.test(first.view)
        except EvaluationFailed:
            return False

    def to_witness(self) -> Witness:
        return Witness(self.situation, self.decision.plain(), self.matches[0] if self.matches else None)


def walked(line: Line, given: dict[str, Any], situation: Situation) -> TestedSituation:
    decision = decide(line, situation)
    return TestedSituation(decision, given, decision.trace.tested)


def first_walk(
    line: Line,
    found: list[dict[str, Any]],
    wanted: Rule | None,
    after: Rule | None = None,
    also: Rule | None = None,
) -> TestedSituation:
    """The first situation that `decide` takes as claimed. Raises Unknown.

    `wanted` is the match, or None: no rule is. `after`: the rule that was taken first, until its gate demanded
    rework. `also`: a rule whose condition is true, too, when rules are first tested.
    """
    for given, situation in _read(found):
        if also is not None and not _are_true(line, situation, (also,)):
            continue
        station = line.station(situation.station)
        spend(DECISION_RULE * len(station.rules) + WALKED_PATH * station.walked_paths)
        for of in (line,) if station.gate is None else (line, _without_station_gate(line, station)):
            walk = walked(of, given, situation)
            if _is_as_claimed(walk, station.rules, wanted, after):
                return walk
    raise Unknown(
        _("no situation was found that `decide` takes so (a path with wildcards or filters, or a gate)")
    )


def shown(line: Line, found: list[dict[str, Any]], rules: tuple[Rule, ...]) -> None:
    """Of one of the situations each rule's condition is true when it is first tested. Raises Unknown."""
    if not any(_are_true(line, situation, rules) for _, situation in _read(found)):
        raise Unknown(_("no situation was found that is true of both (a path with wildcards or filters)"))


def _read(found: list[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], Situation]]:
    """Without those that are nested deeper than an outcome may be."""
    for given in found:
        spend(DECISION + ANSWER * len(given.get("facts", {}).get("answers", ())))
        try:
            situation = read_situation(given)
        except Malformed:
            continue
        yield given, situation


def _are_true(line: Line, situation: Situation, rules: tuple[Rule, ...]) -> bool:
    case = Case(line, situation)
    seen = case.recorded
    if situation.outcome.signals:
        seen = seen.with_verdict("fail")
    elif seen.standing == "blocked":
        seen = FORCED["blocked"]
    view = case.view(TakenRoute(seen))
    try:
        return all(holds(rule.when, view) for rule in rules)
    except EvaluationFailed:
        return False


def position(rules: tuple[Rule, ...], wanted: Rule) -> int:
    """By id: rules are long to compare. Raises ValueError."""
    for index, rule in enumerate(rules):
        if rule.id == wanted.id:
            return index
    raise ValueError(wanted.id)


def _is_as_claimed(
    walk: TestedSituation, rules: tuple[Rule, ...], wanted: Rule | None, after: Rule | None
) -> bool:
    if wanted is None:
        return walk.none_of(rules)
    before = rules[: position(rules, after or wanted)]
    first = walk.none_of(before) and len(walk.tested) > len(before)
    if not first or walk.tested[len(before)] != ((after or wanted).id, True):
        return False
    return after is None or walk.matches[1:2] == (wanted.id,)


def _without_station_gate(line: Line, station: Station) -> Line:
    """The same rules behind an open gate: its checks are no matter of the rules."""
    ungated = replace(station, gate=None)
    return replace(line, stations=tuple(ungated if s is station else s for s in line.stations))
