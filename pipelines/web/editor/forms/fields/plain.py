"""Fields of one value, and choices."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from pipelines.routing.basics.durations import written
from pipelines.web.editor.forms import places
from pipelines.web.editor.forms.fields.base import FormField, Options
from pipelines.web.editor.forms.fields.json_text import FieldRefused
from pipelines.web.editor.forms.places import MISSING


@dataclass(frozen=True, kw_only=True)
class TextField(FormField):
    """`needed`: an empty one is written as such, so that the reader says what is missing."""

    @property
    def writes(self) -> str:
        return "lines" if self.rows else "text"

    def written(self, fragment: Any, typed: Sequence[str]) -> Any:
        # A text that stands there empty says something else than none: to type it again takes it not away.
        return fragment if list(typed) == self.shown(fragment) else super().written(fragment, typed)

    def value(self, typed: str) -> Any:
        found = super().value(typed)
        return found.strip() if type(found) is str and not self.rows else found


@dataclass(frozen=True, kw_only=True)
class NumberField(FormField):
    """A whole number; what is none is written as text, which the reader refuses."""

    widget: ClassVar[str] = "number"

    @property
    def writes(self) -> str:
        return "number"

    def value(self, typed: str) -> Any:
        typed = typed.strip()
        return int(typed) if re.fullmatch(r"-?[0-9]{1,18}", typed) else typed or MISSING


@dataclass(frozen=True, kw_only=True)
class AmountField(NumberField):
    """A number, which may have decimals; what is none is written as text, which the reader refuses."""

    widget: ClassVar[str] = "text"

    def value(self, typed: str) -> Any:
        typed = typed.strip()
        if not re.fullmatch(r"[0-9]{1,15}\.[0-9]{1,6}", typed):
            return super().value(typed)
        return float(typed)


@dataclass(frozen=True, kw_only=True)
class DurationField(FormField):
    placeholder: str = "90s, 5m, 2h, 1d"

    @property
    def writes(self) -> str:
        return "number"

    def text(self, value: Any) -> str:
        if type(value) is int and value > 0:
            return written(value)
        return super().text(value)

    def value(self, typed: str) -> Any:
        typed = typed.strip()
        if not re.fullmatch(r"[0-9]{1,18}(\.[0-9]{1,6})?", typed):
            return typed or MISSING
        return float(typed) if "." in typed else int(typed)


@dataclass(frozen=True, kw_only=True)
class ChoiceField(FormField):
    """One of `options`, pairs of value and words; the value "" stands for the key left out. `free`: with a list to
    type into, and what is typed counts."""

    options: Options
    free: bool = False

    @property
    def widget(self) -> str:  # type: ignore[override]
        return "combobox" if self.free else "select"

    @property
    def writes(self) -> str:
        return "choice"

    def shown(self, fragment: Any) -> list[str]:
        return super().shown(fragment) or [""]

    def given(self, fragment: Any) -> Any:
        """Of each option that writes something else than itself: where, and what."""
        found = {}
        for value, _words in self.options:
            plain = places.put(fragment, self.at, value or MISSING)
            try:
                changed = self.written(fragment, [value])
            except FieldRefused:
                continue
            if changed != plain:
                found[value] = places.changed(fragment, changed)
        return {
            value: {"at": places.name(at)} | ({} if new is MISSING else {"value": new})
            for value, (at, new) in found.items()
        } or None

    def choices(self, shown: str) -> Options:
        """With what stands there now, also where it is none of them."""
        known = any(value == shown for value, words in self.options)
        return self.options if known or not shown else [*self.options, (shown, shown)]


@dataclass(frozen=True, kw_only=True)
class FlagField(FormField):
    """A tick; what is the usual is left out."""

    usual: bool = False
    widget: ClassVar[str] = "checkbox"

    @property
    def writes(self) -> str:
        return "off" if self.usual else "on"

    def shown(self, fragment: Any) -> list[str]:
        value = places.get(fragment, self.at)
        return ["on"] if (value if type(value) is bool else self.usual) else []

    def written(self, fragment: Any, typed: Sequence[str]) -> Any:
        ticked = bool(typed)
        return places.put(fragment, self.at, MISSING if ticked == self.usual else ticked)


@dataclass(frozen=True, kw_only=True)
class SeveralField(FormField):
    """Ticks that make a list; `usual` is what counts where the key is left out."""

    options: Options
    usual: tuple[str, ...] = ()
    widget: ClassVar[str] = "checkboxes"

    @property
    def writes(self) -> str:
        return "ticks"

    def given(self, fragment: Any) -> Any:
        return list(self.usual) or None

    def shown(self, fragment: Any) -> list[str]:
        value = places.get(fragment, self.at)
        return [self.text(each) for each in value] if type(value) is list else list(self.usual)

    def choices(self, shown: Sequence[str]) -> Options:
        known = {value for value, words in self.options}
        return [*self.options, *((value, value) for value in dict.fromkeys(shown) if value not in known)]

    def written(self, fragment: Any, typed: Sequence[str]) -> Any:
        """In the order in which they stood, what is new in the order of the options."""
        before = self.shown(fragment)
        if set(before) == set(typed):
            return fragment
        kept = [value for value in before if value in typed]
        chosen = kept + [
            value for value, words in self.choices(typed) if value in typed and value not in kept
        ]
        usual = set(chosen) == set(self.usual)
        return self.put(fragment, MISSING if usual or not chosen else chosen)
