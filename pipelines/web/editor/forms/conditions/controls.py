"""The controls that only conditions have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from pipelines.web.editor.forms import fragment_paths
from pipelines.web.editor.forms.conditions.setting import ConditionSetting, require_valid
from pipelines.web.editor.forms.fields import (
    AnythingField,
    ChoiceField,
    FieldRefused,
    ListedField,
    Reading,
    SeveralField,
)
from pipelines.web.editor.forms.fragment_paths import MISSING
from pipelines.web.editor.forms.operands import output_test_with_operator


@dataclass(frozen=True, kw_only=True)
class WordsField(SeveralField):
    """Field for one word or several; a single word is written as such. `any_of`: the words that “any” stands
    for."""

    any_of: tuple[str, ...]

    def describe_write(self, fragment: Any) -> dict[str, Any]:
        return {"words": True}

    def control_values_for_fragment(self, fragment: Any) -> list[str]:
        value = fragment_paths.value_at(fragment, self.at)
        words = [value] if type(value) is str else list(value or ())
        return list(
            dict.fromkeys(
                [word for word in words if word != "any"] + list(self.any_of if "any" in words else ())
            )
        )

    def with_typed(self, fragment: Any, typed: Sequence[str]) -> Any:
        chosen = [value for value, _words in self.options if value in typed]
        if not chosen:
            raise FieldRefused("nothing is chosen, so it would never be true", "choose at least one")
        return fragment_paths.fragment_with_value_at(
            fragment, self.at, chosen[0] if len(chosen) == 1 else chosen
        )


@dataclass(frozen=True, kw_only=True)
class FailureTypesField(ListedField):
    """Failure types; one alone is written as such."""

    @property
    def reading(self) -> Reading:
        return replace(super().reading, single=True)

    def to_text(self, value: Any) -> str:
        return super().to_text([value] if type(value) is str else value)

    def parse_value(self, typed: str) -> Any:
        failure_type = super().parse_value(typed)
        if not failure_type or failure_type is MISSING:
            raise FieldRefused("names no failure type, so it would never be true", "for example flaky")
        return failure_type


@dataclass(frozen=True, kw_only=True)
class OperatorField(ChoiceField):
    """The value that it compares with comes along, as far as the new operator can use it."""

    def with_typed(self, fragment: Any, typed: Sequence[str]) -> Any:
        op = typed[0] if typed else ""
        test = fragment_paths.value_at(fragment, self.at[:-1])
        # The field is at `….eval.op`; an eval compares texts.
        changed = output_test_with_operator(
            test if type(test) is dict else {}, op, text_only="eval" in self.at[-2:-1]
        )
        return fragment_paths.fragment_with_value_at(fragment, self.at[:-1], changed)


@dataclass(frozen=True, kw_only=True)
class ConditionJsonField(AnythingField):
    """A whole condition as JSON: what is faulty in it is told with its place."""

    around: ConditionSetting

    def parse_value(self, typed: str) -> Any:
        condition = super().parse_value(typed)
        if condition is not MISSING:
            require_valid(condition, self.around)
        return condition
