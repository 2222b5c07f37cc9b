"""A document of each system from its own text to its end: imported, published, and routed as its documentation says."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pipelines.formats.foreign import document_import
from pipelines.models import LineVersion, Task
from tests.dialects.aeef import HANDOFF
from tests.factories import World
from tests.formats.foreign import test_alp_drafts

pytestmark = pytest.mark.django_db

ALP = {
    "id": "vibecheck",
    "name": "Vibecheck",
    "version": "1.0.0",
    "stations": [
        {
            "id": key,
            "name": key.upper(),
            "trigger": {"type": "dispatch_worker", "promptTemplate": "{{task.title}}"},
        }
        for key in ("intake", "architecture", "security", "synthesis", "deliver")
    ],
    "transitionRules": [
        {"id": "skip", "fromStationId": "architecture", "toStationId": "synthesis", "condition": "failure"},
        {
            "id": "go",
            "fromStationId": "synthesis",
            "toStationId": "deliver",
            "condition": "success",
            "gateId": "human",
        },
    ],
    "gates": [{"id": "human", "name": "Human Review", "requiresApproval": True}],
}
VIBE = {
    "workflow": {"id": "wf", "name": "Test loop"},
    "stations": [
        {"id": "b", "workflow_id": "wf", "name": "Build", "position": 1, "agent_id": "Code Agent"},
        {"id": "t", "workflow_id": "wf", "name": "Test", "position": 2, "output_context_keys": '["failed"]'},
        {"id": "d", "workflow_id": "wf", "name": "Deployed", "position": 3, "is_terminator": True},
    ],
    "transitions": [
        {
            "source_station_id": "b",
            "target_station_id": "t",
            "condition_type": "success",
            "allow_revisit": True,
        },
        {
            "source_station_id": "t",
            "target_station_id": "b",
            "condition_type": "conditional",
            "condition_value": "failed > 0",
            "allow_revisit": True,
        },
        {"source_station_id": "t", "target_station_id": "d", "condition_type": "success"},
    ],
}
FLUX = """\
name: standard
description: Build and review.
prompt: Do the work.
stages:
  - {id: build, skill: build, onPass: review, onFail: build, fallback: blocked}
  - id: review
    skill: review
    onPass: complete
    onFail: build
    fallback: blocked
    rules: [{field: exit_code, operator: equals, value: 0, severity: required, onFail: rework}]
