"""Plain fields of a form as the line document declares them: label, help and choices are said there, once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipelines.routing.document import gate_tools
from pipelines.routing.document.fields import plain_fields
from pipelines.routing.document.fields.field import Field as Declared
from pipelines.routing.document.fields.field import WriteCondition
from pipelines.routing.document.fields.record import Record
from pipelines.routing.document.jumps import Jumps
from pipelines.routing.document.work import http_call, keys
from pipelines.web.editor.forms.fields import (
    AmountField,
    AnythingField,
    ArgumentsField,
    ChoiceField,
    DurationField,
    FlagField,
    FormField,
    ListedField,
    NumberField,
    Options,
    PairsField,
    SeveralField,
    TextField,
)
from pipelines.web.editor.forms.fields.lists import JumpsField
from pipelines.web.editor.forms.form import Rows
from pipelines.web.editor.forms.fragment_paths import Place

Make = Callable[..., FormField]


def _key_field(declared: Declared, make: Make, **arguments: Any) -> FormField:
    """Return the field for the name that other parts of the line use; problems of the whole part appear here."""
    return make(**{"needed": True, "code": True, **arguments})


@dataclass(frozen=True, kw_only=True)
class DefaultedChoiceField(ChoiceField):
    """Choice with a usual value, which is left out and may also be written out."""

    usual: str | None = None

    def choices(self, current: str) -> Options:
        if current != self.usual or not current:
            return super().choices(current)
        # Written out, the usual value takes the place of the empty option.
        return [(value or current, words) for value, words in self.options]


def _choice_field(declared: plain_fields.Choice, make: Make, **arguments: Any) -> FormField:
    usual = {"usual": declared.default} if _is_control(make, DefaultedChoiceField) else {}
    return make(**{"options": choice_options(declared), **usual, **arguments})


def _several_field(declared: plain_fields.ChoiceList, make: Make, **arguments: Any) -> FormField:
    return make(**{"options": labelled_choices(declared.choices), **arguments})


def _flag_field(declared: plain_fields.Flag, make: Make, **arguments: Any) -> FormField:
    return make(
        **{**({"usual": bool(declared.default)} if _is_control(make, FlagField) else {}), **arguments}
    )


def _texts_field(declared: plain_fields.Texts, make: Make, **arguments: Any) -> FormField:
    return make(**{**({"between": declared.between} if _is_control(make, ListedField) else {}), **arguments})


def _work_text_field(declared: keys.TextKey, make: Make, **arguments: Any) -> FormField:
    """Return the field of a text; a required text is written even if empty, so that its absence is reported."""
    # Written even if it is empty: the reader then says what is missing
    return make(**{"needed": bool(declared.asked) and declared.spared is keys.never_applies, **arguments})


def _is_control(make: Make, control: type[FormField]) -> bool:
    """Return whether the control `make` accepts what `control` does."""
    return isinstance(make, type) and issubclass(make, control)


def _plain_field(declared: Declared, make: Make, **arguments: Any) -> FormField:
    return make(**arguments)


CONTROLS: Mapping[type[Declared], tuple[Make, Callable[..., FormField]]] = {
    plain_fields.Text: (TextField, _plain_field),
    plain_fields.Name: (TextField, _plain_field),
    plain_fields.Key: (TextField, _key_field),
    plain_fields.Id: (TextField, _key_field),
    plain_fields.Flag: (FlagField, _flag_field),
    plain_fields.Count: (NumberField, _plain_field),
    plain_fields.Amount: (AmountField, _plain_field),
    plain_fields.Duration: (DurationField, _plain_field),
    plain_fields.Choice: (DefaultedChoiceField, _choice_field),
    plain_fields.ChoiceList: (SeveralField, _several_field),
    plain_fields.Reference: (ChoiceField, _plain_field),
    plain_fields.Texts: (ListedField, _texts_field),
    Jumps: (JumpsField, _texts_field),
    plain_fields.Anything: (AnythingField, _plain_field),
    plain_fields.Object: (AnythingField, _plain_field),
    keys.TextKey: (TextField, _work_text_field),
    keys.StationKey: (ChoiceField, _plain_field),
    keys.GateKey: (ChoiceField, _plain_field),
    keys.ArgumentsKey: (ArgumentsField, _plain_field),
    keys.EnvironmentKey: (PairsField, _plain_field),
    http_call.HeadersKey: (PairsField, _plain_field),
    gate_tools.Environment: (PairsField, _plain_field),
    Declared: (AnythingField, _plain_field),
}
"""The control of each kind of declaration, and what it adds; of one that is not named, that of what it extends."""


def declared_control(
    record: Record[Any], at: Place, key: str, make: Make | None = None, **more: Any
) -> FormField:
    """The field for `key` of the object at this place. `make`: another control than the usual one; `more` goes to it
    and counts before what is declared."""
    declared = record.fields[key]
    usual, fill = next(
        CONTROLS[field_type] for field_type in type(declared).__mro__ if field_type in CONTROLS
    )
    presentation = {
        "help": declared.help,
        "placeholder": declared.placeholder,
        "rows": declared.rows,
        "code": declared.code,
    }
    # What is declared empty must not hide what the control has by itself
    stated = {name: value for name, value in presentation.items() if value}
    return fill(declared, make or usual, **{"at": (*at, key), "label": declared.label, **stated, **more})


def choice_options(declared: plain_fields.Choice) -> list[tuple[str, str]]:
    """The values with their words; the usual one first, where it may be left out of the document."""
    choices = labelled_choices(declared.choices)
    if declared.required or declared.written is WriteCondition.ALWAYS:
        return choices
    choices = [("" if value == declared.default else value, words) for value, words in choices]
    # False comes before True; all others keep their order.
    return sorted(choices, key=lambda option: option[0] != "")


def labelled_choices(choices: Collection[str]) -> list[tuple[str, str]]:
    """Return each choice with its label, or with itself where it has none."""
    return [(choice, choices[choice] if isinstance(choices, Mapping) else choice) for choice in choices]


def remaining_fields(
    record: Record[Any], at: Place, placed: Sequence[FormField | Rows], excluded_keys: Collection[str] = ()
) -> list[FormField | Rows]:
    """Fields for what is declared with a label and has no place among those yet."""
    known = {item.at[len(at)] for item in placed if item.at[: len(at)] == at and len(item.at) > len(at)}
    return [
        declared_control(record, at, key)
        for key, declared in record.fields.items()
        if declared.label and key not in known and key not in excluded_keys
    ]
