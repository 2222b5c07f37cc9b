"""T1…T14: what real files do that nobody would expect. The others stand beside what they are about."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from pipelines.formats.foreign import document_import
from pipelines.routing.document.line import ParsedLine, read_line
from tests.routing.support import goes

WORKED = {"type": "dispatch_worker"}


def read(given: Any) -> tuple[ParsedLine, list[str]]:
    opened = document_import.import_document(
        given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
    )
    return read_line(opened.document), [str(loss) for loss in opened.losses]


def chain(*branches: dict[str, Any], **task: Any) -> dict[str, Any]:
    asked = {"id": "ask", "handler": "chat_completion", "transition": {"branches": list(branches)}, **task}
    return {"id": "c", "tasks": [asked, {"id": "other", "handler": "noop"}]}


def test_T1_a_default_that_stands_first_is_asked_last() -> None:
    default, above = {"operator": "default", "goto": "end"}, {"operator": ">", "when": "6", "goto": "other"}
    line, losses = read(chain(default, above))
    assert goes(line, {"result": "success", "eval": "9"}, station="ask").startswith("move other")
    assert goes(line, {"result": "success", "eval": "2"}, station="ask").startswith("finish completed")
    assert any("asked last there" in loss for loss in losses)


def test_T2_two_spellings_of_a_call_are_two_words() -> None:
    line, losses = read(chain({"operator": "equals", "when": "tool_call", "goto": "other"}))
    assert goes(line, {"result": "success", "eval": "tool_call"}, station="ask").startswith("move other")
    assert not goes(line, {"result": "success", "eval": "tool-call"}, station="ask").startswith("move")
    assert any("another word" in loss for loss in losses)


def test_T6_transitions_may_be_empty_unordered_partial_and_without_ids() -> None:
    head = {
        "line/assembly-line.json": '{"name": "L", "version": "1"}',
        **{f"line/stations/0{n}-s{n}/station.json": json.dumps({"trigger": WORKED}) for n in (1, 2, 3)},
    }
    empty = read_line(document_import.import_files({**head, "line/transitions.json": "[]"}).document)
    assert goes(empty, {"result": "success"}, station="01-s1").startswith("move 02-s2")
    rules = [
        {"from": "02-s2", "to": "03-s3", "condition": "failure"},
        {"from": "01-s1", "to": "03-s3", "condition": "success"},
        {"from": "02-s2", "to": "01-s1", "condition": "success"},
    ]
    some = read_line(
        document_import.import_files({**head, "line/transitions.json": json.dumps(rules)}).document
    )
    assert goes(some, {"result": "success"}, station="01-s1").startswith("move 03-s3")
    assert goes(some, {"result": "success"}, station="02-s2").startswith("move 01-s1")
    ids = [rule.id for station in some.stations for rule in station.rules]
    assert len(set(ids)) == len(ids) == 3 and all(ids)


def test_T7_other_names_of_fields_no_last_line_end_and_danish() -> None:
    given = {
        "id": "linje",
        "name": "Blåbærgrød",
        "columns": [{"id": "a", "name": "Første", "trigger": {**WORKED, "createStageRepo": True}},
                    {"id": "b", "name": "Næste", "trigger": WORKED}],
        "transitions": [{"id": "r", "fromColumnId": "a", "toColumnId": "b", "condition": "success", "gate": "g"}],
        "gates": [{"id": "g", "name": "Se på det", "requiresApproval": True}],
    }  # fmt: skip
    text = json.dumps(given, ensure_ascii=False)
    assert not text.endswith("\n")
    line, _losses = read(text)
    assert (line.name, line.stations[0].name) == ("Blåbærgrød", "Første")
    assert goes(line, {"result": "success"}, station="a").startswith("wait awaiting_review at g")
    assert line.stations[0].extra["trigger"]["createStageRepo"] is True


def test_T8_a_gate_with_a_tool_that_is_switched_off_passes() -> None:
    given = {
        "stations": [{"id": "a", "trigger": WORKED}],
        "transitionRules": [
            {"fromStationId": "a", "toStationId": "done", "condition": "success", "gateId": "g"}
        ],
        "gates": [{"id": "g", "name": "G", "tool": {"kind": "cli", "command": "rm"}, "enabled": False}],
    }
    line, _losses = read(given)
    assert goes(line, {"result": "success"}, station="a").startswith("finish completed")


def test_T11_a_field_that_no_result_has_fails_its_rule_and_is_told() -> None:
    rule = {"field": "meta.duration_sec", "operator": "less_than", "value": 9, "onFail": "rework"}
    stage = {"id": "a", "skill": "s", "onPass": "complete", "onFail": "b", "rules": [rule]}
    line, losses = read({"name": "n", "stages": [stage, {"id": "b", "skill": "t", "onPass": "complete"}]})
    assert goes(line, {"verdict": "pass"}, station="a").startswith("move b")
    assert any("the rule always fails" in loss for loss in losses)


def test_T12_numbers_may_be_macros_and_durations_texts() -> None:
    line, _losses = read(chain(timeout="1m30s", execute_config={"max_tokens": "{{var:max|100}}"}))
    assert line.station("ask").limits.max_timeout == 90
    assert line.station("ask").extra["execute_config"] == {"max_tokens": "{{var:max|100}}"}


def test_T13_lists_that_are_texts_are_tolerated() -> None:
    config = {"models": "string", "tools": "string", "providers": "string"}
    line, _losses = read(chain(execute_config=config, valid_conditions="string", tools="string"))
    assert goes(line, {"result": "success"}, station="ask").startswith("finish completed")
    assert line.station("ask").extra["execute_config"] == config


def test_every_trap_has_a_test_of_its_name() -> None:
    texts = "".join(file.read_text() for file in Path(__file__).parent.glob("test_*.py"))
    named = re.findall(r"^def test_((?:T\d+_)+)", texts, re.MULTILINE)
    assert {each for name in named for each in name.strip("_").split("_")} == {f"T{n}" for n in range(1, 15)}
