"""Plain fields of a form as the line document declares them: label, help and choices are said there, once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _

from pipelines.routing.document.fields import plain
from pipelines.routing.document.fields.field import Field as Declared
from pipelines.routing.document.fields.field import Written
from pipelines.routing.document.fields.record import Record
from pipelines.routing.document.work import call, keys
from pipelines.web.editor.forms.fields import (
    AnythingField,
    ArgumentsField,
    ChoiceField,
    DurationField,
    FlagField,
    FormField,
    ListedField,
    NumberField,
    PairsField,
    TextField,
)
from pipelines.web.editor.forms.form import Rows
from pipelines.web.editor.forms.places import Place

Make = Callable[..., FormField]


def _named(declared: Declared, make: Make, **shown: Any) -> FormField:
    """What the other parts of the line name it by; what is wrong with the whole of it is shown here."""
    return make(**{"needed": True, "code": True, **shown})


def _choice(declared: plain.Choice, make: Make, **shown: Any) -> FormField:
    return make(**{"options": options(declared), **shown})


def _flag(declared: plain.Flag, make: Make, **shown: Any) -> FormField:
    return make(**{"usual": bool(declared.default), **shown})


def _texts(declared: plain.Texts, make: Make, **shown: Any) -> FormField:
    return make(**{"between": declared.between, **shown})


def _work_text(declared: keys.TextKey, make: Make, **shown: Any) -> FormField:
    """What has to be there is written empty, too, so that what is missing is told."""
    return make(**{"needed": bool(declared.asked) and declared.spared is keys.never, **shown})


def _plain(declared: Declared, make: Make, **shown: Any) -> FormField:
    return make(**shown)


CONTROLS: Mapping[type[Declared], tuple[Make, Callable[..., FormField]]] = {
    plain.Text: (TextField, _plain),
    plain.Name: (TextField, _plain),
    plain.Key: (TextField, _named),
    plain.Id: (TextField, _named),
    plain.Flag: (FlagField, _flag),
    plain.Count: (NumberField, _plain),
    plain.Duration: (DurationField, _plain),
    plain.Choice: (ChoiceField, _choice),
    plain.Reference: (ChoiceField, _plain),
    plain.Texts: (ListedField, _texts),
    plain.Anything: (AnythingField, _plain),
    plain.Object: (AnythingField, _plain),
    keys.TextKey: (TextField, _work_text),
    keys.StationOf: (ChoiceField, _plain),
    keys.ArgumentsKey: (ArgumentsField, _plain),
    keys.EnvironmentKey: (PairsField, _plain),
    call.Headers: (PairsField, _plain),
    keys.WorkKey: (AnythingField, _plain),
}
"""The control of each kind of declaration, and what it adds; of one that is not named, that of what it extends."""


def control(record: Record[Any], at: Place, key: str, make: Make | None = None, **more: Any) -> FormField:
    """The field for `key` of the object at this place. `make`: another control than the usual one; `more` goes to it
    and counts before what is declared."""
    declared = record.fields[key]
    usual, fill = next(CONTROLS[each] for each in type(declared).__mro__ if each in CONTROLS)
    shown = {
        "help": _(declared.help),
        "placeholder": declared.placeholder,
        "rows": declared.rows,
        "code": declared.code,
    }
    said = {name: value for name, value in shown.items() if value}
    return fill(declared, make or usual, **{"at": (*at, key), "label": _(declared.label), **said, **more})


def options(declared: plain.Choice) -> list[tuple[str, str]]:
    """The values with their words, the usual one left out of the document first."""
    words = (
        declared.choices
        if isinstance(declared.choices, Mapping)
        else {each: each for each in declared.choices}
    )
    usual = None if declared.written is Written.ALWAYS else declared.default
    said = [("" if value == usual else value, _(words[value])) for value in words]
    return sorted(said, key=lambda option: option[0] != "")


def others(
    record: Record[Any], at: Place, placed: Sequence[FormField | Rows], but: Collection[str] = ()
) -> list[FormField | Rows]:
    """Fields for what is declared with a label and has no place among those yet."""
    known = {each.at[len(at)] for each in placed if each.at[: len(at)] == at and len(each.at) > len(at)}
    return [
        control(record, at, key)
        for key, declared in record.fields.items()
        if declared.label and key not in known and key not in but
    ]
