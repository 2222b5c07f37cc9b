"""What a forward move needs: each thing that is missing is named (law §8, AEEF E14, E15)."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.routing.document import handoffs
from pipelines.routing.document.line import ParsedLine
from tests.routing.support import FAILED, OK, goes, line, traced

HANDOFF = {
    "change_summary": {"what_changed": "a", "files_touched": ["x.py"], "rationale": "b"},
    "evidence": {
        "prompt_reference": "p",
        "contract_version": "1.0",
        "test_evidence": {"passed": 3},
        "security_scan_result": "not_run",
    },
}
FREE = {"state": "available", "free": 1}


def needing(*requires: str, **more: Any) -> ParsedLine:
    """a → b → c → completed; a requires these; b is worked on by ann, c by bob."""
    first = {"requires": list(requires), **more.pop("station", {})}
    return line(first, {"agent": "ann", "requires": []}, {"agent": "bob", "requires": []}, **more)


def aeef(**station: Any) -> ParsedLine:
    rules = [{"id": "on", "to": "b"}]
    return line({"rules": rules, **station}, {"agent": "ann"}, preset="aeef")


def test_E14_a_forward_move_needs_all_four_and_each_that_is_missing_is_named() -> None:
    gate = {"key": "g", "mode": "auto", "checks": {"all": [{"field": "eval", "operator": "exists"}]}}
    of = line(
        {"rules": [{"id": "on", "to": "b"}], "gate": "g"}, {"agent": "ann"}, gates=[gate], preset="aeef"
    )
    jump = {"result": "success", "signals": [{"verdict": "proceed"}]}
    answer = traced(of, jump, open_escalations=1)
    names = ["station_gate", "handoff", "agent:ann", "no_open_escalation"]
    assert (answer["decision"], answer["status"], answer["missing"], answer["to"]) == (
        "wait",
        "held",
        names,
        ["b"],
    )
    (why,) = [entry["why"] for entry in answer["trace"] if "missing" in entry["why"]]
    assert why == (
        "missing: station_gate (g was not passed), handoff (handoff: is missing), agent:ann (is not registered),"
        " no_open_escalation"
    )


def test_E14_it_goes_on_when_all_four_are_there() -> None:
    assert goes(aeef(), {**OK, "handoff": HANDOFF}, agents={"ann": FREE}) == "move b by rule on"


@pytest.mark.parametrize("gone", ["handoff", "agent"])
def test_E14_any_that_is_missing_holds_it(gone: str) -> None:
    outcome = OK if gone == "handoff" else {**OK, "handoff": HANDOFF}
    agents = {} if gone == "agent" else {"ann": FREE}
    missing = {"handoff": "handoff", "agent": "agent:ann"}[gone]
    assert goes(aeef(), outcome, agents=agents) == f"wait held for {missing} then b on"


def test_E14_rework_needs_none_of_it() -> None:
    of = line({"rules": []}, {"rules": [{"id": "back", "to": "a"}]}, preset="aeef")
    assert goes(of, FAILED, "b", open_escalations=1) == "move a by rule back"


def test_a_station_says_itself_what_it_needs() -> None:
    assert goes(aeef(requires=[]), OK) == "move b by rule on"
    assert goes(needing("handoff"), OK) == "wait held for handoff then b"
    assert goes(line({}, {}), OK) == "move b by policy"


AGENTS: list[tuple[dict[str, Any], str]] = [
    ({"ann": {"state": "available"}}, "move b by policy"),
    ({"ann": FREE}, "move b by policy"),
    ({"ann": {"free": 0}}, "wait held for agent:ann then b"),
    ({"ann": {"state": "suspended", "free": 3}}, "wait held for agent:ann then b"),
    ({"ann": {"state": "no_contract"}}, "wait held for agent:ann then b"),
    ({"bob": FREE}, "wait held for agent:ann then b"),
]


@pytest.mark.parametrize(("agents", "then"), AGENTS)
def test_E14_the_target_agent_is_available_by_contract_and_capacity(
    agents: dict[str, Any], then: str
) -> None:
    assert goes(needing("agent"), OK, agents=agents) == then


def test_a_fork_needs_an_agent_for_each_branch() -> None:
    first = {"requires": ["agent"], "rules": [{"id": "r1", "to": ["b", "c"]}]}
    of = line(first, {"agent": "ann"}, {"agent": "ann"})
    assert goes(of, OK, agents={"ann": {"free": 1}}) == "wait held for agent:ann then b+c r1"
    assert goes(of, OK, agents={"ann": {"free": 2}}) == "move b+c by rule r1"


def test_a_gate_that_was_approved_is_passed_and_one_that_was_jumped_is_not() -> None:
    gated = needing("station_gate", station={"gate": "g"}, gates=[{"key": "g"}])
    assert goes(gated, OK, gates={"g": {"decision": "approve"}}) == "move b by policy"
    blocked = needing(
        "station_gate",
        station={"gate": "g", "rules": [{"id": "r1", "to": "b"}]},
        gates=[{"key": "g", "mode": "auto"}],
    )
    assert goes(blocked, {"result": "blocked"}) == "wait held for station_gate then b r1"
    assert goes(needing("station_gate"), OK) == "move b by policy"


METADATA: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"output": {"AI-Usage": "yes"}}, {}),
    ({"output": {"ai_metadata": {"AI-Usage": "yes"}}}, {}),
    ({"handoff": {"ai_metadata": {"AI-Usage": "yes"}}}, {}),
    ({"git": {"ai_metadata": {"AI-Usage": "yes"}}}, {}),
    ({}, {"context": {"AI-Usage": "yes"}}),
    ({}, {"variables": {"AI-Usage": 0}}),
    ({}, {"inputs": {"AI-Usage": False}}),
    ({}, {"task": {"labels": ["x", "AI-Usage: full"]}}),
]


@pytest.mark.parametrize(("outcome", "facts"), METADATA)
def test_E15_metadata_is_found_wherever_it_is_given(outcome: dict[str, Any], facts: dict[str, Any]) -> None:
    assert goes(needing("metadata:AI-Usage"), {**OK, **outcome}, **facts) == "move b by policy"


@pytest.mark.parametrize("value", [None, "", [], {}])
def test_E15_what_is_empty_is_not_given(value: Any) -> None:
    of = needing("metadata:AI-Usage", "metadata:Agent-IDs")
    outcome = {**OK, "output": {"AI-Usage": value, "Agent-IDs": "dev"}}
    assert goes(of, outcome) == "wait held for metadata:AI-Usage then b"
    inside = {**OK, "output": {"ai_metadata": {"AI-Usage": value, "Agent-IDs": "dev"}}}
    assert goes(of, inside) == "wait held for metadata:AI-Usage then b"


def test_a_fact_settles_what_is_asked() -> None:
    of = needing("handoff", "agent")
    assert goes(of, OK, preconditions={"handoff": True, "agent": True}) == "move b by policy"
    full = {**OK, "handoff": HANDOFF}
    held = goes(of, full, preconditions={"handoff": False, "quota": False}, agents={"ann": FREE})
    assert held == "wait held for handoff+quota then b"


def test_an_end_takes_neither_handoff_nor_agent() -> None:
    of = line({"requires": ["handoff", "agent", "metadata:x"], "rules": [{"id": "r1", "to": "completed"}]})
    assert goes(of, OK) == "wait held for metadata:x then completed r1"
    assert goes(of, {**OK, "output": {"x": 1}}) == "finish completed by rule r1"


# Handoff documents

FAULTS: list[tuple[Any, list[str]]] = [
    (None, ["handoff: is missing"]),
    ([], ["handoff: has to be an object, not an array"]),
    (
        {"change_summary": HANDOFF["change_summary"], "evidence": {}},
        [
            "handoff.evidence.contract_version: is missing",
            "handoff.evidence.prompt_reference: is missing",
            "handoff.evidence.security_scan_result: is missing",
            "handoff.evidence.test_evidence: is missing",
        ],
    ),
    (
        {**HANDOFF, "change_summary": {"what_changed": "a", "files_touched": [1], "rationale": "b"}},
        ["handoff.change_summary.files_touched[0]: has to be a text, not a number"],
    ),
    (HANDOFF, []),
]


@pytest.mark.parametrize(("document", "told"), FAULTS)
def test_a_handoff_is_held_against_the_schema_and_each_fault_has_its_place(
    document: Any, told: list[str]
) -> None:
    assert list(map(str, handoffs.handoff_faults(document))) == told


def test_the_stations_schema_comes_before_the_lines() -> None:
    own, lines = {"required": ["why"]}, {"required": ["what"]}
    assert goes(needing("handoff", handoff=lines), {**OK, "handoff": {"what": 1}}) == "move b by policy"
    strict = needing("handoff", handoff=lines, station={"handoff": own})
    assert goes(strict, {**OK, "handoff": {"what": 1}}) == "wait held for handoff then b"
    assert goes(strict, {**OK, "handoff": {"why": 1}}) == "move b by policy"
    assert goes(needing("handoff", handoff={}), {**OK, "handoff": "anything"}) == "move b by policy"


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        ({"type": ["string", "null"]}, "has to be a text or null, not a number"),
        ({"enum": ["a", None, 5.5]}, "has to be one of a, null, 5.5"),
        ({"anyOf": [{"type": "string"}, {"minimum": 9}]}, "fits none of the forms that it may have"),
        ({"minimum": 9}, "5 is less than the minimum of 9"),
    ],
)
def test_a_fault_of_a_handoff_is_told_without_the_words_of_a_program(schema: Any, told: str) -> None:
    assert [str(each) for each in handoffs.handoff_faults({"x": 5}, {"properties": {"x": schema}})] == [
        f"handoff.x: {told}"
    ]


def test_patterns_of_a_schema_take_linear_time() -> None:
    schema = {"properties": {"id": {"pattern": "^(a+)+$"}}}
    assert [str(each) for each in handoffs.handoff_faults({"id": "a" * 50_000 + "!"}, schema)] == [
        "handoff.id: does not match ^(a+)+$"
    ]


SCHEMAS: list[tuple[dict[str, Any], str]] = [
    ({"type": "thing"}, "type: fits none of the forms that it may have"),
    ({"properties": {"x": {"$ref": "https://example.com/x"}}}, "refers to another document"),
    ({"properties": {"x": {"pattern": "("}}}, "not an RE2 pattern"),
    ({"patternProperties": {}}, "is not supported here"),
    ({"$ref": "#"}, "refers to itself without end"),
    ({"$ref": "#/$defs/nothing"}, "refers to nothing"),
]


@pytest.mark.parametrize(("schema", "told"), SCHEMAS)
def test_a_schema_that_cannot_be_used_is_refused(schema: dict[str, Any], told: str) -> None:
    (fault,) = handoffs.schema_faults(schema)
    assert told in str(fault)
