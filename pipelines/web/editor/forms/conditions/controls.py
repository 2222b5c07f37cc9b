"""The controls that only conditions have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from pipelines.web.editor.forms import places
from pipelines.web.editor.forms.conditions.setting import ConditionSetting, refuse_faulty
from pipelines.web.editor.forms.fields import (
    AnythingField,
    ChoiceField,
    FieldRefused,
    ListedField,
    Reading,
    SeveralField,
)
from pipelines.web.editor.forms.operands import fitting
from pipelines.web.editor.forms.places import MISSING


@dataclass(frozen=True, kw_only=True)
class Words(SeveralField):
    """Field for one word or several; a single word is written as such. `any_of`: the words that “any” stands
    for."""

    any_of: tuple[str, ...]

    def writes(self, fragment: Any) -> dict[str, Any]:
        return {"words": True}

    def shown(self, fragment: Any) -> list[str]:
        value = places.get(fragment, self.at)
        words = [value] if type(value) is str else list(value or ())
        return list(
            dict.fromkeys(
                [word for word in words if word != "any"] + list(self.any_of if "any" in words else ())
            )
        )

    def written(self, fragment: Any, typed: Sequence[str]) -> Any:
        chosen = [value for value, _words in self.options if value in typed]
        if not chosen:
            raise FieldRefused("nothing is chosen, so it would never be true", "choose at least one")
        return places.put(fragment, self.at, chosen[0] if len(chosen) == 1 else chosen)


@dataclass(frozen=True, kw_only=True)
class Types(ListedField):
    """Failure types; one alone is written as such."""

    @property
    def reading(self) -> Reading:
        return replace(super().reading, single=True)

    def text(self, value: Any) -> str:
        return super().text([value] if type(value) is str else value)

    def value(self, typed: str) -> Any:
        failure_type = super().value(typed)
        if not failure_type or failure_type is MISSING:
            raise FieldRefused("names no failure type, so it would never be true", "for example flaky")
        return failure_type


@dataclass(frozen=True, kw_only=True)
class OperatorField(ChoiceField):
    """The value that it compares with comes along, as far as the new operator can use it."""

    def written(self, fragment: Any, typed: Sequence[str]) -> Any:
        op = typed[0] if typed else ""
        test = places.get(fragment, self.at[:-1])
        # The field is at `….eval.op`; an eval compares texts.
        changed = fitting(test if type(test) is dict else {}, op, text_only="eval" in self.at[-2:-1])
        return places.put(fragment, self.at[:-1], changed)


@dataclass(frozen=True, kw_only=True)
class AsJson(AnythingField):
    """A whole condition as JSON: what is faulty in it is told with its place."""

    around: ConditionSetting

    def value(self, typed: str) -> Any:
        condition = super().value(typed)
        if condition is not MISSING:
            refuse_faulty(condition, self.around)
        return condition
