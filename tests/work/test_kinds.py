"""Every kind of work has what a kind has to have: a new one is told here what it lacks."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, cast

import jsonschema_rs
import pytest

from pipelines.formats.native import json_schema
from pipelines.routing.document.kinds import KINDS, TABLE
from pipelines.routing.document.line import DocumentError, read_line
from pipelines.routing.document.work.kind import Kind
from pipelines.web.editor.forms import work
from pipelines.web.editor.forms.form import FormSetting
from pipelines.web.editor.forms.form_request import Outline
from pipelines.web.lines.kinds import work_kind_fields
from pipelines.work.handlers.table import HANDLERS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
VALIDATOR = jsonschema_rs.validator_for(json_schema())
# All of them also in make test: a new kind has to be told what it lacks
all_kinds = pytest.mark.smoke(1000)
each_kind = pytest.mark.parametrize("kind", TABLE, ids=lambda kind: kind.key)


def document(work: dict[str, Any]) -> dict[str, Any]:
    return {"key": "line", "stations": [{"key": "a", "work": work}]}


@pytest.mark.parametrize("log", ["calls", "executes"])
def test_what_takes_no_time_cannot_have_a_log(log: str) -> None:
    with pytest.raises(ValueError, match="has no log"):
        Kind(key="note", name="Note", about="", icon="", docs="", instant=True, **{log: True})


@all_kinds
@each_kind
def test_a_kind_has_one_file_that_is_named_for_it(kind: Kind) -> None:
    assert (ROOT / f"pipelines/routing/document/kinds/{kind.key}.py").exists()
    assert KINDS[kind.key] is kind


@all_kinds
@each_kind
def test_a_kind_says_in_words_what_it_is(kind: Kind) -> None:
    told = next(each for each in work_kind_fields() if each["key"] == kind.key)
    assert told["name"] and told["about"].endswith(".")
    assert bool(kind.title) == bool(kind.keys)


@all_kinds
@each_kind
def test_a_kind_is_documented(kind: Kind) -> None:
    assert f"\n| `{kind.key}` |" in (DOCS / "kinds.md").read_text("utf-8")
    page, anchor = kind.docs.split("#")
    heads = re.findall(r"(?m)^#+ (.+)$", (DOCS / page).read_text("utf-8"))
    assert anchor in [re.sub(r"[^\w -]", "", head).strip().lower().replace(" ", "-") for head in heads]


@all_kinds
@each_kind
def test_a_kind_is_read_and_described_by_its_keys_and_no_others(kind: Kind) -> None:
    assert read_line(document({"kind": kind.key})).stations[0].kind == kind.key
    assert set(kind.record.schema()["properties"]) == {"kind", "network", *kind.keys}
    other = document({"kind": kind.key, "no-such-key": 1})
    assert not VALIDATOR.is_valid(other)
    with pytest.raises(DocumentError) as refused:
        read_line(other)
    assert "stations[0].work.no-such-key: unknown key" in str(refused.value)


@all_kinds
@each_kind
def test_a_kind_has_a_field_for_each_of_its_keys(kind: Kind) -> None:
    assert not kind.fields or sorted(kind.fields) == sorted(kind.keys)
    setting = FormSetting(cast(Any, None), Outline(), "a")
    fragments = ({"key": "a", "work": {"kind": kind.key, **more}} for more in (kind.fresh, {}))
    sections = [each for fragment in fragments for each in work.work_sections(kind.key, fragment, setting)]
    shown = [field for section in sections for field in section.fields]
    assert {field.at[1] for field in shown} == set(kind.keys)
    assert all(field.label for field in shown)


def test_what_workers_do_has_a_handler_and_nothing_else_has() -> None:
    assert {kind.key for kind in TABLE if kind.is_done_by_workers} == set(HANDLERS)
