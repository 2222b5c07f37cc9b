"""The forms of the editor: what is typed is validated where it is typed, and what a form does not know survives it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from html import unescape
from typing import Any

import pytest
from django.http import HttpResponse

from pipelines.lines.publishing import create_line
from pipelines.models import Line
from pipelines.web.editor.forms.table import FORMS
from tests.factories import World, document
from tests.pages.conftest import As, door
from tests.pages.editor_documents import EVERYTHING

pytestmark = pytest.mark.django_db


@pytest.fixture
def line(world: World) -> Line:
    return create_line(world.project, "drawn", "Drawn", document(key="drawn"), world.designer)


Ask = Callable[..., HttpResponse]


NAMES = {
    "stations": [{"key": "lint", "name": "Lint"}, {"key": "ship", "name": "Ship"}],
    "gates": [{"key": "look", "name": "Look"}, {"key": "plain", "name": "Plain"}],
    "ends": [{"key": "gone", "kind": "failed"}],
}


@pytest.fixture
def ask(world: World, signed_in: As, line: Line) -> Ask:
    client = signed_in(world.designer)

    def asked(what: str, fragment: Any, **more: Any) -> HttpResponse:
        own = fragment.get("key", "") if isinstance(fragment, dict) else ""
        body = {"fragment": fragment, "own": own if isinstance(own, str) else "", "names": NAMES, **more}
        return client.post(door(world, f"/draft/forms/{what}"), json.dumps(body), "application/json")

    return asked


TOOLED = {"key": "look", "mode": "auto", "tool": {"argv": ["coverage", "json"]}}


# --- Budgets, agents, preconditions --------------------------------------------------------------

BUDGET = {"key": "loops", "kind": "rules", "rules": ["again"], "most": 3}


def test_a_budget_is_added_by_its_kind_with_what_it_needs(ask: Ask) -> None:
    add = {"do": "add", "rows": "budgets", "kind": "loop"}
    said = ask("line", {"name": "Line"}, deed=add).json()
    assert said["fragment"]["budgets"] == [{"key": "loop", "kind": "loop", "stations": [], "most": 3}]
    typed = {"budgets[0].stations": ["lint, ship"], "budgets[0].on_exhausted": ["to:gone"]}
    done = ask("line", said["fragment"], typed=typed)
    assert done.status_code == 200, done.content
    assert done.json()["fragment"]["budgets"] == [
        {
            "key": "loop",
            "kind": "loop",
            "stations": ["lint", "ship"],
            "most": 3,
            "on_exhausted": {"to": "gone"},
        }
    ]


def test_a_budget_names_rules_of_the_line_and_may_be_none(ask: Ask) -> None:
    names = {**NAMES, "rules": ["again", "on"]}
    typed = {"budgets[0].most": ["none"], "budgets[0].rules": ["again, on"]}
    done = ask("line", {"budgets": [BUDGET]}, names=names, typed=typed)
    assert done.json()["fragment"]["budgets"] == [{**BUDGET, "rules": ["again", "on"], "most": "none"}]
    refused = ask("line", {"budgets": [BUDGET]}, names=names, typed={"budgets[0].rules": ["moon"]})
    assert refused.json()["refused"] == ["budgets[0].rules"]


def test_a_station_says_who_works_there_and_what_going_on_needs(ask: Ask) -> None:
    typed = {"agent": ["coder"], "requires": ["handoff, metadata:AI-Usage"], "stage": ["ship"]}
    said = ask("station", STATION, typed=typed).json()["fragment"]
    wanted = {"agent": "coder", "requires": ["handoff", "metadata:AI-Usage"], "stage": "ship"}
    assert {key: said[key] for key in wanted} == wanted
    nothing = ask("station", said, typed={"requires": ["[]"]}).json()["fragment"]
    assert nothing["requires"] == []
    assert ask("station", said, typed={"requires": ["luck"]}).json()["refused"] == ["requires"]


@pytest.mark.wide
@pytest.mark.parametrize("what", ["station", "line"])
def test_the_schema_of_the_handoff_has_a_field_and_is_checked_there(ask: Ask, what: str) -> None:
    fragment: dict[str, Any] = STATION if what == "station" else {"name": "Line"}
    schema = {"type": "object", "required": ["change_summary"]}
    said = ask(what, fragment, typed={"handoff": [json.dumps(schema)]}).json()
    assert said["fragment"] == {**fragment, "handoff": schema}
    assert ask(what, said["fragment"], typed={"handoff": [""]}).json()["fragment"] == fragment
    for typed, message in (
        ('{"type": ', "Is no JSON in line 1"),
        ("[]", "Has to be an object"),
        ('{"type": "thing"}', "its none of the forms that it may have"),
        ('{"$ref": "https://example.com/s"}', "Refers to another document"),
    ):
        refused = ask(what, fragment, typed={"handoff": [typed]})
        assert refused.json()["refused"] == ["handoff"], typed
        assert refused.json()["fragment"] == fragment
        assert message in refused.json()["html"].partition('data-name="handoff"')[2].partition("ef-block")[0]


# --- What is typed ------------------------------------------------------------------------------

STATION = {
    "key": "lint",
    "work": {"kind": "command"},
    "limits": {"max_timeout": "1h"},
    "extra": {"theirs": 1},
}


def test_what_is_typed_is_written_and_the_rest_stays_as_it_was(ask: Ask) -> None:
    answer = ask("station", STATION, typed={"limits.expected": ["10m"], "labels": ["python, fast"]})
    assert answer.status_code == 200
    said = answer.json()
    limits = {"max_timeout": "1h", "expected": "10m"}
    assert said["fragment"] == {**STATION, "limits": limits, "labels": ["python", "fast"]}
    assert said["label"] == "Expected duration, Labels"


def test_what_the_reader_refuses_stands_in_the_form_with_its_error_and_the_rest_is_taken(ask: Ask) -> None:
    answer = ask("station", STATION, typed={"limits.expected": ["soon"], "labels": ["fast"]})
    said = answer.json()
    assert said["refused"] == ["limits.expected"]
    assert said["fragment"] == {**STATION, "labels": ["fast"]}
    assert 'value="soon"' in said["html"]
    assert "A duration is a number of seconds, or a text like 90s, 5m, 2h, 1d" in said["html"]


GATE = {"key": "look", "checks": {"all": [{"field": "exit_code", "operator": "equals", "value": 0}]}}


WHO = {"key": "look", "approval": {"who": [{"role": "reviewer"}]}}


INPUT = {"inputs": [{"key": "who", "type": "choice", "choices": ["a"]}]}


@pytest.mark.smoke(6)
@pytest.mark.parametrize(
    ("what", "fragment", "field", "typed", "message"),
    [
        ("station", STATION, "key", "Not A Key", "is not a key"),
        ("station", STATION, "key", "", "Is empty"),
        ("station", STATION, "key", "ship", "The station “ship” appears twice"),
        ("station", STATION, "key", "gone", "stations and ends share one name space"),
        ("station", STATION, "work.argv", "make 'all", "A quotation mark is not closed"),
        ("station", STATION, "work.env", "A=1\nB", "Line 2 is no NAME=value"),
        ("station", STATION, "work.env", "A=1\nA=2", "A appears twice"),
        ("station", STATION, "limits.max_timeout", "1 fortnight", "A duration is"),
        ("station", STATION, "limits.max_visits", "-1", "Has to be a whole number, 0 or more"),
        ("station", STATION, "limits.max_retries", "some", "Has to be a whole number"),
        ("station", STATION, "gate", "nowhere", "Cannot be “nowhere”: the line has no such gate"),
        ("station", STATION, "result_document", "often", "Cannot be “often”"),
        ("station", STATION, "*", '{"colour": 1}', "Unknown key"),
        ("station", STATION, "*", '{"extra": ', "Is no JSON in line 1"),
        ("station", STATION, "*", "[]", "Has to be an object"),
        ("gate", GATE, "key", "plain", "The gate “plain” appears twice"),
        ("gate", GATE, "mode", "maybe", "Cannot be “maybe”"),
        ("gate", GATE, "checks.all[0].field", "", "Is empty"),
        ("gate", GATE, "on_reject", "route:nowhere", "Cannot be “nowhere”: the line has no such station"),
        ("gate", GATE, "due.after", "soon", "A duration is"),
        ("gate", TOOLED, "tool.outcome.parse", "xml", "Cannot be “xml”"),
        ("gate", TOOLED, "tool.outcome.pass_if", '{"vibe": 1}', "No known form of a condition"),
        ("gate", TOOLED, "tool.timeout", "soon", "A duration is"),
        ("gate", WHO, "approval.who[0].role", "", "Is empty"),
        ("gate", WHO, "approval.who[0].count", "0", "Has to be a whole number, 1 or more"),
        ("gate", WHO, "approval.max_rounds", "x", "Has to be a whole number"),
        ("end", {"key": "gone", "kind": "failed"}, "key", "ship", "A station has this key"),
        ("end", {"key": "gone", "kind": "failed"}, "kind", "happy", "Cannot be “happy”"),
        ("line", {}, "start", "nowhere", "Cannot be “nowhere”: the line has no such station"),
        ("line", {}, "policy.revisit", "limit:x", "Cannot be “limit:x”"),
        ("line", {}, "policy.visit_cap", "0", "Has to be a whole number, 1 or more"),
        ("line", {}, "policy.on_failure", "station:nowhere", "Cannot be “nowhere”: the line has no such station"),
        ("inputs", INPUT, "inputs[0].key", "A B", "is not a key"),
        ("inputs", INPUT, "inputs[0].default", "b", "Has to be one of: a"),
        ("inputs", INPUT, "inputs[0].choices", "", "A choice lists its choices"),
    ],
)  # fmt: skip
def test_a_fault_stands_at_its_field_and_is_not_written(
    ask: Ask, what: str, fragment: dict[str, Any], field: str, typed: str, message: str
) -> None:
    answer = ask(what, fragment, typed={field: [typed]})
    said = answer.json()
    assert (answer.status_code, said["refused"]) == (200, [field])
    assert said["fragment"] == fragment
    block = said["html"].partition(f'data-name="{field}"')[2].partition("ef-block")[0]
    assert message in block


def test_a_fault_that_was_there_before_keeps_nobody_from_changing_something_else(ask: Ask) -> None:
    broken = {**STATION, "limits": {"expected": "soon"}, "colour": "red", "name": 5}
    answer = ask("station", broken, typed={"labels": ["fast"]})
    assert answer.status_code == 200
    assert answer.json()["fragment"] == {**broken, "labels": ["fast"]}
    for words in ("A duration is", "Unknown key", "colour", "Has to be a text, not a number"):
        assert words in answer.json()["html"]


def test_another_kind_of_work_keeps_what_it_knows_and_loses_the_rest(ask: Ask) -> None:
    work = {"kind": "command", "argv": ["make"]}
    said = ask("station", {**STATION, "work": work}, typed={"work.kind": ["manual"]}).json()
    assert said["fragment"]["work"] == {"kind": "manual"}
    assert "Instructions" in said["html"]


def test_people_roles_and_groups_of_the_project_are_suggested(ask: Ask, world: World) -> None:
    world.group("security", world.reviewer)
    said = ask("gate", WHO).json()["html"]
    assert "Reviewer – 1 person" in said
    group = {"key": "look", "approval": {"who": [{"group": "security"}, {"user": "x"}]}}
    said = ask("gate", group).json()["html"]
    assert "Security – 1 person" in said
    assert f"{world.reviewer.username} – Reviewer" in said
    assert world.stranger.username not in said


def test_the_preview_is_the_form_that_starts_a_task(ask: Ask) -> None:
    preview = ask("inputs", INPUT).json()["html"].partition("data-preview")[2]
    assert '<option value="a"' in preview
    assert 'name="title"' in preview


@pytest.mark.parametrize(
    ("deed", "keys"),
    [
        ({"do": "add"}, ["a", "b", "c", "field-4"]),
        ({"do": "remove", "index": 1}, ["a", "c"]),
        ({"do": "up", "index": 2}, ["a", "c", "b"]),
        ({"do": "down", "index": 0}, ["b", "a", "c"]),
        ({"do": "up", "index": 0}, ["a", "b", "c"]),
        ({"do": "remove", "index": 9}, ["a", "b", "c"]),
    ],
)
def test_rows_are_added_moved_and_deleted(ask: Ask, deed: dict[str, Any], keys: list[str]) -> None:
    fragment = {"inputs": [{"key": key} for key in "abc"]}
    said = ask("inputs", fragment, deed={"rows": "inputs", **deed}).json()
    assert [each["key"] for each in said["fragment"]["inputs"]] == keys


def test_a_button_says_what_it_adds(ask: Ask) -> None:
    """So that the browser can save with the same request what comes of it."""
    html = ask("inputs", {"inputs": [{"key": "field-2"}]}).json()["html"]
    said = re.findall(r'data-rows="inputs"\s+data-kind=""\s+data-new="([^"]*)"', html)
    assert [json.loads(unescape(each)) for each in said] == [{"key": "field-3", "type": "text"}]


def test_what_was_refused_in_a_row_goes_with_the_row(ask: Ask) -> None:
    fragment = {"inputs": [{"key": "a"}, {"key": "b"}]}
    deed = {"do": "up", "rows": "inputs", "index": 1}
    said = ask("inputs", fragment, typed={"inputs[1].key": ["B B"]}, deed=deed).json()
    assert [each["key"] for each in said["fragment"]["inputs"]] == ["b", "a"]
    assert said["refused"] == ["inputs[0].key"]


# --- Whatever is sent ---------------------------------------------------------------------------

ODD = [
    None,
    True,
    0,
    -1,
    1.5,
    "",
    "x",
    [],
    {},
    [[]],
    [{}],
    [None],
    {"a": 1},
    {"all": 3},
    {"key": []},
    {"any": [1]},
    [{"key": {}, "name": [], "trigger": [], "id": {}}],
]


@pytest.mark.wide
@pytest.mark.smoke(1)
@pytest.mark.parametrize("what", sorted(FORMS))
def test_a_fragment_of_any_shape_is_shown(ask: Ask, what: str) -> None:
    keys = {
        "station": [*EVERYTHING["stations"][0], "join", "colour"],
        "gate": [*EVERYTHING["gates"][0], "colour"],
        "end": ["key", "kind", "label", "extra"],
        "line": [
            "name",
            "description",
            "preset",
            "policy",
            "flags",
            "start",
            "budgets",
            "escalations",
            "extra",
        ],
        "inputs": ["inputs"],
        "failures": ["rules"],
    }.get(what, [])
    for odd in ODD:
        answer = ask(what, dict.fromkeys(keys, odd))
        assert answer.status_code == 200, odd
        assert answer.json()["fragment"] == dict.fromkeys(keys, odd)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xff\xfe",
        "[]",
        "null",
        "{}",
        '{"fragment": []}',
        '{"fragment": {"name": "a\\u0000b"}}',
        '{"fragment": {"name": "\\ud800"}}',
        '{"fragment": {"a": NaN}}',
        '{"fragment": {"a": ' + "[" * 200 + "]" * 200 + "}}",
        '{"fragment": {}, "typed": {"key": "not a list"}}',
        '{"fragment": {}, "typed": {"key": ["a\\u0000b"]}}',
        '{"fragment": {}, "scope": "<script>"}',
        '{"fragment": {}, "deed": {"do": "explode", "rows": "inputs"}}',
        '{"fragment": {}, "names": {"stations": [{"key": 1}]}}',
    ],
)
def test_what_is_no_question_is_refused_in_words(
    world: World, signed_in: As, line: Line, body: str | bytes
) -> None:
    client = signed_in(world.designer)
    answer = client.post(door(world, "/draft/forms/station"), body, "application/json")
    assert answer.status_code == 400
    assert answer.json()["detail"]


def test_there_is_no_form_of_another_name(ask: Ask) -> None:
    assert ask("colour", {}).status_code == 404


def test_a_viewer_sees_the_form_and_its_controls_are_off(world: World, signed_in: As, line: Line) -> None:
    address = door(world, "/draft/forms/station")
    body = json.dumps({"fragment": STATION, "own": "lint"})
    said = signed_in(world.viewer).post(address, body, "application/json")
    assert '<fieldset class="ef-set" disabled>' in said.json()["html"]


def test_a_tool_of_a_gate_is_written_by_its_program_and_goes_with_it(ask: Ask) -> None:
    bare = {"key": "look", "mode": "auto"}
    written = ask("gate", bare, typed={"tool.argv": ["coverage json"]}).json()
    assert written["fragment"] == TOOLED
    assert "tool.outcome.parse" in written["html"]
    gone = ask("gate", TOOLED, typed={"tool.argv": [" "]}).json()
    assert gone["fragment"] == bare
