"""Fields of any JSON value, and of whatever no other field covers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pipelines.web.editor.forms import places
from pipelines.web.editor.forms.fields.base import FormField, join_name
from pipelines.web.editor.forms.fields.json_text import FieldRefused, as_json, is_json, parsed
from pipelines.web.editor.forms.fields.reading import Reading
from pipelines.web.editor.forms.places import MISSING, Place


@dataclass(frozen=True, kw_only=True)
class AnythingField(FormField):
    """Field for any JSON value. `words`: input that is no JSON is a text."""

    code: bool = True
    words: bool = False

    @property
    def reading(self) -> Reading:
        return Reading(json_from="", strict=not self.words, kept=bool(self.rows))

    def text(self, value: Any) -> str:
        return value if self.words and type(value) is str and not is_json(value) else as_json(value)


@dataclass(frozen=True, kw_only=True)
class RestField(FormField):
    """Field for all that no other field covers, as one JSON object: nothing of the document is out of reach,
    or lost."""

    code: bool = True
    covered: tuple[Place, ...] = ()

    def writes(self, fragment: Any) -> dict[str, Any]:
        left = self.left(fragment)
        return {"rest": {} if left is MISSING else left}

    @cached_property
    def name(self) -> str:
        return join_name(places.name(self.at), "*")

    def shown(self, fragment: Any) -> list[str]:
        left = self.left(fragment)
        return [] if left is MISSING else [as_json(left)]

    def left(self, fragment: Any) -> Any:
        return places.without(places.get(fragment, self.at), self.covered)

    def written(self, fragment: Any, typed: Sequence[str]) -> Any:
        document = parsed(typed[0]) if typed and typed[0].strip() else {}
        if type(document) is not dict:
            raise FieldRefused("has to be an object", 'for example {"extra": {}}')
        # What has a field of its own stays; only the rest is replaced.
        covered = _minus(places.get(fragment, self.at), self.left(fragment))
        return places.put(fragment, self.at, places.overlaid(covered, document))


def _minus(value: Any, left: Any) -> Any:
    """`value` without what `left` holds of it."""
    if type(value) is not dict or type(left) is not dict:
        return {} if left is not MISSING else value
    remaining = {}
    for key, member in value.items():
        if key not in left:
            remaining[key] = member
        elif type(member) is dict and type(left[key]) is dict and left[key] != member:
            remaining[key] = _minus(member, left[key])
    return remaining
