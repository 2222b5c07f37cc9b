"""A condition as fields: what it is, what that reads, and its members, nested as deep as it is.

What was not changed in a field is never written, so a form that is only looked at, or changed elsewhere, leaves every
condition exactly as it is. What has no form is shown as JSON.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pipelines.web.editor.forms import fragment_paths
from pipelines.web.editor.forms.conditions.leaves import LEAVES
from pipelines.web.editor.forms.conditions.setting import ConditionSetting, condition_text
from pipelines.web.editor.forms.fields import AnythingField, ChoiceField, FieldRefused, FormField, Options
from pipelines.web.editor.forms.form import Rows
from pipelines.web.editor.forms.fragment_paths import MISSING, Place

DEEPEST = 20
"""Levels that are shown as fields; what lies deeper is JSON."""
GROUPS: Mapping[str, str] = {
    "all": "All of",
    "any": "Any of",
    "not": "Not",
}
KINDS = {key: leaf.label for key, leaf in LEAVES.items()} | {**GROUPS}
"""What a condition may be, in words, in the order in which it is offered."""


def new_condition(kind: str, condition_setting: ConditionSetting) -> dict[str, Any]:
    """The simplest condition of this kind."""
    leaf = LEAVES.get(kind)
    if leaf is None:
        simplest = {"result": LEAVES["result"].new(condition_setting)}
        return {kind: simplest if kind == "not" else [simplest]}
    return {kind: leaf.new(condition_setting)} | ({"answer": leaf.answer} if leaf.answer else {})


def condition_kind_or_empty(condition: Any) -> str:
    """Return the kind of a condition that fields can show; "" for a condition that is JSON only."""
    if condition is MISSING:
        return "always"
    if type(condition) is not dict:
        return ""
    kinds = [key for key in condition if key in KINDS]
    if len(kinds) != 1:
        return ""
    kind = kinds[0]
    leaf = LEAVES.get(kind)
    extra_keys = set(condition) - {kind} - ({"answer"} if leaf and leaf.answer else set())
    fits = leaf.fits(condition[kind]) if leaf else type(condition[kind]) is (dict if kind == "not" else list)
    return kind if fits and not extra_keys else ""


def condition_items(
    fragment: Any, at: Place, condition_setting: ConditionSetting, depth: int = 0
) -> list[FormField | Rows]:
    """Return the fields of the condition at this place: its kind, then what that reads, then its members."""
    condition = fragment_paths.value_at(fragment, at)
    kind = condition_kind_or_empty(condition)
    if not kind or depth > DEEPEST:
        # At the root the form has a field for the whole condition as JSON beside it.
        return [AnythingField(at=at, label="Condition as JSON", rows=4)] if depth else []
    first = ConditionKindField(
        at=at, label="Condition", options=_kind_options(condition, kind), around=condition_setting
    )
    return [first, *_kind_items(kind, fragment, at, condition_setting, depth)]


def _kind_options(condition: Any, kind: str) -> Options:
    """Return the kinds to choose from; for a group also its content, where that is one condition."""
    known = list(KINDS.items())
    inside = [("inside", "Only what is inside")] if _only_member(condition, kind) is not MISSING else []
    return [*inside, *known]


def _only_member(condition: Any, kind: str) -> Any:
    if kind == "not":
        return condition["not"]
    if kind in ("all", "any") and len(condition[kind]) == 1:
        return condition[kind][0]
    return MISSING


@dataclass(frozen=True, kw_only=True)
class ConditionKindField(ChoiceField):
    """Field for the kind of a condition. A new group takes in the previous condition, so nothing is lost by
    choosing one."""

    around: ConditionSetting

    @cached_property
    def name(self) -> str:
        return f"{super().name}#kind"

    def control_values_for_fragment(self, fragment: Any) -> list[str]:
        return [condition_kind_or_empty(fragment_paths.value_at(fragment, self.at))]

    def with_typed(self, fragment: Any, typed: Sequence[str]) -> Any:
        before = fragment_paths.value_at(fragment, self.at)
        after = convert_condition(before, typed[0] if typed else "", self.around)
        # A rule without a condition is always true, so “always” is left out where it is chosen.
        is_root = len(self.at) == 1
        return fragment_paths.fragment_with_value_at(
            fragment, self.at, MISSING if is_root and after == {"always": True} != before else after
        )


def convert_condition(before: Any, kind: str, condition_setting: ConditionSetting) -> Any:
    """Convert a condition to another kind, keeping as much of it as fits. Raises FieldRefused."""
    was = condition_kind_or_empty(before)
    if kind == "inside":
        inside = _only_member(before, was)
        return before if inside is MISSING else inside
    if kind not in KINDS:
        raise FieldRefused("no such condition")
    if kind == was:
        return before
    if kind in ("all", "any"):
        return {kind: before[was]} if was in ("all", "any") else {kind: [_or_always(before)]}
    if kind == "not":
        return {"not": _or_always(before)}
    return new_condition(kind, condition_setting)


def _or_always(condition: Any) -> Any:
    return {"always": True} if condition is MISSING else condition


def _kind_items(
    kind: str, fragment: Any, at: Place, condition_setting: ConditionSetting, depth: int
) -> list[FormField | Rows]:
    if kind in ("all", "any"):
        return [member_rows(kind, (*at, kind), condition_setting, depth)]
    if kind == "not":
        return condition_items(fragment, (*at, "not"), condition_setting, depth + 1)
    return LEAVES[kind].fields(fragment, at, condition_setting)


def member_rows(kind: str, at: Place, condition_setting: ConditionSetting, depth: int) -> Rows:
    return Rows(
        at=at,
        label="All of these" if kind == "all" else "Any of these",
        row=lambda fragment, place: condition_items(fragment, place, condition_setting, depth + 1),
        new=lambda fragment, chosen: new_condition(
            chosen if chosen in KINDS else "result", condition_setting
        ),
        title=lambda member, index: condition_text(member, condition_setting) or f"condition {index + 1}",
        kinds=[
            ("result", "Result"),
            ("output", "Output"),
            ("any" if kind == "all" else "all", "Group"),
        ],
        empty="No conditions yet. Always true." if kind == "all" else "No conditions yet. Never true.",
        rest=False,
        # An empty `all` is true, an empty `any` false (law §12): it says something.
        keeps_empty=True,
        css="ef-condition",
    )
