"""Every place of a document is in some field of a form, and a form that is only looked at changes none."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from pipelines.formats import native
from pipelines.routing.document.line import read_line
from pipelines.web.editor.forms import several_stations
from pipelines.web.editor.forms.fields import FormField
from pipelines.web.editor.forms.form import FormSetting, flat_fields
from pipelines.web.editor.forms.form_answer import answer_form
from pipelines.web.editor.forms.form_request import FormRequest, Outline
from pipelines.web.editor.forms.table import FORMS
from tests.factories import World
from tests.pages.editor_documents import EVERYTHING
from tests.routing.test_work_kinds import INPUTS, TOOL, WHOLE

pytestmark = pytest.mark.django_db


DEMO = sorted((Path(settings.BASE_DIR) / "pipelines/lines/demo/lines").glob("*.yaml"))


# --- What a form does not know ------------------------------------------------------------------


def outline(document: dict[str, Any]) -> Outline:
    parts: dict[str, Any] = {
        part: [
            {"key": each["key"], "kind": each.get("work", {}).get("kind", "")}
            for each in document.get(part, [])
        ]
        for part in ("stations", "gates")
    }
    ends = [{"key": each["key"], "kind": each["kind"]} for each in document.get("ends", [])]
    parts["inputs"] = [each["key"] for each in document.get("inputs", [])]
    return Outline(preset=document.get("preset"), policy=document.get("policy"), ends=ends, **parts)


def parts(
    document: dict[str, Any],
) -> Iterator[tuple[str, str, dict[str, Any], Callable[[Any], dict[str, Any]]]]:
    """Each fragment of a document with its form, its key, and the document with another fragment in its place."""
    for what, part in (("station", "stations"), ("gate", "gates"), ("end", "ends")):
        members = document.get(part, [])
        for index, member in enumerate(members):
            rules = {"rules": member["rules"]} if "rules" in member else {}

            def put(new: Any, part: str = part, index: int = index, rules: Any = rules) -> dict[str, Any]:
                changed = [*document[part]]
                changed[index] = {**new, **rules}
                return {**document, part: changed}

            yield what, member["key"], {k: v for k, v in member.items() if k != "rules"}, put
    own = ("gateline", "key", "stations", "gates", "ends", "inputs")
    line = {key: value for key, value in document.items() if key not in own}
    kept = {key: value for key, value in document.items() if key in own}
    yield "line", "", line, lambda new: {**kept, **new}
    if "inputs" in document:
        yield "inputs", "", {"inputs": document["inputs"]}, lambda new: {**document, **new}


def every_kind() -> dict[str, Any]:
    """A station of each kind that calls, chooses, waits or raises, with all that it may say."""
    works = [*WHOLE, {"kind": "chat", "prompt": "p", "tools": "tools"}]
    stations = [{"key": f"s{index}", "work": work} for index, work in enumerate(works)]
    label = {"id": "yes", "when": {"eval": {"op": "equals", "value": "yes"}}, "to": "completed"}
    sort = {"key": "sort", "work": {"kind": "route", "prompt": "p", "strict": True}, "rules": [label]}
    runs = {"key": "tools", "work": {"kind": "tools", "tools": [TOOL]}}
    return {"gateline": 1, "key": "kinds", "inputs": INPUTS, "stations": [*stations, sort, runs]}


def documents() -> list[dict[str, Any]]:
    return [EVERYTHING, every_kind(), *(native.loads(path.read_text()) for path in DEMO)]


@pytest.mark.wide
def test_a_form_that_is_only_looked_at_changes_nothing_and_finds_nothing(world: World) -> None:
    for each in documents():
        for what, own, fragment, _put in parts(each):
            setting = FormSetting(world.project, outline(each), own)
            found = answer_form(FORMS[what], FormRequest(fragment=fragment, own=own), setting)
            assert found.fragment == fragment
            assert not found.refused
            assert not {name: [str(p) for p in said] for name, said in found.problems.items()}


@pytest.mark.wide
def test_every_field_typed_again_as_it_is_shown_means_the_same_line(world: World) -> None:
    """So that nothing is lost between what stands in the document and what the control can hold."""
    seen = 0
    for each in documents():
        same = read_line(each)
        for what, own, fragment, put in parts(each):
            setting = FormSetting(world.project, outline(each), own)
            for field in all_fields(what, fragment, setting):
                typed = {field.name: field.control_values_for_fragment(fragment)}
                found = answer_form(
                    FORMS[what], FormRequest(fragment=fragment, own=own, typed=typed), setting
                )
                assert not found.refused, (own, field.name, found.problems)
                assert read_line(put(found.fragment)) == same, (own, field.name)
                seen += 1
    assert seen > 200


def test_every_place_of_a_document_is_in_some_field(world: World) -> None:
    for what, own, fragment, _put in parts(EVERYTHING):
        setting = FormSetting(world.project, outline(EVERYTHING), own)
        shown = json.dumps(
            [field.control_values_for_fragment(fragment) for field in all_fields(what, fragment, setting)]
        )
        for leaf in leaves(fragment):
            if not (what == "station" and leaf == fragment.get("name")):
                assert str(leaf).strip().split("\n")[0] in shown, (what, own, leaf)


def test_the_canvas_hands_over_whatever_is_set_at_several_stations(world: World) -> None:
    setting = FormSetting(world.project, outline(EVERYTHING), "build")
    assert {field.at[0] for field in all_fields("several", {}, setting)} == set(several_stations.KEYS)


def all_fields(what: str, fragment: Any, setting: FormSetting) -> list[FormField]:
    items = [item for section in FORMS[what].sections(fragment, setting) for item in section.fields]
    return flat_fields(items, fragment)


def leaves(value: Any) -> Iterator[Any]:
    """Texts of a fragment, wherever they stand."""
    if isinstance(value, dict):
        value = [*value.values()]
    if isinstance(value, list):
        for each in value:
            yield from leaves(each)
    elif isinstance(value, str):
        yield value
