"""A walk in words: the stations it goes through, with what is said on the way where that is not simply an outcome."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pipelines.routing.basics.jsontext import dumps
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.basics.wording import joined
from pipelines.routing.decide.decisions import Finish, Move
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.document.operand_trace import ObservedOperand
from pipelines.routing.sentences.part_names import gate_by_name, place
from pipelines.routing.sentences.part_names import rule as named_rule
from pipelines.routing.simulate.drawn_moves import DrawnMove, drawn_moves
from pipelines.routing.simulate.run import run_scenario
from pipelines.routing.simulate.scenario import ScenarioScript, ScenarioStep
from pipelines.routing.simulate.state import StepRecord

RESULTS = {"blocked": "blocked", "failure": "failed", "cancelled": "cancelled"}
SIGNALS = {
    "rework": "signals rework",
    "proceed": "signals proceed",
    "abort": "signals abort",
    "hold": "signals that it is complete",
}
WORDS = {
    "approve": "%(gate)s approves",
    "reject": "%(gate)s rejects",
    "send_back": "%(gate)s sends back",
    "rework": "%(gate)s asks for rework",
    "abort": "%(gate)s aborts",
}
LONGEST = 60
"""Characters of a value."""
MOST = 12
"""Places that are told; of a longer walk the first and the last ones."""


def walk_text(line: ParsedLine, steps: Sequence[ScenarioStep]) -> str:
    """“Build (rule 1 of Build with n = 5) → Review (blocked) → Merge”."""
    if not steps:
        return "a task begins there"
    places = list(_place_texts(line, steps))
    if len(places) > MOST:
        places = [*places[: MOST // 2], "…", *places[-MOST // 2 :]]
    return _("%(path)s", path=joined(places, " → "))


def walk_moves(line: ParsedLine, steps: Sequence[ScenarioStep]) -> tuple[DrawnMove, ...]:
    """Return each move of the walk once, in order."""
    result = run_scenario(line, ScenarioScript("walk", "walk", tuple(steps)))
    return tuple(dict.fromkeys(drawn_moves(line, result.steps)))


def _place_texts(line: ParsedLine, steps: Sequence[ScenarioStep]) -> Iterator[object]:
    result = run_scenario(line, ScenarioScript("walk", "walk", tuple(steps)))
    remark: list[object] = []
    at: object = place(line, line.start)
    # The first record is the start, which no step made.
    records = result.steps[1:]
    # A walk may stop before its last step
    for step, record in zip(steps, records, strict=False):
        remark += _step_remarks(line, step)
        remark += _rule_text(line, record, last=record is records[-1])
        targets: list[object] = [place(line, station) for station in record.entered]
        if isinstance(record.decision, Finish):
            targets.append(place(line, record.decision.end))
        if targets:
            yield _with_remarks(at, remark)
            at, remark = joined(targets, " + "), []
    yield _with_remarks(at, remark)


def _rule_text(line: ParsedLine, record: StepRecord, *, last: bool) -> Iterator[object]:
    """Name a rule with the values that its condition read, and without any the one that breaks the promise."""
    if not isinstance(record.decision, Move | Finish) or record.decision.rule is None:
        return
    rule = named_rule(line, record.decision.rule)
    values = tuple(_values(record.decision))
    if values:
        yield _("rule %(rule)s with %(values)s", rule=rule, values=joined(values, ", "))
    elif last:
        yield _("rule %(rule)s", rule=rule)


def _values(decision: Move | Finish) -> Iterator[str]:
    for entry in decision.trace:
        if entry.step != "rules" or entry.rule != decision.rule or entry.result is not True:
            continue
        for observation in entry.saw:
            if isinstance(observation, ObservedOperand) and observation.operand in ("output", "fact"):
                for value in observation.value:
                    words = dumps(value)
                    yield f"{observation.path} = {words if len(words) <= LONGEST else f'{words[:LONGEST]}…'}"
            elif isinstance(observation, ObservedOperand) and observation.operand in ("eval", "failure_type"):
                yield f"{observation.operand} = {dumps(observation.value)}"


def _with_remarks(at: object, remark: list[object]) -> object:
    return _("%(place)s (%(said)s)", place=at, said=joined(remark, ", ")) if remark else at


def _step_remarks(line: ParsedLine, step: ScenarioStep) -> Iterator[object]:
    signals = step.outcome.get("signals") or ()
    if signals:
        yield SIGNALS.get(signals[0].get("verdict"), "")
    if signals and signals[0].get("verdict") != "proceed":
        return
    if step.outcome.get("result") in RESULTS:
        yield RESULTS[step.outcome["result"]]
    elif step.outcome.get("verdict") == "fail":
        yield RESULTS["failure"]
    for key, word in step.gates.items():
        template = WORDS[word["decision"]]
        yield _(template, gate=gate_by_name(line, key))
