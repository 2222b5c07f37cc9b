"""Playbooks of Flux as lines."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pipelines.formats import native
from pipelines.formats.foreign import document_import
from pipelines.formats.foreign.document_export import export_document
from pipelines.routing.analysis.lint.run import lint_line
from pipelines.routing.basics.problems import DocumentError
from pipelines.routing.document.line import ParsedLine, read_line
from tests.routing.support import goes

WAYS = {"onPass": "complete", "onFail": "blocked", "fallback": "blocked"}


def playbook(*stages: dict[str, Any]) -> str:
    return native.dumps(
        {"name": "a-book", "description": "d", "prompt": "Be honest.", "stages": list(stages)}
    )


def stage(key: str, **more: Any) -> dict[str, Any]:
    return {"id": key, "skill": key, **WAYS, **more}


def read(text: str) -> tuple[ParsedLine, list[str]]:
    opened = document_import.import_document(text)
    assert opened.dialect == "flux"
    return read_line(opened.document), [str(loss) for loss in opened.losses]


def verdict(line: ParsedLine, said: str, station: str = "build", **more: Any) -> str:
    return goes(line, {"result": "success", "verdict": said}, station=station, **more)


def test_D1_a_stage_has_three_ways_out() -> None:
    line, _losses = read(playbook(stage("build", onPass="check", onFail="build"), stage("check")))
    assert verdict(line, "pass").startswith("move check")
    assert verdict(line, "fail").startswith("move build")
    assert verdict(line, "blocked").startswith("wait blocked")
    assert verdict(line, "pass", "check").startswith("finish complete")
    assert "Be honest." in line.station("build").work["instructions"]


def test_D11_limits_of_a_stage_are_limits_of_its_station() -> None:
    text = playbook(stage("build", maxRetries=1, timeoutSec=300, trustMode="declarative"))
    line, losses = read(text)
    limits = line.station("build").limits
    assert (limits.max_retries, limits.max_timeout) == (1, 300)
    again = {"result": "success", "signals": [{"verdict": "rework"}]}
    assert goes(line, again, station="build").startswith("move build")
    assert not goes(line, again, station="build", signal_reworks=1).startswith("move build")
    assert any("even where no rule reads it" in loss for loss in losses)
    [made] = native.parsed_value(export_document(line.to_document(), "flux").text)["stages"]
    assert (made["maxRetries"], made["timeoutSec"]) == (1, 300)


def test_gate_rules_are_checks_of_the_station() -> None:
    rules = [
        {
            "field": "exit_code",
            "operator": "equals",
            "value": 0,
            "severity": "block",
            "onFail": "abort",
            "label": "Exit",
        },
        {"logic": "OR", "rules": [{"field": "speed.size", "operator": "exists"}]},
    ]
    line, losses = read(playbook(stage("build", rules=rules, onPass="check"), stage("check")))
    gate = line.gates_by_key[line.station("build").gate or ""]
    assert gate.mode == "auto"
    outcome = {"result": "success", "verdict": "pass", "exit_code": 1}
    assert goes(line, outcome, station="build").startswith("finish failed")
    assert any("“speed.size” is looked for in the output" in loss for loss in losses)


def test_T10_a_target_in_place_of_an_action_holds_and_is_told() -> None:
    rules = [
        {
            "field": "run.attempt",
            "operator": "greater_than",
            "value": 3,
            "severity": "block",
            "onFail": "blocked",
        }
    ]
    _line, losses = read(playbook(stage("build", rules=rules)))
    assert any('"blocked" is no action' in loss for loss in losses)
    assert any("fails at every attempt" in loss for loss in losses)


def test_a_loop_repeats_until_its_verdict_and_then_is_exhausted() -> None:
    again = {
        "type": "loop",
        "until": "VERDICT_PASS",
        "maxIterations": 3,
        "onComplete": "ship",
        "onExhausted": "mend",
    }
    line, _losses = read(playbook(stage("build", **again), stage("ship"), stage("mend")))
    assert verdict(line, "pass").startswith("move ship") and verdict(line, "fail").startswith("move build")
    assert verdict(line, "fail", rules={"build-again": 2}).startswith("move mend")


def test_an_endless_loop_ends_as_complete() -> None:
    again = {
        "type": "loop",
        "until": "ALWAYS",
        "maxIterations": 2,
        "onComplete": "ship",
        "onExhausted": "blocked",
    }
    line, _losses = read(playbook(stage("build", **again), stage("ship")))
    assert verdict(line, "pass").startswith("move build")
    assert verdict(line, "pass", rules={"build-again": 1}).startswith("move ship")


def test_children_run_side_by_side_and_meet_at_their_stage() -> None:
    both = {
        "type": "parallel",
        "children": [{"id": "one", "skill": "a"}, {"id": "two", "skill": "b"}],
        "aggregation": "any-pass",
    }
    line, _losses = read(playbook(stage("build", onPass="checks"), stage("checks", **both)))
    assert verdict(line, "pass") == "move one+two by rule build-pass"
    join = line.station("checks").join
    assert join is not None and (join.wait_for, join.aggregation) == (("one", "two"), "any-pass")
    assert verdict(line, "fail", "one").startswith("move checks"), "whatever came of it is for the join"


def test_a_fork_at_the_start_has_a_station_before_it() -> None:
    both = {"type": "parallel", "children": [{"id": "one"}, {"id": "two"}]}
    line, _losses = read(playbook(stage("checks", **both)))
    assert [station.key for station in line.stations] == ["start", "one", "two", "checks"]


def test_the_drafts_spelling_of_parallel_is_read() -> None:
    done = dict.fromkeys(WAYS, "_parallel_complete")
    line, _losses = read(
        playbook(
            stage("build", onPass="review"),
            stage("review", parallel=["one", "two"]),
            stage("one", **done),
            stage("two", **done),
        )
    )
    assert verdict(line, "pass") == "move one+two by rule build-pass"
    assert verdict(line, "fail", "two").startswith("move review")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"onPass": "nowhere"}, 'stages[0].onPass: there is no stage "nowhere"'),
        ({"rules": [{"field": "exit_code", "operator": "is", "value": 0}]}, "stages[0].rules[0].operator"),
        (
            {"rules": [{"field": "exit_code", "operator": "equals", "value": 0, "severity": "odd"}]},
            "severity",
        ),
        ({"type": "loop", "until": "NEVER", "onComplete": "complete"}, "is no end of a loop"),
        ({"type": "loop", "maxIterations": "many", "onComplete": "complete"}, "maxIterations"),
        ({"rules": 5}, "stages[0].rules: has to be a list"),
        ({"rules": {"logic": "XOR", "rules": []}}, "stages[0].rules.logic: has to be AND or OR"),
        ({"rules": {"conditions": []}}, "stages[0].rules.rules: is missing"),
        ({"gateMode": "Hold"}, "stages[0].gateMode"),
        ({"type": "parallel", "children": [{"skill": "x"}]}, "stages[0].children[0].id: is missing"),
        ({"type": "parallel", "children": [{"id": "x"}, {"id": "x"}]}, "children[1].id: x is there twice"),
        ({"type": "parallel", "children": [{"id": "build"}]}, "children[0].id: build is there twice"),
        ({"parallel": ["nowhere"], "onFail": "build"}, "stages[0].parallel: there is no stage nowhere"),
    ],
)
def test_what_cannot_be_meant_is_refused_at_its_place(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(DocumentError) as error:
        document_import.import_document(json.dumps({"name": "b", "stages": [stage("build", **wrong)]}))
    assert said in str(error.value.problems[0])


@pytest.mark.parametrize(
    "text",
    [
        '{"flux:signal": {"verdict": "proceed"}}',
        '{"flux:signal": {"verdict": "hold"}}\n{"flux:signal": {"verdict": "proceed"}}\n',
        '{"verdict": "pass", "run": {"stage": "a"}, "issue": {"id": 1}}',
    ],
)
def test_a_record_of_work_is_refused_by_name(text: str) -> None:
    with pytest.raises(DocumentError) as refused:
        document_import.import_document(text)
    [problem] = refused.value.problems
    assert (str(problem.message), problem.line) == ("this seems to be a record of Flux", 1)
    assert "playbook" in str(problem.hint)


TRIAGE = """\
name: triage
description: Says which playbook takes over.
prompt: Classify.
stages:
  - {id: triage, skill: triage, onPass: __meta_route__, onFail: blocked, fallback: blocked}
