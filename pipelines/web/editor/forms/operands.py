"""Operands of an `output` or `eval` condition, what it looks at and what it compares with, as text in a field
and back.

Texts are typed as they are. Input that reads as JSON is JSON (`3`, `true`, `["a"]`), so a text that looks
like it is written in quotes; operators that only know texts take the input as it stands.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pipelines.routing.basics.values import TYPES, is_number
from pipelines.routing.document import operators
from pipelines.web.editor.forms.fields import ChoiceField, FieldRefused, FormField, Reading
from pipelines.web.editor.forms.fields.reading import MEANT
from pipelines.web.editor.forms.fragment_paths import MISSING

ON_TEXTS = ("text", "pattern")
LISTED = Reading(json_from="[", form="parts", between=",", values=True, blank=[], none=[])


@dataclass(frozen=True, kw_only=True)
class PathField(ChoiceField):
    """Into the output; `known`: recorded ones, each with an example."""

    known: tuple[tuple[str, str], ...] = ()

    @property
    def widget(self) -> str:  # type: ignore[override]
        return "path"


@dataclass(frozen=True, kw_only=True)
class OperandField(FormField):
    """`op`: what compares. `texts`: of an eval, which is a text unless its order counts."""

    op: Any
    texts: bool = False
    code: bool = True
    known: tuple[tuple[str, str], ...] = ()
    """What is likely, each with a word on it; anything else may be typed."""

    @property
    def widget(self) -> str:  # type: ignore[override]
        return "path" if self.known else "text"

    @property
    def reading(self) -> Reading:
        if self.reads_text:
            return Reading(verbatim=True)
        return LISTED if operators.operand_kind(self.op) == "list" else MEANT

    @property
    def reads_text(self) -> bool:
        return operators.operand_kind(self.op) in ON_TEXTS or (
            self.texts and self.op not in operators.ORDERED
        )

    def to_text(self, value: Any) -> str:
        if self.reads_text and type(value) is str:
            return value
        if operators.operand_kind(self.op) == "list" and type(value) is list and value:
            listing = ", ".join(map(to_typed, value))
            # Only if the text is read back as the very same list
            if LISTED.parse_value(listing) == value:
                return listing
        return to_typed(value)

    def parse_value(self, typed: str) -> Any:
        value = super().parse_value(typed)
        if value is MISSING:
            raise FieldRefused("nothing is typed", 'an empty text is written ""')
        return value


def to_typed(value: Any) -> str:
    if type(value) is str and value == value.strip() and MEANT.parse_value(value) == value:
        return value
    return json.dumps(value, ensure_ascii=False)


def output_test_with_operator(test: Mapping[str, Any], op: str, *, text_only: bool) -> dict[str, Any]:
    """The test with another operator, and a value that this one can use."""
    value = test.get("value", MISSING)
    remaining = {key: member for key, member in test.items() if key not in ("op", "value")}
    changed = {**remaining, "op": op}
    if op in operators.ALONE:
        return changed
    return {**changed, "value": _usable_value(op, value, text_only)}


def _usable_value(op: str, value: Any, text_only: bool) -> Any:
    # A text of two numbers, such as `200,299`
    if op == "range":
        return value if _is_range(value) else "0,100"
    operand_type = operators.operand_kind(op)
    if operand_type == "number":
        return value if is_number(value) else _number_or_zero(value)
    if operand_type == "list":
        return value if type(value) is list else [] if value is MISSING else [value]
    if operand_type == "type":
        return value if value in TYPES else "string"
    if operand_type == "pattern":
        return value if type(value) is str and _is_pattern(value) else ""
    if text_only or operand_type in ON_TEXTS:
        return value if type(value) is str else "" if value in (MISSING, []) else to_typed(value)
    # From an operator of lists to one of single values
    if type(value) is list and len(value) == 1:
        return value[0]
    return "" if value is MISSING else value


def _number_or_zero(value: Any) -> Any:
    number = MEANT.parse_value(value) if type(value) is str else None
    return number if is_number(number) else 0


def _is_range(value: Any) -> bool:
    try:
        operators.parse_least_and_most(value)
    except operators.OperandError:
        return False
    return True


def _is_pattern(value: str) -> bool:
    try:
        operators.compile_pattern(value)
    except operators.OperandError:
        return False
    return True
