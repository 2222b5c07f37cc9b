"""Fields of one value, and choices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from pipelines.routing.basics.durations import format_duration
from pipelines.web.editor.forms import fragment_paths
from pipelines.web.editor.forms.fields.base import FormField, Options
from pipelines.web.editor.forms.fields.json_text import FieldRefused
from pipelines.web.editor.forms.fields.reading import Reading, reading_of_plain_text
from pipelines.web.editor.forms.fragment_paths import MISSING


@dataclass(frozen=True, kw_only=True)
class TextField(FormField):
    @property
    def reading(self) -> Reading:
        return reading_of_plain_text(keeps_space=bool(self.rows), blank=self.blank)

    def with_typed(self, fragment: Any, typed: Sequence[str]) -> Any:
        # A text that stands there empty says something else than none: to type it again takes it not away.
        return (
            fragment
            if list(typed) == self.control_values_for_fragment(fragment)
            else super().with_typed(fragment, typed)
        )


@dataclass(frozen=True, kw_only=True)
class NumberField(FormField):
    """A whole number; what is none is written as text, which the reader refuses."""

    widget: ClassVar[str] = "number"
    # At most 18 digits, which fit into 64 bits.
    reading: ClassVar[Reading] = Reading(numbers="-?[0-9]{1,18}")


@dataclass(frozen=True, kw_only=True)
class AmountField(NumberField):
    """A number, which may have decimals; what is none is written as text, which the reader refuses."""

    widget: ClassVar[str] = "text"
    reading: ClassVar[Reading] = Reading(numbers=r"-?[0-9]{1,18}|[0-9]{1,15}\.[0-9]{1,6}")


@dataclass(frozen=True, kw_only=True)
class DurationField(FormField):
    placeholder: str = "90s, 5m, 2h, 1d"
    reading: ClassVar[Reading] = Reading(numbers=r"[0-9]{1,18}(\.[0-9]{1,6})?")

    def to_text(self, value: Any) -> str:
        # Not `isinstance`: true is an int, too.
        if type(value) is int and value > 0:
            return format_duration(value)
        return super().to_text(value)


@dataclass(frozen=True, kw_only=True)
class ChoiceField(FormField):
    """Choice of one of `options`, pairs of value and label; the value "" stands for the key left out. `free`:
    a list with a text input, whose text counts."""

    options: Options
    free: bool = False

    @property
    def widget(self) -> str:  # type: ignore[override]
        return "combobox" if self.free else "select"

    def control_values_for_fragment(self, fragment: Any) -> list[str]:
        return super().control_values_for_fragment(fragment) or [""]

    def describe_write(self, fragment: Any) -> dict[str, Any]:
        """Add to options that write more than their own place what each changes."""
        own = super().describe_write(fragment)
        # Then every option writes its own place, which the page does by itself.
        if type(self).with_typed is FormField.with_typed:
            return own
        changes = {value: self._option_change(fragment, value) for value, _words in self.options}
        return own | {"options": {value: change for value, change in changes.items() if change}}

    def _option_change(self, fragment: Any, value: str) -> dict[str, Any]:
        try:
            changed = self.with_typed(fragment, [value])
        except FieldRefused:  # the answer says why
            return {}
        if changed == fragment:
            return {}
        at, new = fragment_paths.innermost_place_and_value_of_change(fragment, changed)
        return {"at": fragment_paths.path_name(at)} | ({} if new is MISSING else {"value": new})

    def choices(self, current: str) -> Options:
        """Return the options with the current value, even where it is none of them."""
        known = any(value == current for value, words in self.options)
        return self.options if known or not current else [*self.options, (current, current)]


@dataclass(frozen=True, kw_only=True)
class FlagField(FormField):
    """A tick; what is the usual is left out."""

    usual: bool = False
    widget: ClassVar[str] = "checkbox"

    def describe_write(self, fragment: Any) -> dict[str, Any]:
        return {"flag": self.usual}

    def control_values_for_fragment(self, fragment: Any) -> list[str]:
        value = fragment_paths.value_at(fragment, self.at)
        return ["on"] if (value if type(value) is bool else self.usual) else []

    def with_typed(self, fragment: Any, typed: Sequence[str]) -> Any:
        ticked = bool(typed)
        return fragment_paths.fragment_with_value_at(
            fragment, self.at, MISSING if ticked == self.usual else ticked
        )


@dataclass(frozen=True, kw_only=True)
class SeveralField(FormField):
    """Ticks that make a list; `usual` is what counts where the key is left out."""

    options: Options
    usual: tuple[str, ...] = ()
    widget: ClassVar[str] = "checkboxes"

    def describe_write(self, fragment: Any) -> dict[str, Any]:
        return {"ticks": list(self.usual)}

    def control_values_for_fragment(self, fragment: Any) -> list[str]:
        value = fragment_paths.value_at(fragment, self.at)
        return [self.to_text(member) for member in value] if type(value) is list else list(self.usual)

    def choices(self, current: Sequence[str]) -> Options:
        known = {value for value, words in self.options}
        return [*self.options, *((value, value) for value in dict.fromkeys(current) if value not in known)]

    def with_typed(self, fragment: Any, typed: Sequence[str]) -> Any:
        """Return the fragment with the chosen values: present ones in their old order, new ones in the order
        of the options."""
        before = self.control_values_for_fragment(fragment)
        # What is unchanged stays as it is written, also where it is the usual.
        if set(before) == set(typed):
            return fragment
        remaining = [value for value in before if value in typed]
        chosen = remaining + [
            value for value, words in self.choices(typed) if value in typed and value not in remaining
        ]
        usual = set(chosen) == set(self.usual)
        return self.with_value(fragment, MISSING if usual or not chosen else chosen)