"""
CONTENOX = """\
{ // moderation, as it is written there
  "id": "moderation",
  "tasks": [
    {"id": "score", "handler": "prompt_to_int", "prompt_template": "Rate {{.input}}",
     "transition": {"branches": [
       {"operator": "default", "goto": "answer"},
       {"operator": ">", "when": "6", "goto": "refuse"}]}},
    {"id": "answer", "handler": "parse_number", "transition": {"branches": [{"operator": "default", "goto": "end"}]}},
    {"id": "refuse", "handler": "parse_number", "transition": {"branches": []}}
  ]
}
"""


def published(world: World, text: str) -> LineVersion:
    return world.line(document_import.import_document(text).document)


def worked(world: World, task: Task, *outcomes: dict[str, Any]) -> list[str]:
    for outcome in outcomes:
        world.report(task, outcome)
    task.refresh_from_db()
    return list(task.jobs.order_by("pk").values_list("station", flat=True))


def test_a_line_of_alp_skips_waits_at_its_gate_and_completes(world: World) -> None:
    task = world.start(published(world, json.dumps(ALP)))
    went = worked(world, task, {"exit_code": 0}, {"exit_code": 1}, {"exit_code": 0})
    assert went == ["intake", "architecture", "synthesis"] and task.status == "awaiting_review"
    world.vote(task)
    assert worked(world, task, {"exit_code": 0})[-1] == "deliver" and task.status == "completed"


def test_a_typed_condition_of_alp_is_answered_and_falls_back(world: World) -> None:
    version = published(world, test_alp_drafts.line(gates=test_alp_drafts.LINE["gates"][:1], transitionRules=[
        test_alp_drafts.LINE["transitionRules"][0]]))  # fmt: skip
    done = {"result": "success"}
    harmless = world.start(version)
    went = worked(world, harmless, done, {**done, "output": {"needs_human": 0.1, "risk": 1}}, done)
    assert went == ["review", "route", "merge"] and harmless.status == "completed"
    unanswered = world.start(version)
    assert worked(world, unanswered, done, done) == ["review", "route"]
    assert unanswered.status == "awaiting_review", "the gate of its fallback"
    world.vote(unanswered)
    assert worked(world, unanswered)[-1] == "route" and unanswered.end == "stopped"


def test_a_workflow_of_vibe_factory_goes_round_until_nothing_fails(world: World) -> None:
    task = world.start(published(world, json.dumps(VIBE)))
    built, failing = {"result": "success"}, {"result": "success", "output": {"failed": 2}}
    went = worked(world, task, built, failing, built, {"result": "success", "output": {"failed": 0}})
    assert went == ["build", "test", "build", "test"] and task.status == "awaiting_review", "as it ends there"
    world.vote(task)
    task.refresh_from_db()
    assert (task.status, task.end) == ("completed", "deployed")


def test_a_playbook_of_flux_reworks_by_its_gate_rules(world: World) -> None:
    task = world.start(published(world, FLUX))
    passed, bad = {"verdict": "pass", "exit_code": 0}, {"verdict": "pass", "exit_code": 3}
    assert worked(world, task, passed, bad, passed, passed) == ["build", "review", "build", "review"]
    assert (task.status, task.end) == ("completed", "complete")


def test_a_chain_of_contenox_asks_its_default_last(world: World) -> None:
    version = published(world, CONTENOX)
    harmful = world.start(version, inputs={"input": "?"})
    assert worked(world, harmful, {"result": "success", "eval": "9"}) == ["score", "refuse"]
    harmless = world.start(version, inputs={"input": "?"})
    went = worked(world, harmless, {"result": "success", "eval": "2"}, {"result": "success", "eval": "2"})
    assert went == ["score", "answer"] and harmless.status == "completed"


AEEF = """\
name: Delivery
transitions:
  - {from: INTAKE, to: IMPLEMENTATION}
  - {from: IMPLEMENTATION, to: DEPLOYED, requires: [{gate_3_passed: true}, {unit_tests: passing}]}
  - {from: IMPLEMENTATION, to: REWORK_IMPL}
  - {from: REWORK_IMPL, to: IMPLEMENTATION}
"""


def test_a_machine_of_aeef_mends_what_its_gate_refused_and_is_deployed(world: World) -> None:
    task = world.start(published(world, AEEF))
    passed = {"verdict": "pass", "handoff": HANDOFF}
    bad, good = (
        {**passed, "output": {"unit_tests": "failing"}},
        {**passed, "output": {"unit_tests": "passing"}},
    )
    went = worked(world, task, passed, bad, passed, good)
    assert went == ["intake", "implementation", "rework_impl", "implementation"]
    assert (task.status, task.end) == ("completed", "deployed")


MODERATED = """\
{"id": "moderated", "tasks": [
  {"id": "score", "handler": "prompt_to_int", "input_var": "input", "transition": {"branches": [
    {"operator": "default", "goto": "answer"}, {"operator": ">", "when": "6", "goto": "reject"}]}},
  {"id": "answer", "handler": "noop"},
  {"id": "reject", "handler": "prompt_to_string", "prompt_template": "Say that it was rejected.",
   "transition": {"branches": [{"operator": "default", "goto": "end",
     "compose": {"with_var": "input", "strategy": "append_string_to_chat_history"}}]}}]}
"""


def test_B15_a_moderated_chain_of_contenox_composes_into_its_input_and_ends(world: World) -> None:
    task = world.start(published(world, MODERATED), inputs={"input": "Something bad"})
    went = worked(
        world,
        task,
        {"result": "success", "eval": "9"},
        {"result": "success", "eval": "stop", "output": "It was rejected."},
    )
    assert went == ["score", "reject"] and (task.status, task.error) == ("completed", "")


def test_a_triage_of_flux_goes_where_a_person_says(world: World) -> None:
    text = "name: triage\nstages:\n  - {id: triage, skill: t, onPass: __meta_route__, onFail: blocked}\n"
    task = world.start(published(world, text))
    went = worked(world, task, {"verdict": "pass"}, {"result": "success", "eval": "complete"})
    assert went == ["triage", "meta-route"] and (task.status, task.end) == ("completed", "complete")
