"""An outcome that was filled in field by field, as a value, and where a field is at fault."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.routing.basics.problems import Malformed
from pipelines.routing.simulate.outcome_form import outcome_from_form, path_parts_or_none


@pytest.mark.parametrize(
    ("path", "parts"),
    [
        ("high", ("high",)),
        ("a.b.c", ("a", "b", "c")),
        ("$.a.b", ("a", "b")),
        ("$['a b'][0].c", ("a b", 0, "c")),
        ("$.a[100]", ("a", 100)),
        ("$.a[101]", None),
        ("$.a[-1]", None),
        ("$.a[*]", None),
        ("$.a[0,1]", None),
        ("$.a[0:1]", None),
        ("$..a", None),
        ("$.a[?@.b]", None),
        ("$", None),
        ("$.", None),
    ],
)
def test_the_one_place_that_a_path_names(path: str, parts: tuple[Any, ...] | None) -> None:
    assert path_parts_or_none(path) == parts


@pytest.mark.parametrize(
    ("form", "outcome"),
    [
        ({"result": "success"}, {"result": "success"}),
        ({"result": " success ", "summary": " ", "comment": ""}, {"result": "success"}),
        ({"exit_code": "3"}, {"exit_code": 3}),
        ({"eval": "7", "summary": "s", "comment": "c"}, {"eval": "7", "summary": "s", "comment": "c"}),
        ({"verdict": "pass", "output": {"n": "1.5"}}, {"verdict": "pass", "output": {"n": 1.5}}),
        (
            {"result": "success", "output": {"n": "two words"}},
            {"result": "success", "output": {"n": "two words"}},
        ),
        ({"result": "success", "output": {"n": " "}}, {"result": "success"}),
        ({"result": "success", "output": {"n": "null"}}, {"result": "success", "output": {"n": None}}),
        (
            {"result": "success", "output": {"$.a[2].b": "true", "$.a[0]": '"x"', "c.d": "[1]"}},
            {"result": "success", "output": {"a": ["x", None, {"b": True}], "c": {"d": [1]}}},
        ),
        (
            {"result": "success", "output": {"a.b": "1", "a.c": "2"}},
            {"result": "success", "output": {"a": {"b": 1, "c": 2}}},
        ),
        ({"json": '{"result": "failure", "output": [1]}'}, {"result": "failure", "output": [1]}),
    ],
)
def test_a_form_says_an_outcome(form: dict[str, Any], outcome: dict[str, Any]) -> None:
    assert outcome_from_form(form) == outcome


MISSING = "is missing: say a result, a verdict, an eval or an exit code"
PLACES = "names no single place; say the outcome as JSON"
FITS = "does not fit what another field says of the same place"


@pytest.mark.parametrize(
    ("form", "path", "message"),
    [
        ({}, "form.result", MISSING),
        ({"summary": "s", "comment": "c"}, "form.result", MISSING),
        ({"failure_type": "late", "output": {"n": "1"}}, "form.result", MISSING),
        ({"resul": "x"}, "form.resul", None),
        ({"result": 1}, "form.result", None),
        ({"result": "done"}, "form.result", None),
        ({"exit_code": "x"}, "form.exit_code", None),
        ({"result": "success", "output": {"$.a[*]": "1"}}, "form.output[$.a[*]]", PLACES),
        ({"result": "success", "output": {"$[0]": "1"}}, "form.output[$[0]]", PLACES),
        ({"result": "success", "output": {"a": "1", "a.b": "2"}}, "form.output[a.b]", FITS),
        ({"result": "success", "output": {"$.a[0]": "1", "a.b": "2"}}, "form.output[a.b]", FITS),
        ({"result": "success", "output": {"a.b": "2", "$.a[0]": "1"}}, "form.output[$.a[0]]", FITS),
        ({"result": "success", "output": {"a": 1}}, "form.output[a]", None),
        ({"output": []}, "form.output", None),
        ({"json": "{"}, "form.json", None),
        ({"json": ""}, "form.json", None),
        ({"json": '{"result": "done"}'}, "form.json", None),
    ],
)
def test_what_is_at_fault_is_named_with_its_place(form: Any, path: str, message: str | None) -> None:
    with pytest.raises(Malformed) as caught:
        outcome_from_form(form)
    assert caught.value.path == path
    assert message is None or caught.value.message == message


def test_a_fault_within_the_json_names_where_it_is() -> None:
    with pytest.raises(Malformed) as caught:
        outcome_from_form({"json": '{"result": "done"}'}, "step")
    assert caught.value.path == "step.json"
    assert caught.value.message.startswith("result: ")
    with pytest.raises(Malformed, match="is not JSON: "):
        outcome_from_form({"json": "{"})