"""


def test_D6_a_person_chooses_what_another_playbook_would_take_over() -> None:
    opened = document_import.import_document(TRIAGE)
    line = read_line(opened.document)
    assert goes(line, {"verdict": "pass"}, station="triage").startswith("move meta-route")
    chosen = line.station("meta-route")
    assert (chosen.work["kind"], chosen.work["by"]) == ("route", "person")
    assert goes(line, {"eval": "complete"}, station="meta-route").startswith("finish complete")
    assert goes(line, {"eval": "triage"}, station="meta-route").startswith("move triage")
    assert [str(found) for found in lint_line(line) if found.severity == "error"] == [], "it can be published"
    assert any("in place of another playbook" in str(loss.message) for loss in opened.losses)
    made = export_document(opened.document, "flux")
    assert not made.losses and native.parsed_value(made.text)["stages"][0]["onPass"] == "__meta_route__"


CHECK = {"field": "exit_code", "operator": "equals", "value": 0, "severity": "required", "onFail": "abort"}


def test_D21_a_loop_looks_at_no_rules_and_they_come_back() -> None:
    more = {"type": "loop", "onComplete": "complete", "onExhausted": "complete", "rules": [CHECK]}
    opened = document_import.import_document(playbook(stage("build", **more)))
    line = read_line(opened.document)
    outcome = {"result": "success", "verdict": "pass", "exit_code": 1}
    assert goes(line, outcome, station="build").startswith("finish complete")
    assert any("a loop looks at no rules there" in str(loss) for loss in opened.losses)
    made = export_document(opened.document, "flux")
    assert not made.losses and native.parsed_value(made.text)["stages"][0]["rules"] == [CHECK]


def test_what_a_child_or_a_stage_says_besides_is_told() -> None:
    children = [{"id": "x", "skill": "x", "rules": [CHECK], "onFail": "build"}, {"id": "y", "skill": "y"}]
    _line, losses = read(
        playbook(stage("build", type="parallel", children=children), stage("more", type="odd"))
    )
    for place in ("stages[0].children[0].rules", "stages[0].children[0].onFail", "stages[1].type"):
        assert any(f"{place}: " in loss for loss in losses), place


def test_D18_a_number_in_quotes_compares_otherwise_and_is_told() -> None:
    _line, losses = read(playbook(stage("build", rules=[{**CHECK, "value": "0"}])))
    assert any("stages[0].rules[0].value" in loss and "0 is not “0”" in loss for loss in losses)
    _line, losses = read(playbook(stage("build", rules=[CHECK])))
    assert not any("rules[0].value" in loss for loss in losses)


def test_D11_no_rework_is_no_rework_and_comes_back() -> None:
    opened = document_import.import_document(playbook(stage("build", maxRetries=0, onFail="complete")))
    again = {"result": "success", "signals": [{"verdict": "rework"}]}
    assert goes(read_line(opened.document), again, station="build").startswith("finish complete")
    made = export_document(opened.document, "flux")
    assert native.parsed_value(made.text)["stages"][0]["maxRetries"] == 0
