"""What is wrong with budgets, escalations, requirements, handoffs and tools of a document: place, words and remedy."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.routing.document.line import DocumentError, read_line
from tests.routing.support import document

RULES = {"rules": [{"id": "on", "to": "b"}]}


def budget(**said: Any) -> dict[str, Any]:
    return document(RULES, {}, budgets=[{"key": "k", "most": 1, **said}])


def escalation(**said: Any) -> dict[str, Any]:
    return document(RULES, {}, escalations=[{"trigger": "no_match", "role": "cto", **said}])


def station(**said: Any) -> dict[str, Any]:
    return document({**RULES, **said}, {})


def tool(**said: Any) -> dict[str, Any]:
    return document(RULES, {}, gates=[{"key": "g", "tool": {"argv": ["x"], **said}}])


WRONG: list[tuple[dict[str, Any], str]] = [
    (
        budget(),
        "budgets[0].kind: is missing (known: rules, edges, station, failure_type, same_stage, cross_stage, "
        "restart, loop)",
    ),
    (budget(kind="rule", rules=["on"]), "budgets[0].kind: “rule” is not known (did you mean rules?)"),
    (budget(kind="rules"), "budgets[0].rules: a budget of kind rules names some"),
    (budget(kind="edges"), "budgets[0].edges: a budget of kind edges names some"),
    (
        budget(kind="rules", rules=["onn"]),
        "budgets[0].rules[0]: the line has no rule “onn” (did you mean on?)",
    ),
    (
        budget(kind="station", stations=["z"]),
        "budgets[0].stations[0]: the line has no station “z” (known: a, b)",
    ),
    (budget(kind="edges", edges=["a-b"]), "budgets[0].edges[0]: “a-b” is no edge (write it as from->to)"),
    (
        budget(kind="edges", edges=["z->a"]),
        "budgets[0].edges[0]: the line has no station “z” (known: a, b)",
    ),
    (
        budget(kind="edges", edges=["a->z"]),
        "budgets[0].edges[0]: the line has no station or end “z” (known: a, b, completed, failed, cancelled)",
    ),
    (
        budget(kind="cross_stage", stations=["a"]),
        "budgets[0].stations: unknown key (known: key, kind, on_exhausted, most, role, label, extra)",
    ),
    (budget(kind="restart", most=-1), "budgets[0].most: has to be a whole number, 0 or more"),
    (budget(kind="restart", role="x" * 65), "budgets[0].role: is longer than 64 characters"),
    (
        budget(kind="restart", on_exhausted="end"),
        "budgets[0].on_exhausted: has to be fail, stuck, escalate or {to: station or end}",
    ),
    (
        document(RULES, {}, budgets=[{"key": "k", "kind": "restart"}]),
        "budgets[0].most: is missing (a whole number, or none)",
    ),
    (
        escalation(on_breach=["block"]),
        "escalations[0].on_breach: is never done without a time to answer (say sla, such as 4h)",
    ),
    (
        escalation(sla="4h", on_breach=["blok"]),
        "escalations[0].on_breach[0]: “blok” is not known (did you mean block?)",
    ),
    (
        escalation(at_once=["notify", "notify"]),
        "escalations[0].at_once[1]: the action “notify” appears twice",
    ),
    (station(requires="handoff"), "stations[0].requires: has to be a list of texts, not a string"),
    (station(requires=[1]), "stations[0].requires[0]: has to be a text, not a number"),
    (station(requires=["handof"]), "stations[0].requires[0]: “handof” is not known (did you mean handoff?)"),
    (
        station(requires=["metadata: "]),
        "stations[0].requires[0]: “metadata: ” is not known (did you mean metadata:<name>?)",
    ),
    (station(handoff=[]), "stations[0].handoff: has to be an object, not an array"),
    (
        station(handoff={"properties": {"x": {"type": "texts"}}}),
        "stations[0].handoff.properties.x.type: fits none of the forms that it may have",
    ),
    (
        document(RULES, {}, handoff={"required": [1]}),
        "handoff.required[0]: has to be a text, not a number",
    ),
    (
        station(handoff={"allOf": [{"pattern": "("}]}),
        "stations[0].handoff.allOf[0].pattern: not an RE2 pattern: missing ): (",
    ),
    (
        station(handoff={"$ref": "http://x"}),
        'stations[0].handoff["$ref"]: refers to another document (write it out under $defs)',
    ),
    (
        station(handoff={"patternProperties": {}}),
        "stations[0].handoff.patternProperties: is not supported here",
    ),
    (
        station(work={"kind": "http", "headers": {"X": {"secret": "lower"}}}),
        "stations[0].work.headers.X.secret: “lower” is no name of a secret (capitals, digits and _, beginning with "
        "a capital; or input:key, the secret that a task starts with)",
    ),
    (
        station(work={"kind": "tools", "policy": {"default": "deny", "rules": [{"tool": "a"}]}}),
        "stations[0].work.policy.rules[0].action: is missing (allow, approve or deny)",
    ),
    (
        tool(outcome={"fail_if": {"not": {"edge": {"from": "a", "to": "b", "at_least": 1}}}}),
        "gates[0].tool.outcome.fail_if: reads the tool's own output; it cannot ask anybody or count edges",
    ),
    (
        tool(outcome={"success_on": []}),
        "gates[0].tool.outcome.success_on: names no exit code (leave the key out for 0)",
    ),
    (
        station(work={"kind": "error", "message": "x", "failure_type": "x" * 201}),
        "stations[0].work.failure_type: is longer than 200 characters",
    ),
]


@pytest.mark.parametrize(("given", "told"), WRONG, ids=[told for _, told in WRONG])
def test_it_is_told_with_its_place_and_what_to_do(given: dict[str, Any], told: str) -> None:
    with pytest.raises(DocumentError) as refused:
        read_line(given)
    assert told in map(str, refused.value.problems)


def test_what_a_budget_is_called_is_kept() -> None:
    said = {"label": "Rework", "role": "lead", "on_exhausted": {"to": "b"}, "extra": {"x": 1}}
    (found,) = read_line(budget(kind="rules", rules=["on", "on"], **said)).budgets
    assert found.extra == {"x": 1}
    assert (found.name, found.role, found.exhausted_to, found.rules) == ("Rework", "lead", "b", ("on",))
    (plain,) = read_line(budget(kind="restart")).budgets
    assert (plain.name, plain.role) == ("k", None)
