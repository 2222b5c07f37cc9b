"""The fields of the editor's forms: what a place of the fragment shows as text, and what typed text writes there.

A field is only asked for what was changed in it, so what it shows need not say all that stands there."""

from __future__ import annotations

from pipelines.web.editor.forms.fields.base import FormField, Options
from pipelines.web.editor.forms.fields.json_fields import AnythingField, RestField
from pipelines.web.editor.forms.fields.json_text import FieldRefused
from pipelines.web.editor.forms.fields.lists import ArgumentsField, ListedField, PairsField
from pipelines.web.editor.forms.fields.plain import (
    AmountField,
    ChoiceField,
    DurationField,
    FlagField,
    NumberField,
    SeveralField,
    TextField,
)
from pipelines.web.editor.forms.fields.reading import Reading

__all__ = [
    "AmountField",
    "AnythingField",
    "ArgumentsField",
    "ChoiceField",
    "DurationField",
    "FieldRefused",
    "FlagField",
    "FormField",
    "ListedField",
    "NumberField",
    "Options",
    "PairsField",
    "Reading",
    "RestField",
    "SeveralField",
    "TextField",
]
