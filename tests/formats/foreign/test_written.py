"""Lines as documents of other systems: round trips, and that whatever another system cannot say is listed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from pipelines.formats import native
from pipelines.formats.foreign import document_import
from pipelines.formats.foreign.document_export import document_dialect, export_document
from pipelines.formats.foreign.known_systems import written_systems
from pipelines.lines.starters.catalogue import STARTERS
from pipelines.routing.basics.problems import DocumentError
from pipelines.routing.document.line import read_line
from tests.dialects import test_imported as own
from tests.formats.foreign import test_aeef, test_alp_drafts
from tests.formats.foreign.round_trip import back_and_forth, meaning
from tests.formats.foreign.test_any_document import DOCUMENTS

LOOP = """\
name: loops
description: Again.
prompt: Work on {{odd}} things.
stages:
  - {id: both, type: parallel, children: [{id: qa, skill: qa}, {id: sec, skill: sec}], aggregation: any-pass,
     onPass: again, onFail: blocked, team: red}
  - {id: again, type: loop, skill: fix, until: VERDICT_PASS, maxIterations: 4, onComplete: complete, onExhausted: both,
     fallback: blocked}
"""
SIDE_BY_SIDE = """\
name: side by side
description: In two branches.
prompt: Work.
stages:
  - {id: build, skill: build, onPass: both}
  - {id: both, skill: sum, parallel: [qa, sec], onPass: complete, onFail: build, maxRetries: 2}
  - {id: qa, skill: qa, onPass: _parallel_complete}
  - {id: sec, skill: sec, timeoutSec: 30}
