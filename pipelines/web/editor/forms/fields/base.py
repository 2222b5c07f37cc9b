"""Base of every field of a form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from pipelines.web.editor.forms import fragment_paths
from pipelines.web.editor.forms.fields.json_text import to_json
from pipelines.web.editor.forms.fields.reading import Reading, reading_of_plain_text
from pipelines.web.editor.forms.fragment_paths import MISSING, Place

Options = Sequence[tuple[str, str]]


@dataclass(frozen=True, kw_only=True)
class FormField:
    """Field of a form. `at`: its path in the fragment. `covers`: further paths whose problems appear here.
    `whole`: the path to remove where the field is left empty; `also`: what else is written where it has a
    value. `reading`: how the typed text is read; `needed`: see `blank`."""

    at: Place
    label: str
    help: str = ""
    placeholder: str = ""
    rows: int = 0
    code: bool = False
    longest: int = 0
    covers: tuple[str, ...] = ()
    needed: bool = False
    whole: Place = ()
    also: tuple[tuple[Place, Any], ...] = ()
    widget: ClassVar[str] = "text"

    @property
    def reading(self) -> Reading:
        return reading_of_plain_text(keeps_space=True, blank=self.blank)

    @property
    def blank(self) -> Any:
        """Value of nothing typed: where one is needed it is written empty, so that the reader says what is missing."""
        return "" if self.needed else MISSING

    def describe_write(self, fragment: Any) -> dict[str, Any]:
        """Describe what a change of the control writes: one of the ways in `Field` (formWrites.ts)."""
        return {"text": self.reading.data}

    def describe_change(self, fragment: Any) -> dict[str, Any]:
        """Describe, for the page, what a change of the control makes of the fragment."""
        change = {"at": fragment_paths.path_name(self.at), **self.describe_write(fragment)}
        if self.whole:
            change["whole"] = fragment_paths.path_name(self.whole)
        if self.also:
            change["also"] = {fragment_paths.path_name(place): value for place, value in self.also}
        return change

    @cached_property
    def name(self) -> str:
        return fragment_paths.path_name(self.at)

    def control_values_for_fragment(self, fragment: Any) -> list[str]:
        """Return the content of the control."""
        value = fragment_paths.value_at(fragment, self.at)
        return [] if value is MISSING else [self.to_text(value)]

    def with_typed(self, fragment: Any, typed: Sequence[str]) -> Any:
        """Return the fragment with the typed text written to this field. Raises FieldRefused."""
        return self.with_value(fragment, self.parse_value(typed[0] if typed else ""))

    def with_value(self, fragment: Any, value: Any) -> Any:
        if value is MISSING:
            # Without its value the object around it says nothing, such as `due` without `after`.
            return fragment_paths.fragment_with_value_at(fragment, self.whole or self.at, MISSING)
        for place, other in self.also:
            fragment = fragment_paths.fragment_with_value_at(fragment, place, other)
        return fragment_paths.fragment_with_value_at(fragment, self.at, value)

    def to_text(self, value: Any) -> str:
        return value if type(value) is str else to_json(value)

    def parse_value(self, typed: str) -> Any:
        """Return the value of the typed text; MISSING removes the key. Raises FieldRefused."""
        return self.reading.parse_value(typed)


def join_name(prefix: str, name: str) -> str:
    return f"{prefix}.{name}" if prefix else name
