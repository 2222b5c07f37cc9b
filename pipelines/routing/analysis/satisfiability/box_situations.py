"""A box written down as full situations, the likeliest first. Nobody is believed to have said a word at a gate: which
gates ask, and what is said there, comes out when the situation is decided."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import Any

from pipelines.routing.analysis.satisfiability import cells, choices, evals, numbers
from pipelines.routing.analysis.satisfiability.cells import Cell
from pipelines.routing.analysis.satisfiability.document_guesses import guess_documents
from pipelines.routing.analysis.satisfiability.documents import Place, build_document
from pipelines.routing.analysis.satisfiability.formulas import FAILURE_TYPE, STATUS
from pipelines.routing.analysis.satisfiability.recorded_fields import (
    BLOCKERS,
    EXIT_CODE,
    RUN,
    SIGNAL,
    TYPE_TEXT,
    UNFORCED,
    WORD,
    RecordedFields,
)
from pipelines.routing.analysis.satisfiability.search_failures import Impossible, Unknown
from pipelines.routing.analysis.satisfiability.solver import Box
from pipelines.routing.analysis.satisfiability.statuses import BLOCKED, EXHAUSTED
from pipelines.routing.basics.outcome import DerivedOutcome, Outcome, derived_outcome
from pipelines.routing.basics.values import MISSING
from pipelines.routing.decide.outcome_judgement import outcome_with_expected_artifacts
from pipelines.routing.decide.sampling import NOT_DRAWN
from pipelines.routing.decide.situation import assumed_preconditions
from pipelines.routing.document.algebra import FactTest, PathTest
from pipelines.routing.document.evaluations import ANSWERS, Evaluation
from pipelines.routing.document.kinds import failure_eval
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.document.stations import Station

_ORDER = (
    ("success", "pass"),
    ("failure", "fail"),
    ("cancelled", "fail"),
    ("success", "fail"),
    ("failure", "pass"),
    ("cancelled", "pass"),
    BLOCKED,
    EXHAUSTED,
    ("blocked", "pass"),
    ("success", "blocked"),
    ("failure", "blocked"),
    ("cancelled", "blocked"),
)
MOST_OBSERVED = 12
MOST_BLOCKERS = 40


def build_situations(
    line: ParsedLine,
    station: Station,
    box: Box,
    fields: RecordedFields = UNFORCED,
    *,
    apart: bool = False,
    origin: str | None = None,
) -> list[dict[str, Any]]:
    """Situations that lie in the box, the likeliest first. `fields`: where the box has what was recorded; `apart`:
    whether the context has a document of its own in it; `origin`: the station that brought the task here. Raises
    Impossible or Unknown."""
    output = build_document(_cells_by_place(box, "cell", [] if apart else _document_base(line)))
    facts = {**_box_facts(line, station, box), **({"origin": origin} if origin else {})}
    outcome = _box_outcome(box, station.kind, fields)
    preconditions = assumed_preconditions(line, station.key, outcome)
    if preconditions:
        facts["preconditions"] = preconditions
    if any(signal["verdict"] == "rework" for signal in outcome.get("signals", ())):
        # All that are allowed, so that this signal is one too many (law §5, step 3)
        facts["signal_reworks"] = station.limits.signal_retries
    free = [(v[1].test, next(iter(d.only))) for v, d in box.items() if v[0] == "opaque" and d.only]
    written = []
    for observation in _observed_facts(box, [entry for entry in free if isinstance(entry[0], FactTest)]):
        others = {"observed": observation["stations"]} if observation.get("stations") else {}
        own = {group: members for group, members in observation.items() if group != "stations"}
        reported = {**outcome, "facts": own} if own else outcome
        for value in guess_documents(output, [entry for entry in free if not isinstance(entry[0], FactTest)]):
            full_outcome = outcome_with_expected_artifacts(
                station, reported if value is MISSING else {**reported, "output": value}
            )
            known = {**facts, **others}
            written.append(
                {"station": station.key, "outcome": full_outcome, **({"facts": known} if known else {})}
            )
    return written


def _document_base(line: ParsedLine) -> list[tuple[Place, Cell]]:
    """Base of the document: in scope `merged` there is always an object; else a document need not be."""
    return [((), cells.OBJECTS)] if line.policy.condition_scope == "merged" else []


def _cells_by_place(box: Box, family: str, base: list[tuple[Place, Cell]]) -> dict[Place, Cell]:
    places: dict[Place, Cell] = {}
    for place, cell in [
        *base,
        *((variable[1], domain) for variable, domain in box.items() if variable[0] == family),
    ]:
        places[place] = places[place].intersection(cell) if place in places else cell
    return places


def _build_family_document(box: Box, family: str) -> dict[str, Any]:
    """An object of its own, as far as the box says anything of it. Raises Impossible or Unknown."""
    places = _cells_by_place(box, family, [])
    built: dict[str, Any] = build_document({(): cells.OBJECTS, **places}) if places else {}
    return built


def _observed_facts(box: Box, free: list[tuple[PathTest, bool]]) -> Iterator[Any]:
    """Facts that Gateline may have observed, as an outcome says them. Whoever reads them leaves out what no outcome may
    say."""
    places = {variable[1]: cell for variable, cell in box.items() if variable[0] == "fact"}
    if not places and not free:
        return iter(({},))
    return islice(guess_documents(build_document({(): cells.OBJECTS, **places}), free), MOST_OBSERVED)


# The outcome


def _box_outcome(box: Box, kind_of_work: str, fields: RecordedFields) -> dict[str, Any]:
    pair = _likeliest_result_and_verdict(box, fields)
    outcome: dict[str, Any] = {"result": pair[0]}
    # Only a used-up `rework` signal makes the rules see blocked with the verdict fail.
    exhausted = pair == EXHAUSTED and fields.status == STATUS
    signal = "rework" if exhausted else _required_signal_or_none(box)
    if signal:
        outcome["signals"] = [{"verdict": signal}]
    usual = _derived_defaults(pair[0], kind_of_work)
    if pair[1] != usual.verdict and not exhausted:
        outcome["verdict"] = pair[1]
    allowed = box.get(fields.eval, evals.ANY)
    forced = fields.status == STATUS and pair == BLOCKED
    if not forced and not allowed.contains(usual.eval):
        outcome["eval"] = allowed.sample_text()
    kind = box.get(FAILURE_TYPE, choices.ANY)
    if not kind.contains(None):
        outcome["failure_type"] = _allowed_failure_type(kind, box)
    return {**outcome, **_outcome_parts_only_checks_read(box)}


def _likeliest_result_and_verdict(box: Box, fields: RecordedFields) -> tuple[str, str]:
    """Result and verdict as recorded."""
    allowed = box.get(fields.status, choices.ANY)
    blocked = fields.status != STATUS and box[STATUS].contains(BLOCKED)
    # Where the rules see a blocked outcome, most likely a blocked one was recorded.
    order = sorted(_ORDER, key=lambda pair: "blocked" not in pair) if blocked else _ORDER
    return next(pair for pair in order if allowed.contains(pair))


def _required_signal_or_none(box: Box) -> str | None:
    """The verdict of the signal, if there has to be one."""
    allowed = box.get(SIGNAL, choices.ANY)
    return next((word for word in (None, "rework", "proceed") if allowed.contains(word)), None)


@lru_cache(maxsize=200)
def _derived_defaults(result: str, kind_of_work: str) -> DerivedOutcome:
    """Values that follow where an outcome says nothing but its result."""
    return derived_outcome(Outcome(result=result), failure_eval(kind_of_work))


def _allowed_failure_type(allowed: choices.ValueChoice, box: Box) -> str:
    if allowed.only is not None:
        return min(value for value in allowed.only if value is not None)
    text = box.get(TYPE_TEXT)
    if text is not None:
        for word in text.samples(len(allowed.but) + 1):
            if allowed.contains(word):
                return str(word)
        raise Unknown("a failure type has to be a text that could not be written")
    return next(word for i in range(len(allowed.but) + 1) if allowed.contains(word := f"other{i or ''}"))


def _outcome_parts_only_checks_read(box: Box) -> dict[str, Any]:
    """Parts of an outcome that only checks read."""
    exit_code, blockers = _likely_integer_or_none(box, EXIT_CODE), _likely_integer_or_none(box, BLOCKERS)
    if blockers is not None and blockers > MOST_BLOCKERS:
        raise Unknown("more blockers than are written down")
    parts = {
        "exit_code": exit_code,
        "blockers": ["A blocker."] * (blockers or 0),
        "usage": _build_family_document(box, "usage"),
        "git": _build_family_document(box, "git"),
    }
    return {key: value for key, value in parts.items() if value not in (None, [], {})}


def _likely_integer_or_none(box: Box, variable: tuple[Any, ...], usual: int = 0) -> int | None:
    """A whole number, if one has to be there. `usual`: the least that is likely."""
    cell = box.get(variable)
    if cell is None or cell.missing:
        return None
    integers = [int(number) for number in cell.numbers.samples() if number == int(number)]
    if integers:
        return next((number for number in integers if number >= usual), integers[0])
    raise Unknown("a whole number between two others could not be written")


# The facts


def _box_facts(line: ParsedLine, station: Station, box: Box) -> dict[str, Any]:
    edges = {v[1]: _least_count(d) for v, d in box.items() if v[0] == "edge"}
    edges = {edge: count for edge, count in edges.items() if count}
    evaluations = [*station.evaluations, *(_tool_evaluations(line, station) if line.gates else ())]
    answers = [
        {**evaluation.to_dict(), "answer": _evaluation_answer(box, evaluation)} for evaluation in evaluations
    ]
    run = _likely_integer_or_none(box, RUN, usual=1)
    facts = {
        "edges": edges,
        "answers": answers,
        "visits": {station.key: run} if run is not None and run != 1 else {},
        "words": _earlier_votes_by_gate(box),
        "samples": _undrawn_sample_or_empty(line, station, box),
        **_family_documents(box),
    }
    return {key: value for key, value in facts.items() if value}


def _family_documents(box: Box) -> dict[str, Any]:
    families = {"context": "context", "task": "task", "inputs": "input", "variables": "variables"}
    there = {variable[0] for variable in box}
    return {key: _build_family_document(box, family) for key, family in families.items() if family in there}


def _earlier_votes_by_gate(box: Box) -> dict[str, str]:
    """The last words at gates, said on an earlier visit."""
    words = {}
    for variable, allowed in box.items():
        if variable[:2] == ("word", "") and not allowed.contains(None):
            words[variable[2]] = min(allowed.only)
    return words


def _undrawn_sample_or_empty(line: ParsedLine, station: Station, box: Box) -> dict[str, str]:
    """Draws: where nobody can approve at the gate of the station, only a task that was not drawn passes it."""
    gate = line.gate(station.gate) if station.gate else None
    if gate is None or gate.sample is None or "approve" in gate.offers or WORD in box:
        return {}
    return {gate.key: NOT_DRAWN}


def _least_count(number_set: numbers.NumberSet) -> int:
    counts = [
        interval.low for interval in number_set.intervals if interval.low is not None and interval.low > 0
    ]
    if number_set.contains(0):
        return 0
    if not counts:
        raise Impossible
    return int(min(counts))


def _tool_evaluations(line: ParsedLine, station: Station) -> list[Evaluation]:
    keys = dict.fromkeys((station.gate, *(key for rule in station.rules for key in rule.gates)))
    gates = [line.gates_by_key[key] for key in keys if key in line.gates_by_key]
    return [gate.tool.question(gate.key) for gate in gates if gate.tool is not None and gate.runs_its_tool]


def _evaluation_answer(box: Box, evaluation: Evaluation) -> str:
    """The one that the box wants; any other evaluation is answered, too, so that nothing has to be asked."""
    allowed = box.get(("answer", evaluation.key))
    return min(allowed.only) if allowed else ANSWERS[evaluation.kind][0]