"""
ASKS = {
    "id": "asks",
    "name": "Asks",
    "version": "2",
    "stations": [
        {"id": "Write_It", "name": "Write", "trigger": {"type": "dispatch_worker", "initBranch": True,
         "appendSystemPrompt": "Be brief {{a b}}.", "promptTemplate": "Do {{task.title}}", "maxTimeoutMinutes": 9}},
        {"id": "done-so", "trigger": {"type": "none"}},
    ],
    "transitionRules": [
        {"id": "q", "fromStationId": "Write_It", "condition": "agentic", "evaluator": "Good?",
         "onYes": {"toStationId": "done-so"}, "onNo": {"toStationId": "Write_It"}},
        {"id": "h", "fromStationId": "Write_It", "condition": "hook", "hook": "check.sh", "why": "kept",
         "onPass": {"toStationId": "done-so"}, "onBlock": {"toStationId": "Write_It", "feedbackFromHook": True}},
        {"id": "f", "fromStationId": "Write_It", "condition": "failure", "toStationId": "failed", "gateId": "Human",
         "_alsoEnforce": ["tool"], "maxRetries": 2},
    ],
    "gates": [{"id": "Human", "name": "Human"}, {"id": "tool", "name": "T", "enabled": False, "tool": {"kind": "cli"}}],
}  # fmt: skip
CHAIN = """{"id": "Chat_1", "token_limit": 9, "tasks": [
  {"id": "A", "handler": "condition_key", "timeout": "1m30s", "retry_on_failure": 2, "prompt_template": "{{.input}}",
   "transition": {"on_failure": "B", "branches": [
     {"operator": "in_range", "when": "3-5", "goto": "A", "note": "kept"},
     {"operator": "equals", "when": "yes", "goto": "B",
      "compose": {"with_var": "x", "strategy": "json_path:$.user.id"}},
     {"operator": "edge_traversed_at_least", "edge": "A->A", "when": "2", "goto": "B"},
     {"operator": "default", "goto": "end"}]}},
  {"id": "B", "handler": "hook", "hook": {"name": "h"}, "system_instruction": "S", "prompt_template": "P",
   "transition": {"branches": []}}]}"""
MINE = [json.dumps(own.ALP), json.dumps(own.VIBE), own.FLUX, own.CONTENOX, own.AEEF, LOOP, SIDE_BY_SIDE,
        json.dumps(ASKS), CHAIN,
        json.dumps(test_alp_drafts.LINE), test_alp_drafts.with_condition(when="failure"),
        test_alp_drafts.with_gate(approveWarnings=True, mode="dry-run"),
        test_alp_drafts.with_gate(tool={"kind": "mcp"}),
        test_alp_drafts.gated(gateId="approve", _alsoEnforce=["lint"]),
        test_aeef.TRANSITION, json.dumps(test_aeef.MACHINE)]  # fmt: skip
CONTRACT = {
    "agent_id": "qa-agent",
    "contract_version": "1.0",
    "role_owner": "Q",
    "forbidden_actions": ["merge {{x}}"],
}
RECORDS = [
    [{**test_aeef.ITEM, "risk_tier": 3, "unknown": {"a": [1]}}],
    [test_aeef.EVENT],
    [CONTRACT],
    [{**test_aeef.ITEM, "unknown": 1}, {**test_aeef.EVENT, "trust_level": 0}, CONTRACT],
]


@pytest.mark.parametrize("text", MINE)
def test_a_document_comes_back_equal_in_meaning(text: str) -> None:
    back_and_forth(document_import.import_document(text))


@pytest.mark.parametrize("records", RECORDS, ids=["item", "event", "contract", "all"])
def test_records_of_aeef_are_written_back_as_they_were(records: list[Any]) -> None:
    opened = document_import.import_document(json.dumps(records if len(records) > 1 else records[0]))
    back_and_forth(opened)
    machine, *others = native.parsed_value(export_document(opened.document, "aeef").text)
    assert others == records and machine["transitions"] is not None


def test_a_document_with_several_of_them_keeps_its_own_keys() -> None:
    both = {**test_aeef.MACHINE, "work_items": [test_aeef.ITEM], "agents": [CONTRACT], "owner": "me"}
    opened = document_import.import_document(json.dumps(both))
    back_and_forth(opened)
    made = native.parsed_value(export_document(opened.document, "aeef").text)
    assert (made["work_items"], made["agents"], made["owner"]) == ([test_aeef.ITEM], [CONTRACT], "me")


def test_a_registry_with_a_head_comes_back_beside_its_machine() -> None:
    back_and_forth(
        document_import.import_document(
            json.dumps({"id": "s1", "contract_version": "1", "agents": [CONTRACT]})
        )
    )
    back_and_forth(
        document_import.import_document(
            json.dumps({"id": "s1", "agent_id": "s1", "work_items": [test_aeef.ITEM]})
        )
    )


def test_unknown_keys_are_written_back() -> None:
    line = document_import.import_document(json.dumps(ASKS)).document
    made = json.loads(export_document(line, "alp").text)
    assert made["version"] == "2" and made["stations"][0]["trigger"]["initBranch"] is True
    assert made["stations"][0]["trigger"]["appendSystemPrompt"] == "Be brief {{a b}}."
    assert made["transitionRules"][1]["why"] == "kept" and made["gates"][1]["tool"] == {"kind": "cli"}
    chain = json.loads(export_document(document_import.import_document(CHAIN).document, "contenox").text)
    assert (chain["id"], chain["token_limit"], chain["tasks"][0]["handler"]) == ("Chat_1", 9, "condition_key")
    assert chain["tasks"][0]["transition"]["branches"][0]["note"] == "kept"
    assert chain["tasks"][0]["transition"]["branches"][0]["operator"] == "in_range"


@pytest.mark.parametrize("dialect", written_systems())
@pytest.mark.parametrize("starter", STARTERS, ids=lambda each: each.key)
def test_a_line_of_ones_own_keeps_its_keys_and_lists_what_it_loses(starter: Any, dialect: str) -> None:
    """Either nothing is listed and it comes back the same, or what is listed says why not."""
    line = native.loads(starter.text)
    made = export_document(line, dialect)
    assert made.losses, "they hold commands and gates that none of these systems has"
    assert all(str(each.message) for each in made.losses)


def test_a_line_that_a_dialect_can_say_comes_back_whole() -> None:
    flat = {"gateline": 1, "key": "mine", "name": "Mine", "preset": "alp", "stations": [
        {"key": "a", "name": "a", "work": {"kind": "manual", "instructions": "Do {{task.title}}."},
         "rules": [{"id": "x", "when": {"result": "failure"}, "to": "a", "max_retries": 2},
                   {"id": "y", "when": {"result": "success"}, "to": "completed"}]}]}  # fmt: skip
    assert export_document(flat, "alp").losses == ()
    assert meaning(document_import.import_document(export_document(flat, "alp").text).document) == meaning(
        flat
    )
    lost = [str(each) for each in export_document({**flat, "preset": "flux"}, "vibe-factory").losses]
    assert any("Preset" in each or "preset" in each for each in lost)


def test_what_a_dialect_has_no_word_for_is_listed() -> None:
    line = document_import.import_document(own.FLUX).document
    assert document_dialect(line) == "flux"
    losses = " ".join(str(each) for each in export_document(line, "vibe-factory").losses)
    assert "station gate" in losses.lower()


def test_what_other_programs_keep_is_written_or_a_loss() -> None:
    kept = {"tracker": {"id": 12345678901234567890}, "tags": [], "a b": ""}
    line = {"gateline": 1, "key": "mine", "name": "Mine", "preset": "alp", "stations": [
        {"key": "a", "name": "a", "work": {"kind": "manual", "instructions": "Do it."}, "extra": kept}],
        "extra": {"editor": {"positions": {"a": [0, 0]}}}}  # fmt: skip
    made = export_document(line, "alp")
    assert [str(each.message) for each in made.losses if each.path == "extra"] == [
        "Values of other programs are gone: 2 of “extra”, such as tags, a b."
    ]
    read = document_import.import_document(made.text).document["stations"][0]["extra"]
    assert read["tracker"] == kept["tracker"]
    assert not any(
        each.path == "extra" for each in export_document({**line, "stations": [{"key": "a"}]}, "alp").losses
    )


def comes_back(document: Any) -> None:
    try:
        opened = document_import.import_document(json.dumps(document))
        line = read_line(opened.document) if opened.dialect else None
    except DocumentError:
        return
    if line is None:
        return
    for dialect in written_systems():
        made = export_document(opened.document, dialect)
        if not made.losses:
            assert meaning(document_import.import_document(made.text).document)["preset"] == dialect


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(DOCUMENTS)
def test_whatever_was_read_can_be_written_in_every_dialect(document: Any) -> None:
    comes_back(document)


@pytest.mark.soak
@settings(max_examples=2_000, deadline=None, suppress_health_check=list(HealthCheck))
@given(DOCUMENTS)
def test_whatever_was_read_can_always_be_written(document: Any) -> None:
    comes_back(document)
