"""The field that each key of a work has in the inspector."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.utils.translation import gettext

from pipelines.routing.document.work import call, keys
from pipelines.routing.document.work.keys import Key, never
from pipelines.web.editor.forms.fields import (
    Anything,
    Arguments,
    Choice,
    Duration,
    Field,
    Flag,
    Number,
    Options,
    Pairs,
    Text,
)
from pipelines.web.editor.forms.form import Setting
from pipelines.web.editor.forms.places import Place

Shown = dict[str, Any]
"""What every field takes from its key: place, label, help, placeholder."""


def said(text: str) -> str:
    """A text that a key declares, in the language of the reader."""
    return gettext(text) if text else ""


def field_of(key: Key, at: Place, setting: Setting | None = None) -> Field:
    """Raises KeyError for a key that is more than one field: those are in `work`."""
    shown: Shown = {"at": (*at, key.name), "label": said(key.label), "help": said(key.help)}
    if key.placeholder:
        shown["placeholder"] = key.placeholder
    return FIELDS[type(key)](key, shown, setting)


def _text(key: keys.Text, shown: Shown, setting: Setting | None) -> Field:
    # What has to be there is written empty, too, so that what is missing is told.
    return Text(**shown, rows=key.rows, code=key.code, needed=bool(key.asked) and key.spared is never)


def _choice(key: keys.Choice, shown: Shown, setting: Setting | None) -> Field:
    words = {word: said(key.called.get(word, "")) or word for word in key.words}
    rest = [(word, called) for word, called in words.items() if word != key.usual]
    return Choice(**shown, options=[("", words[key.usual]), *rest])


def _station(key: keys.StationOf, shown: Shown, setting: Setting | None) -> Field:
    stations = setting.names.stations if setting else ()
    known: Options = [(each.key, each.name or each.key) for each in stations if each.kind == key.kind]
    return Choice(**shown, options=[("", said(key.none)), *known])


FIELDS: Mapping[type[Key], Callable[[Any, Shown, Setting | None], Field]] = {
    keys.Text: _text,
    keys.ContextKey: _text,
    call.Address: _text,
    keys.Choice: _choice,
    keys.StationOf: _station,
    keys.Flag: lambda key, shown, setting: Flag(**shown, usual=key.usual),
    keys.Count: lambda key, shown, setting: Number(**shown),
    keys.Number: lambda key, shown, setting: Anything(**shown),
    keys.Duration: lambda key, shown, setting: Duration(**shown),
    keys.Json: lambda key, shown, setting: Anything(**shown, rows=key.rows),
    keys.Arguments: lambda key, shown, setting: Arguments(**shown, rows=key.rows),
    keys.Environment: lambda key, shown, setting: Pairs(**shown, rows=2),
    call.Headers: lambda key, shown, setting: Pairs(**shown, rows=2),
}
