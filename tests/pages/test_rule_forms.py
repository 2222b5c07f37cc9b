"""The form of a rule: every condition of the algebra as fields, changed one at a time, and nothing else with it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from pipelines.lines.publishing import create_line
from pipelines.models import Line, Project
from pipelines.queries.recorded_paths import recorded_output_examples
from pipelines.web.editor.forms.conditions.condition_fields import KINDS
from pipelines.web.editor.forms.form import FormSetting, flat_fields
from pipelines.web.editor.forms.form_answer import FormAnswer, answer_form
from pipelines.web.editor.forms.form_request import FormRequest
from pipelines.web.editor.forms.rule import RuleForm
from tests.factories import World, document, station
from tests.pages.conftest import As, door

OK = {"result": "success"}
NAMES = {
    "stations": [{"key": "build", "name": "Build"}, {"key": "ship", "name": "Ship"}, {"key": "fix"}],
    "gates": [{"key": "look", "name": "A look"}, {"key": "lead"}],
    "ends": [{"key": "sent", "name": "SENT", "kind": "completed"}],
    "flags": {"agentic_conditions": True},
    "rules": ["on", "other"],
}


def output(op: str, *value: Any, path: str = "high", **more: Any) -> dict[str, Any]:
    return {"output": {"path": path, "op": op, **({"value": value[0]} if value else {}), **more}}


def evaluated(op: str, value: Any) -> dict[str, Any]:
    return {"eval": {"op": op, "value": value}}


LEAVES: list[dict[str, Any]] = [
    {"always": True},
    OK,
    {"result": ["success"]},
    {"result": "any"},
    {"result": ["any", "blocked"]},
    {"verdict": "pass"},
    {"verdict": ["fail", "blocked"]},
    {"failure_type": "flaky"},
    {"fact": {"path": "tests.failed", "op": "equals", "value": 0}},
    {"fact": {"path": "$.git.paths[*]", "op": "starts_with", "value": "tests/", "of": "every"}},
    {"failure_type": ["flaky"]},
    {"failure_type": ["a, b", "c"]},
    *(evaluated(op, "ok") for op in ("equals", "not_equals", "contains", "not_contains", "starts_with", "ends_with")),
    *(evaluated(op, 3) for op in ("gt", "gte", "lt", "lte")),
    evaluated("range", " 200 , 299 "),
    evaluated("equals", "5"),
    output("exists"),
    output("missing"),
    *(output("equals", value) for value in (0, 1.0, "0", "true", True, None, "", " a ", "[", '"')),
    output("not_equals", False),
    output("equals", {"a": [1, {"b": None}]}),
    *(output(op, 7) for op in ("gt", "gte", "lt", "lte")),
    *(output(op, "5") for op in ("contains", "not_contains", "starts_with", "ends_with")),
    output("matches", "^[0-9]+$"),
    output("matches", "[0]"),
    output("in", ["a", 1, "1", "x, y", True]),
    output("not_in", []),
    output("type", "number"),
    output("gt", 0, path="$.findings[*].score", of="every"),
    output("gte", 2, path="$.findings[*]", of="count"),
    output("exists", of="some"),
    {"edge": {"from": "build", "to": "ship", "at_least": 2}},
    {"agentic": {"question": "Good?"}, "answer": "no"},
    {"hook": {"argv": ["sh", "-c", "exit 0"], "timeout": "60s"}, "answer": "block"},
]  # fmt: skip
NESTED = [
    {"all": []},
    {"any": []},
    {"not": OK},
    {"all": [OK, {"any": [output("gt", 0), {"not": {"verdict": "fail"}}]}]},
    {"any": [{"all": [{"not": {"not": OK}}]}, {"all": []}, {"always": True}]},
]
STRANGE: list[Any] = [
    {},
    3,
    "always",
    [],
    None,
    {"resutl": "success"},
    {"result": "success", "verdict": "pass"},
    {"result": "won"},
    {"always": False},
    {"output": "high > 3"},
    {"output": {"path": "high", "op": "about", "value": 3}},
    {"all": [OK, {"maybe": 1}]},
    {"not": [OK]},
]


def rule(when: Any = None, **more: Any) -> dict[str, Any]:
    return {"id": "on", **({} if when is None else {"when": when}), "to": "ship", **more}


def told(fragment: dict[str, Any], line: Line | None = None, **asked: Any) -> FormAnswer:
    said = FormRequest.model_validate(
        {"fragment": fragment, "own": "on", "within": "build", "names": NAMES, **asked}
    )
    return answer_form(RuleForm(), said, FormSetting(Project(), said.names, said.own, line, said.within))


def typed(fragment: dict[str, Any], **fields: Any) -> FormAnswer:
    given = {
        name.replace("__", "."): each if isinstance(each, list) else [each] for name, each in fields.items()
    }
    return told(fragment, typed=given)


def names(found: FormAnswer) -> set[str]:
    items = [item for section in found.sections for item in section.fields]
    return {field.name for field in flat_fields(items, found.fragment)}


# A form that is looked at


@pytest.mark.parametrize("when", [*LEAVES, *NESTED, *STRANGE], ids=json.dumps)
def test_a_form_that_is_looked_at_changes_nothing(when: Any) -> None:
    fragment = {"id": "on", "when": when, "to": "ship"}
    assert told(fragment).fragment == fragment
    assert typed(fragment, label="A name").fragment == {**fragment, "label": "A name"}


def every_field(found: FormAnswer) -> dict[str, list[str]]:
    items = [item for section in found.sections for item in section.fields]
    return {
        field.name: field.control_values_for_fragment(found.fragment)
        for field in flat_fields(items, found.fragment)
    }


@pytest.mark.parametrize("when", [*LEAVES, *NESTED], ids=json.dumps)
def test_what_every_field_shows_typed_again_says_the_same(when: Any) -> None:
    """Not always the very same words: one result is written as a text, not as a list of one."""
    fragment = {"id": "on", "when": when, "to": "ship"}
    shown = told(fragment)
    again = told(fragment, typed=every_field(shown))
    assert not again.refused, again.problems
    before, after = (each.sections[1].context["words"] for each in (shown, again))
    assert before == after


@pytest.mark.parametrize("when", [each for each in LEAVES if set(each) != {"always"}], ids=json.dumps)
def test_every_leaf_has_fields_of_its_own(when: dict[str, Any]) -> None:
    fields = names(told(rule(when)))
    assert "when#kind" in fields
    assert any(name.startswith("when.") for name in fields)


@pytest.mark.parametrize("when", STRANGE, ids=json.dumps)
def test_a_condition_that_has_no_form_stays_to_be_written_as_json(when: Any) -> None:
    found = told({"id": "on", "when": when, "to": "ship"})
    assert "when" in names(found)
    assert found.problems
    put_right = typed({"id": "on", "when": when, "to": "ship"}, when='{"result": "failure"}')
    assert put_right.fragment["when"] == {"result": "failure"}
    assert not put_right.refused


# Fields


def test_a_value_is_read_as_json_where_it_is_and_else_as_a_text() -> None:
    given = rule(output("equals", "x"))
    for said, meant in (
        ("3", 3),
        ('"3"', "3"),
        ("true", True),
        ("red", "red"),
        ('["a"]', ["a"]),
        ("null", None),
    ):
        assert typed(given, when__output__value=said).fragment["when"] == output("equals", meant)


def test_an_operator_takes_along_what_it_can_use() -> None:
    def changed(before: dict[str, Any], op: str) -> Any:
        return typed(rule(before), when__output__op=op).fragment["when"]

    assert changed(output("equals", "a"), "exists") == output("exists")
    assert changed(output("exists"), "gt") == output("gt", 0)
    assert changed(output("equals", "5"), "gt") == output("gt", 5)
    assert changed(output("equals", 5), "starts_with") == output("starts_with", "5")
    assert changed(output("equals", "a"), "in") == output("in", ["a"])
    assert changed(output("in", ["a"]), "equals") == output("equals", "a")
    assert changed(output("contains", "a"), "type") == output("type", "string")


def test_of_several_nodes_it_is_asked_only_where_a_path_can_find_several() -> None:
    assert "when.output.of" in names(told(rule(output("gt", 0, path="$.a[*]"))))
    assert "when.output.of" not in names(told(rule(output("gt", 0))))


def test_what_is_typed_wrong_stays_with_its_error_and_the_rest_is_kept() -> None:
    found = typed(rule(output("matches", "a")), when__output__value="(", label="Kept")
    assert found.fragment == rule(output("matches", "a"), label="Kept")
    assert found.refused == {"when.output.value": ["("]}
    assert "RE2" in found.problems["when.output.value"][0].message


def test_a_path_that_is_none_is_told_at_its_field() -> None:
    found = typed(rule(output("exists")), when__output__path="$.[")
    assert list(found.refused) == ["when.output.path"]
    assert "JSONPath" in found.problems["when.output.path"][0].message


def test_no_result_at_all_is_refused() -> None:
    assert list(typed(rule(OK), when__result=[]).refused) == ["when.result"]
    assert typed(rule(OK), when__result=["success", "failure"]).fragment["when"] == {
        "result": ["success", "failure"]
    }


def test_json_that_is_faulty_is_told_with_its_place() -> None:
    broken = typed(rule(OK), when='{"all": [{"result": "success"}, {"output": {"path": "a", "op": "gtt"}}]}')
    assert broken.fragment == rule(OK)
    assert "when.all[1].output.op" in broken.problems["when"][0].message
    assert "line 1, column" in typed(rule(OK), when="{").problems["when"][0].message
    assert "when" not in typed(rule(OK), when="").fragment


# Groups


def kinded(when: Any, kind: str, place: str = "when") -> Any:
    return told(rule(when), typed={f"{place}#kind": [kind]}).fragment.get("when")


def test_a_condition_is_wrapped_turned_and_taken_out_again() -> None:
    assert kinded(OK, "all") == {"all": [OK]}
    assert kinded(OK, "not") == {"not": OK}
    assert kinded(None, "any") == {"any": [{"always": True}]}
    assert kinded({"all": [OK, {"not": OK}]}, "any") == {"any": [OK, {"not": OK}]}
    assert kinded({"all": [OK]}, "inside") == OK
    assert kinded({"not": OK}, "inside") == OK
    assert kinded(OK, "always") is None
    inner = {"all": [OK, {"any": [output("gt", 1)]}]}
    assert kinded(inner, "inside", "when.all[1]") == {"all": [OK, output("gt", 1)]}
    assert kinded(inner, "not", "when.all[0]") == {"all": [{"not": OK}, {"any": [output("gt", 1)]}]}


@pytest.mark.parametrize("kind", list(KINDS))
def test_every_kind_is_readable_from_the_moment_it_is_chosen(kind: str) -> None:
    found = told(rule({"all": [OK]}), typed={"when.all[0]#kind": [kind]})
    assert not found.refused
    assert not found.problems
    assert found.sections[1].context["words"]


def deed(when: Any, do: str, rows: str, index: int = 0, kind: str = "") -> Any:
    return told(rule(when), deed={"do": do, "rows": rows, "index": index, "kind": kind}).fragment.get("when")


def test_members_are_added_moved_and_removed() -> None:
    high, low = output("gt", 5), output("lt", 2)
    assert deed({"all": [OK]}, "add", "when.all", kind="any") == {"all": [OK, {"any": [OK]}]}
    assert deed({"any": [high, low]}, "down", "when.any", 0) == {"any": [low, high]}
    assert deed({"any": [high, low]}, "remove", "when.any", 0) == {"any": [low]}
    assert deed({"any": [high]}, "remove", "when.any", 0) == {"any": []}
    nested = {"all": [OK, {"any": [high, low]}]}
    assert deed(nested, "up", "when.all[1].any", 1) == {"all": [OK, {"any": [low, high]}]}


# The rest of a rule


def test_targets_become_a_fork_and_one_again() -> None:
    forked = told(rule(OK), typed={"to#one": ["*fork"]}).fragment
    assert forked["to"] == ["ship", "build"]
    more = told(forked, deed={"do": "add", "rows": "to"}).fragment
    assert more["to"] == ["ship", "build", "fix"]
    less = told(forked, deed={"do": "remove", "rows": "to", "index": 1}).fragment
    assert less["to"] == ["ship"]
    assert told(less, typed={"to#one": ["sent"]}).fragment["to"] == "sent"
    for special in ("@origin", "@blocked", "failed"):
        assert told(rule(OK), typed={"to#one": [special]}).fragment["to"] == special


def test_gates_are_added_ordered_and_taken_off() -> None:
    one = told(rule(OK), deed={"do": "add", "rows": "gates"}).fragment
    two = told(one, deed={"do": "add", "rows": "gates"}).fragment
    assert two["gates"] == ["look", "lead"]
    assert told(two, deed={"do": "up", "rows": "gates", "index": 1}).fragment["gates"] == [
        "lead",
        "look",
    ]
    assert "gates" not in told(one, deed={"do": "remove", "rows": "gates", "index": 0}).fragment


def test_bounds_and_effects_are_said_as_the_document_says_them() -> None:
    found = typed(
        rule(OK),
        max_retries="2",
        max_visits="3",
        on_exhausted="to:fix",
        allow_revisit="no",
        feedback=["on"],
    )
    assert found.fragment == rule(
        OK, max_retries=2, max_visits=3, on_exhausted={"to": "fix"}, allow_revisit=False, feedback=True
    )
    cleared = typed(
        found.fragment, max_retries="", max_visits="", on_exhausted="", allow_revisit="", feedback=[]
    )
    assert cleared.fragment == rule(OK)
    assert list(typed(rule(OK), max_retries="often").refused) == ["max_retries"]
    composed = told(rule(OK), deed={"do": "add", "rows": "compose"}).fragment
    assert composed["compose"] == [{"var": "value", "path": "$"}]
    spaced = told(composed, typed={"compose[0].var": ["a b"]})
    assert list(spaced.refused) == ["compose[0].var"]


def test_an_id_that_another_rule_has_is_refused() -> None:
    assert list(typed(rule(OK), id="other").refused) == ["id"]
    assert typed(rule(OK), id="renamed").fragment["id"] == "renamed"


def test_what_the_form_does_not_know_is_kept_and_can_be_changed() -> None:
    given = rule(OK, extra={"a": 1})
    assert typed(given, label="x").fragment["extra"] == {"a": 1}
    assert told(given, typed={"*": ['{"extra": {"b": 2}}']}).fragment["extra"] == {"b": 2}


# Recorded outputs


@pytest.mark.django_db
def test_paths_are_those_of_recorded_outputs_with_an_example_each(world: World) -> None:
    version = world.line(document([station("build"), "ship"]))
    for high in (1, 2):
        said = {"high": high, "odd key": {"a.b": True}, "found": [{"rank": "x" * 80}], "deep": {"er": [1, 2]}}
        world.report(world.start(version), {"result": "success", "output": said})
    assert dict(recorded_output_examples(version.line, "build")) == {
        "high": "2",
        '$["odd key"]': "{a.b}",
        '$["odd key"]["a.b"]': "true",
        "found": '[{"rank": "' + "x" * 28 + "…",
        "$.found[*].rank": '"' + "x" * 38 + "…",
        "deep": "{er}",
        "deep.er": "[1, 2]",
    }
    assert recorded_output_examples(version.line, "ship") == []
    other = world.line(document(["build"], key="other"))
    assert recorded_output_examples(other.line, "build") == []


@pytest.mark.django_db
def test_paths_are_looked_up_within_few_queries(world: World, django_assert_max_num_queries: Any) -> None:
    version = world.line(document(["build"]))
    with django_assert_max_num_queries(1):
        recorded_output_examples(version.line, "build")


# Through the door


@pytest.fixture
def line(world: World) -> Line:
    return create_line(world.project, "drawn", "Drawn", document(key="drawn"), world.designer)


def asked(client: Client, world: World, body: dict[str, Any]) -> Any:
    url = door(world, "/draft/forms/rule")
    return client.post(
        url,
        json.dumps({"names": NAMES, "own": "on", "within": "build", **body}),
        content_type="application/json",
    )


@pytest.mark.django_db
def test_the_form_is_drawn_with_words_fields_and_json(world: World, signed_in: As, line: Line) -> None:
    client = signed_in(world.designer)
    nested = {"all": [OK, {"any": [output("gt", 0), {"not": {"verdict": "fail"}}]}]}
    drawn = asked(client, world, {"fragment": rule(nested)})
    html = drawn.json()["html"]
    assert drawn.status_code == 200
    assert "result is success and (high is greater than 0 or not verdict is fail)" in html
    assert 'name="when.all[1].any[0].output.path"' in html
    assert 'data-rows="when.all[1].any"' in html
    assert "Condition as JSON" in html


@pytest.mark.wide
@pytest.mark.django_db
def test_every_condition_can_be_drawn(world: World, signed_in: As, line: Line) -> None:
    client = signed_in(world.designer)
    for when in (*LEAVES, *NESTED, *STRANGE):
        fragment = {"id": "on", "when": when, "to": 3, "gates": "x"}
        assert asked(client, world, {"fragment": fragment}).status_code == 200, when
