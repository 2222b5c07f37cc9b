"""What is typed into the inspector means the same in the page, which tells it before the answer comes, and on the
server: both follow the reading that a field declares (`pipelines/web/editor/forms/fields/reading.py`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from pipelines.web.editor.forms.conditions.controls import FailureTypesField, WordsField
from pipelines.web.editor.forms.fields import (
    AmountField,
    AnythingField,
    ArgumentsField,
    ChoiceField,
    DurationField,
    FieldRefused,
    FlagField,
    FormField,
    ListedField,
    NumberField,
    PairsField,
    RestField,
    SeveralField,
    TextField,
)
from pipelines.web.editor.forms.fields.lists import JumpsField
from pipelines.web.editor.forms.form import FormSetting
from pipelines.web.editor.forms.limits import RequirementsField
from pipelines.web.editor.forms.operands import OperandField
from pipelines.web.editor.forms.rule import ExhaustedField, YesNoField
from pipelines.web.editor.forms.work import HostsField
from tests.design.typescript import run
from tests.factories import World
from tests.pages.test_editor_forms_whole import all_fields, documents, outline, parts

WRITE = """
const { written, UNSURE } = load("static/editor/inspector/formWrites.ts");
return asked.map(([fragment, field, typed]) => {
  const found = written(fragment, field, typed);
  return typeof found === "symbol" ? { unsure: true } : { fragment: found };
});
"""
REFUSED = object()


def x(make: type[FormField], **more: Any) -> FormField:
    return make(at=("x",), label="X", **more)


GONE: dict[str, Any] = {}
ABC = [(each, each) for each in "abc"]
CASES: list[tuple[FormField, Sequence[str], Any]] = [
    (x(TextField), [" src "], {"x": "src"}),
    (x(TextField), [" "], GONE),
    (x(TextField, needed=True), [" "], {"x": ""}),
    (x(TextField, rows=3), [" one\r\ntwo "], {"x": " one\ntwo "}),
    (x(NumberField), [" 90 "], {"x": 90}),
    (x(NumberField), ["-007"], {"x": -7}),
    (x(NumberField), ["123456789012345678"], {"x": 123456789012345678}),
    (x(NumberField), ["1.5"], {"x": "1.5"}),
    (x(AmountField), ["1.50"], {"x": 1.5}),
    (x(DurationField), ["5m"], {"x": "5m"}),
    (x(DurationField), ["90"], {"x": 90}),
    (x(DurationField), [""], GONE),
    (x(FlagField), ["on"], {"x": True}),
    (x(FlagField), [], GONE),
    (x(FlagField, usual=True), [], {"x": False}),
    (x(FlagField, usual=True), ["on"], GONE),
    (x(SeveralField, options=ABC), ["a", "b"], {"x": ["a", "b"]}),
    (x(SeveralField, options=ABC, usual=("b", "a")), ["a", "b"], GONE),
    (x(SeveralField, options=ABC, usual=("b", "a")), ["a"], {"x": ["a"]}),
    (x(WordsField, options=ABC, any_of=()), ["a"], {"x": "a"}),
    (x(WordsField, options=ABC, any_of=()), ["a", "c"], {"x": ["a", "c"]}),
    (x(ListedField), ["a, b\n\n c "], {"x": ["a, b", "c"]}),
    (x(ListedField), ['["a\\nb"]'], {"x": ["a\nb"]}),
    (x(ListedField), ["[a"], {"x": ["[a"]}),
    (x(ListedField), ["[]"], GONE),
    (x(ListedField, needed=True), [""], {"x": []}),
    (x(ListedField, between=","), [" a,b , "], {"x": ["a", "b"]}),
    (x(JumpsField), ["all"], {"x": "all"}),
    (x(JumpsField), ["[ ]"], {"x": []}),
    (x(JumpsField), ["a\nb"], {"x": ["a", "b"]}),
    (x(RequirementsField), ["[]"], {"x": []}),
    (x(RequirementsField), [","], GONE),
    (x(HostsField), [""], {"x": []}),
    (x(FailureTypesField, between=","), ["flaky"], {"x": "flaky"}),
    (x(FailureTypesField, between=","), ["flaky, timeout"], {"x": ["flaky", "timeout"]}),
    (x(FailureTypesField, between=","), [" "], REFUSED),
    (x(ArgumentsField), ["make  {{ input.who }}.c all"], {"x": ["make", "{{ input.who }}.c", "all"]}),
    (
        x(ArgumentsField),
        ["make 'all of it' \"a \\\"b\\\" {{ input.who }}\"c d\\ e ''"],
        {"x": ["make", "all of it", 'a "b" {{ input.who }}c', "d e", ""]},
    ),
    (
        x(ArgumentsField),
        ["{{ input.who | default: 'x y' }} '{{ a 'b' }}'"],
        {"x": ["{{ input.who | default: 'x y' }}", "{{ a 'b' }}"]},
    ),
    (x(ArgumentsField), ["make 'all"], REFUSED),
    (x(ArgumentsField), ["make all\\"], REFUSED),
    (x(ArgumentsField), ['["make", "all of it"]'], {"x": ["make", "all of it"]}),
    (x(PairsField), ["LEVEL=debug\n\nPATH=a=b"], {"x": {"LEVEL": "debug", "PATH": "a=b"}}),
    (x(PairsField), ["LEVEL"], REFUSED),
    (x(PairsField), ["A=1\nA=2"], REFUSED),
    (x(PairsField), ["{}"], GONE),
    (x(PairsField), ["{"], REFUSED),
    (x(AnythingField), ['{"a": [1.0, 12345678901234567890]}'], {"x": {"a": [1, 12345678901234567890]}}),
    (x(AnythingField), ["[]"], {"x": []}),
    (x(AnythingField), ["{"], REFUSED),
    (x(AnythingField, words=True), [" high "], {"x": "high"}),
    (x(AnythingField, words=True), ["3"], {"x": 3}),
    (x(AnythingField, words=True), [" "], GONE),
    (x(AnythingField, words=True, rows=3), ["one\r\n two"], {"x": "one\n two"}),
    (x(OperandField, op="in"), ["1, two,"], {"x": [1, "two"]}),
    (x(OperandField, op="in"), ['["a,b"]'], {"x": ["a,b"]}),
    (x(OperandField, op="equals"), [" "], REFUSED),
    (x(OperandField, op="starts_with"), [" 3 "], {"x": " 3 "}),
    (x(ChoiceField, options=ABC), ["a"], {"x": "a"}),
    (x(ChoiceField, options=ABC), [""], GONE),
    (x(ExhaustedField, options=()), ["to:gone"], {"x": {"to": "gone"}}),
    (x(YesNoField, options=()), ["no"], {"x": False}),
    (x(TextField, also=((("y",), 1),)), ["a"], {"x": "a", "y": 1}),
    (x(TextField, also=((("y",), 1),)), [""], GONE),
    (RestField(at=(), label="", covered=(("key",),)), ['{"a": {"b": [1]}}'], {"a": {"b": [1]}}),
    (RestField(at=(), label="", covered=(("key",),)), ["[]"], REFUSED),
]


def on_server(field: FormField, fragment: Any, typed: Sequence[str]) -> Any:
    try:
        return field.with_typed(fragment, typed)
    except FieldRefused:
        return REFUSED


def test_page_and_server_write_the_same() -> None:
    in_page = run(WRITE, [({}, field.describe_change({}), typed) for field, typed, _wanted in CASES])
    for (field, typed, wanted), page in zip(CASES, in_page, strict=True):
        assert on_server(field, {}, typed) == wanted, (field, typed)
        assert wanted is REFUSED or page == {"fragment": wanted}, (field, typed, page)


TYPED = (
    "", " ", "a", " a b ", "a, b", "a\r\n\nb", "3", "-3", "1.5", "007", "90071992547409931", "5m", "[]", "[ ]",
    '["a"]', '[1, {"a": null}]', '["a', "{}", '{"a": {"b": 1}}', "{", "true", '"a"', "all", "none", "yes", "to:a",
    "A=1\nB=2=3", "A", "make 'a b' {{ input.who }}", "make '", "escalate", "constructor", "__proto__",
)  # fmt: skip


@pytest.mark.django_db
def test_every_field_of_every_form_is_read_alike(world: World) -> None:
    """Whatever is typed, chosen or ticked. What the server refuses is saved in neither."""
    asked: list[tuple[FormField, Any, Sequence[str]]] = []
    for each in documents()[:2]:
        for what, own, fragment, _put in [*parts(each), *rules(each)]:
            for field in all_fields(what, fragment, FormSetting(world.project, outline(each), own)):
                asked += [(field, fragment, typed) for typed in typed_into(field, fragment)]
    in_page = run(
        WRITE, [(fragment, field.describe_change(fragment), typed) for field, fragment, typed in asked]
    )
    refused = 0
    for (field, fragment, typed), page in zip(asked, in_page, strict=True):
        wanted = on_server(field, fragment, typed)
        refused += wanted is REFUSED
        assert wanted is REFUSED or page == {"fragment": wanted}, (field, typed)
    assert len(asked) > 5_000 and 0 < refused < len(asked) / 3


def rules(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any], Any]]:
    for station in document["stations"]:
        for rule in station.get("rules", []):
            yield "rule", rule["id"], rule, None


def typed_into(field: FormField, fragment: Any) -> Iterator[Sequence[str]]:
    """As a person can: what a control does not offer nobody chooses, and nobody types what is shown already."""
    shown = field.control_values_for_fragment(fragment)
    if isinstance(field, SeveralField):
        values = [value for value, _words in field.options]
        found = [values, values[:1], values[1:], []]
    elif isinstance(field, FlagField):
        found = [["on"], []]
    elif isinstance(field, ChoiceField) and not field.free:
        found = [[value] for value, _words in field.options]
    else:
        found = [[text] for text in TYPED]
    return (typed for typed in found if typed != shown)
