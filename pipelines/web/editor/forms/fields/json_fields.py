"""Fields of any JSON value, and of whatever no other field covers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pipelines.web.editor.forms import fragment_paths
from pipelines.web.editor.forms.fields.base import FormField, join_name
from pipelines.web.editor.forms.fields.json_text import FieldRefused, is_json, parse_json, to_json
from pipelines.web.editor.forms.fields.reading import Reading
from pipelines.web.editor.forms.fragment_paths import MISSING, Place


@dataclass(frozen=True, kw_only=True)
class AnythingField(FormField):
    """Field for any JSON value. `words`: input that is no JSON is a text."""

    code: bool = True
    words: bool = False

    @property
    def reading(self) -> Reading:
        return Reading(json_from="", strict=not self.words, kept=bool(self.rows))

    def to_text(self, value: Any) -> str:
        return value if self.words and type(value) is str and not is_json(value) else to_json(value)


@dataclass(frozen=True, kw_only=True)
class RestField(FormField):
    """Field for all that no other field covers, as one JSON object: nothing of the document is out of reach,
    or lost."""

    code: bool = True
    covered: tuple[Place, ...] = ()

    def describe_write(self, fragment: Any) -> dict[str, Any]:
        left = self.remaining(fragment)
        return {"rest": {} if left is MISSING else left}

    @cached_property
    def name(self) -> str:
        return join_name(fragment_paths.path_name(self.at), "*")

    def control_values_for_fragment(self, fragment: Any) -> list[str]:
        left = self.remaining(fragment)
        return [] if left is MISSING else [to_json(left)]

    def remaining(self, fragment: Any) -> Any:
        return fragment_paths.fragment_without_covered_places(
            fragment_paths.value_at(fragment, self.at), self.covered
        )

    def with_typed(self, fragment: Any, typed: Sequence[str]) -> Any:
        document = parse_json(typed[0]) if typed and typed[0].strip() else {}
        if type(document) is not dict:
            raise FieldRefused("has to be an object", 'for example {"extra": {}}')
        # What has a field of its own stays; only the rest is replaced.
        covered = _value_without_members_of(
            fragment_paths.value_at(fragment, self.at), self.remaining(fragment)
        )
        return fragment_paths.fragment_with_value_at(
            fragment, self.at, fragment_paths.deep_merged_values(covered, document)
        )


def _value_without_members_of(value: Any, subtracted: Any) -> Any:
    """`value` without what `subtracted` holds of it."""
    if type(value) is not dict or type(subtracted) is not dict:
        return {} if subtracted is not MISSING else value
    remaining = {}
    for key, member in value.items():
        if key not in subtracted:
            remaining[key] = member
        elif type(member) is dict and type(subtracted[key]) is dict and subtracted[key] != member:
            remaining[key] = _value_without_members_of(member, subtracted[key])
    return remaining
