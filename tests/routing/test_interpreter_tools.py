"""Gates with a tool read twice: `decide`, and the interpreter that knows only the sentences."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest

from pipelines.routing.decide.decide import decide
from pipelines.routing.decide.situation import read_situation
from pipelines.routing.document.line import read_line
from tests.routing.interpreter import decide as second_reading
from tests.routing.interpreter.generator import case
from tests.routing.test_interpreter_agrees import plain

Json = dict[str, Any]
BLOCK = 150
WORDS = ("pass", "pass", "warn", "fail", "fail", "unanswered")


def tooled(seed: int) -> tuple[Json, Json]:
    """A drawn case in which gates have tools, most of which have run."""
    random = Random(seed)
    document, situation = case(seed)
    document["gates"] = [*(document.get("gates") or []), {"key": "tooled", "mode": "auto"}]
    [here] = [each for each in document["stations"] if each["key"] == situation["station"]]
    for rule in here.get("rules") or []:
        if random.random() < 0.5:
            rule["gates"] = [*(rule.get("gates") or []), "tooled"]
    for gate in document["gates"]:
        if random.random() < 0.7:
            tool: Json = {
                "argv": ["check", gate["key"]],
                "action": random.choice(["rework", "rework", "hold", "abort"]),
            }
            tool |= {"enabled": False} if random.random() < 0.1 else {}
            tool |= {"approve_warnings": True} if random.random() < 0.3 else {}
            gate["tool"] = tool
    line = read_line(document, keep_faulty_rules=True)
    questions = [gate.tool.question(gate.key).to_dict() for gate in line.gates if gate.tool]
    results = [
        {**question, "answer": random.choice(WORDS)}
        | ({"text": "It is red."} if random.random() < 0.6 else {})
        for question in questions
        if random.random() < 0.8
    ]
    facts = situation["facts"]
    facts["answers"] = [*(facts.get("answers") or []), *results]
    return document, situation


def first_reading(document: Json, situation: Json) -> Json:
    decision = plain(decide(read_line(document, keep_faulty_rules=True), read_situation(situation)).to_dict())
    asked = decision.get("evaluation") or {}
    if "tool" in asked:  # what is asked is the whole tool; which one it is, its gate says
        decision["evaluation"] = {"tool": {"gate": asked["tool"]["gate"]}}
    return decision


@pytest.mark.parametrize("block", range(4))
def test_both_readings_decide_alike_where_gates_have_tools(block: int) -> None:
    differing = []
    for seed in range(block * BLOCK, (block + 1) * BLOCK):
        document, situation = tooled(seed)
        first, second = first_reading(document, situation), plain(second_reading(document, situation))
        if first != second:
            differing.append(f"seed {seed}: decide says {first}, the second reading {second}")
    assert differing == []


@pytest.mark.parametrize("first", [("fail", "Red."), ("fail", None), ("warn", "Pale."), ("pass", "Green.")])
@pytest.mark.parametrize("second", [("fail", "Low."), ("fail", None), ("warn", None), ("pass", None)])
def test_both_hand_on_the_same_feedback(
    first: tuple[str, str | None], second: tuple[str, str | None]
) -> None:
    gates = [
        {"key": key, "mode": "auto", "tool": {"argv": [key], "approve_warnings": True}} for key in ("g", "h")
    ]
    rules = [
        {"id": "on", "to": "b", "gates": ["g", "h"]},
        {"id": "mend", "when": {"result": "failure"}, "to": "a"},
    ]
    stations = [{"key": key, "work": {"kind": "noop"}, "rules": rules * (key == "a")} for key in "ab"]
    document = {"gateline": 1, "key": "line", "stations": stations, "gates": gates}
    line = read_line(document)
    answers = [
        {**gate.tool.question(gate.key).to_dict(), "answer": word} | ({"text": text} if text else {})
        for gate, (word, text) in zip(line.gates, (first, second), strict=True)
        if gate.tool
    ]
    situation = {"station": "a", "outcome": {"result": "success"}, "facts": {"answers": answers}}
    decision = first_reading(document, situation)
    assert decision == plain(second_reading(document, situation))
    failed = [text for word, text in (first, second) if word == "fail"]
    assert (decision["rule"] == "mend") == bool(failed)
    assert decision["feedback"] == ("\n".join(filter(None, failed)) or None)


def test_tools_are_asked_and_decide_often_in_what_is_drawn() -> None:
    counted: Counter[str] = Counter()
    for seed in range(4 * BLOCK):
        document, situation = tooled(seed)
        decision = second_reading(document, situation)
        counted["asked"] += "tool" in (decision.get("evaluation") or {})
        without = {**document, "gates": [{**gate, "tool": None} for gate in document["gates"]]}
        counted["decided otherwise than without"] += second_reading(without, situation) != decision
    assert counted["asked"] >= 15
    assert counted["decided otherwise than without"] >= 25
