"""Transitions, events, work items and contracts of AEEF as lines."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pipelines.formats.foreign import document_import
from pipelines.formats.foreign.document_export import export_document
from pipelines.routing.basics.problems import DocumentError
from pipelines.routing.document.line import ParsedLine, read_line
from tests.dialects.aeef import HANDOFF
from tests.routing.support import goes

TRANSITION = """\
transition:
  from: IMPLEMENTATION
  to: TESTING
  requires:
    - gate_3_passed: true
    - handoff_artifact: present
    - ai_metadata: [AI-Usage, Agent-IDs]
    - unit_tests: passing
  produces:
    - state_change: TESTING
"""
MACHINE = {
    "name": "Delivery",
    "transitions": [
        {"from": "INTAKE", "to": "IMPLEMENTATION"},
        {"from": "IMPLEMENTATION", "to": "TESTING", "requires": {"lint": "passing"}},
        {"from": "IMPLEMENTATION", "to": "REWORK_IMPL"},
        {"from": "TESTING", "to": "DEPLOYED"},
        {"from": "TESTING", "to": "REWORK_IMPL", "failure_type": "test failure", "max": 3},
        {"from": "REWORK_IMPL", "to": "IMPLEMENTATION"},
        {"from": "DEPLOYED", "to": "INTAKE"},
        {"from": "DEPLOYED", "to": "TESTING"},
    ],
}
ITEM = {
    "id": "WI-shop-7",
    "current_state": "TESTING",
    "current_agent": "qa-agent",
    "stage_history": [
        {"stage": "IMPLEMENTATION", "agent": "developer-agent", "result": "fail"},
        {"stage": "REWORK_IMPL", "agent": "developer-agent", "result": "pass"},
        {"stage": "IMPLEMENTATION", "agent": "developer-agent", "result": "pass"},
    ],
}
EVENT = {
    "event_id": "EVT-1",
    "work_item_id": "WI-shop-7",
    "transition": {"from_state": "TESTING", "to_state": "SECURITY", "trigger": "gate_4_passed"},
    "agent": {"source": "qa-agent", "target": "security-agent"},
    "gate_results": {"unit_tests": "pass"},
}


def read(given: Any) -> tuple[ParsedLine, list[str]]:
    opened = document_import.import_document(given if isinstance(given, str) else json.dumps(given))
    assert opened.dialect == "aeef"
    return read_line(opened.document), [str(loss) for loss in opened.losses]


def test_E15_what_a_transition_requires_is_asked_and_what_it_produces_is_kept() -> None:
    line, _losses = read(TRANSITION)
    station = line.station("implementation")
    assert line.preset == "aeef" and station.gate == "gate_3"
    assert line.requirements_of("implementation")[-2:] == ("metadata:AI-Usage", "metadata:Agent-IDs")
    (check,) = document_import.import_document(TRANSITION).document["gates"][0]["checks"]["all"]
    assert (check["field"], check["action"]) == ("output.unit_tests", "rework")
    assert station.rules[0].extra["produces"] == [{"state_change": "TESTING"}]


def test_the_ways_of_a_machine_lead_where_they_say_and_back_to_the_stage_that_failed() -> None:
    line, losses = read(MACHINE)
    assert (line.start, next(station.key for station in line.stations)) == ("intake", "rework_impl")
    failed = {"verdict": "fail", "failure_type": "test failure"}
    assert goes(line, failed, station="testing").startswith("move rework_impl")
    mended = {"verdict": "pass", "handoff": HANDOFF}
    assert goes(line, mended, station="rework_impl", origin="testing").startswith("move testing")
    assert goes(line, mended, station="testing").startswith("finish deployed")
    assert line.station("testing").rules[1].max_retries == 3
    assert sum("what follows it is a new task" in loss for loss in losses) == 1, "E13: TESTING begins none"
    assert line.end("deployed").follow_up == "feedback"


def test_E13_a_way_from_an_end_to_intake_starts_a_new_item() -> None:
    ways = [
        *MACHINE["transitions"][:-1],
        {"from": "TESTING", "to": "ROLLBACK"},
        {"from": "ROLLBACK", "to": "ROLLED_BACK"},
    ]
    text = json.dumps({**MACHINE, "transitions": [*ways, {"from": "ROLLED_BACK", "to": "INTAKE"}]})
    opened = document_import.import_document(text)
    ends = {end["key"]: end["follow_up"] for end in opened.document["ends"]}
    assert (ends, opened.losses) == ({"deployed": "feedback", "rolled_back": "always"}, ())
    made = export_document(opened.document, "aeef")
    assert not made.losses
    again = document_import.import_document(made.text).document["ends"]
    assert again == opened.document["ends"]


def test_records_give_the_ways_that_they_took_and_say_that_they_are_records() -> None:
    line, losses = read(f"{json.dumps(ITEM)}\n{json.dumps(EVENT)}\n")
    assert goes(line, {"verdict": "fail"}, station="implementation").startswith("move rework_impl")
    assert [line.station(key).agent for key in ("implementation", "testing", "security")] == [
        *("developer-agent", "qa-agent", "security-agent")
    ]
    assert line.station("testing").gate == "gate_4"
    assert sum("this is a record of work" in loss for loss in losses) == 2
    assert any("nothing leads on from SECURITY" in loss for loss in losses)


def test_agents_stand_at_the_states_that_they_own_with_what_their_contract_says() -> None:
    contract = {"agent_id": "qa-agent", "contract_version": "1.0", "forbidden_actions": ["merge {{x}}"]}
    line, losses = read([{"agents": [{"agent_id": "scout"}]}, contract])
    assert [(each.key, each.agent) for each in line.stations] == [("testing", "qa-agent"), ("scout", "scout")]
    assert "Never does: merge" in line.station("testing").work["instructions"]
    assert any("registers it under Agents" in loss for loss in losses)


def test_E2_the_second_owner_of_a_state_stands_beside_the_first() -> None:
    second = {"agent_id": "devmgr-agent", "contract_version": "1.0", "forbidden_actions": ["deploy"]}
    contracts = [{"agent_id": "qa-agent", "contract_version": "1.0"}, second, {"agent_id": "scrum-agent"}]
    line, _losses = read([{"agents": contracts}])
    found = [(station.key, station.agents) for station in line.stations]
    assert found == [("testing", ("qa-agent", "devmgr-agent")), ("scrum-agent", ("scrum-agent",))]
    assert "Never does: deploy" in line.station("testing").work["instructions"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"handoff_id": "HO-1"}, "a handoff of AEEF, and no line"),
        ({"gate_id": "g3", "criteria_results": []}, "the result of a gate of AEEF"),
        ({"$id": "https://aeef.ai/schemas/agent-contract.schema.json"}, "a schema of AEEF"),
        ({"transitions": [{"from": "A", "to": 5, "requires": []}]}, "transitions[0].to"),
        ({"transitions": [{"from": "A", "to": "B", "requires": [5]}]}, "transitions[0].requires"),
        ({"transitions": [{"from": "A", "to": "B", "failure_type": ["x"]}]}, "transitions[0].failure_type"),
        ({"stage_history": []}, "names no state"),
        ({"agents": [{"agent_id": ""}]}, "agents[0].agent_id"),
    ],
)
def test_what_names_no_state_is_refused_with_its_place(given: Any, said: str) -> None:
    with pytest.raises(DocumentError) as error:
        document_import.import_document(json.dumps(given))
    assert any(said in str(problem) and problem.line for problem in error.value.problems)
