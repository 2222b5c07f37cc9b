"""Base of every field of a form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from pipelines.web.editor.forms import places
from pipelines.web.editor.forms.fields.json_text import as_json
from pipelines.web.editor.forms.fields.reading import Reading
from pipelines.web.editor.forms.places import MISSING, Place

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
        return Reading(kept=True, blank=self.blank)

    @property
    def blank(self) -> Any:
        """Value of nothing typed: where one is needed it is written empty, so that the reader says what is missing."""
        return "" if self.needed else MISSING

    def writes(self, fragment: Any) -> dict[str, Any]:
        """Describe what a change of the control writes: one of the ways in `Field` (formWrites.ts)."""
        return {"text": self.reading.as_data()}

    def change(self, fragment: Any) -> dict[str, Any]:
        """Describe, for the page, what a change of the control makes of the fragment."""
        change = {"at": places.name(self.at), **self.writes(fragment)}
        if self.whole:
            change["whole"] = places.name(self.whole)
        if self.also:
            change["also"] = {places.name(place): value for place, value in self.also}
        return change

    @cached_property
    def name(self) -> str:
        return places.name(self.at)

    def shown(self, fragment: Any) -> list[str]:
        """Return the content of the control."""
        value = places.get(fragment, self.at)
        return [] if value is MISSING else [self.text(value)]

    def written(self, fragment: Any, typed: Sequence[str]) -> Any:
        """The fragment with what was typed. Raises Refused."""
        return self.put(fragment, self.value(typed[0] if typed else ""))

    def put(self, fragment: Any, value: Any) -> Any:
        if value is MISSING:
            # Without its value the object around it says nothing, such as `due` without `after`.
            return places.put(fragment, self.whole or self.at, MISSING)
        for place, other in self.also:
            fragment = places.put(fragment, place, other)
        return places.put(fragment, self.at, value)

    def text(self, value: Any) -> str:
        return value if type(value) is str else as_json(value)

    def value(self, typed: str) -> Any:
        """MISSING takes the key away. Raises Refused."""
        return self.reading.value(typed)


def join_name(prefix: str, name: str) -> str:
    return f"{prefix}.{name}" if prefix else name
