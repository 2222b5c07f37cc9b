"""The checks of a gate: groups of all or any, nested as deep as the reader takes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pipelines.routing.decide.check_fields import SINGLE, USAGE
from pipelines.routing.document import checks
from pipelines.web.editor.forms import fragment_paths
from pipelines.web.editor.forms.declared_fields import declared_control, labelled_choices, remaining_fields
from pipelines.web.editor.forms.fields import ChoiceField, FormField
from pipelines.web.editor.forms.form import Fragment, Rows
from pipelines.web.editor.forms.fragment_paths import MISSING, Place

KINDS = ("all", "any")
CHECKS: Place = ("checks",)
# What most lines ask of a change; the rest is in docs/workers.md.
GIT = ("git.file_count", "git.commit_count", "git.ai_metadata.AI-Usage")


@dataclass(frozen=True, kw_only=True)
class GroupKindField(ChoiceField):
    """`{all: […]}` or `{any: […]}`; without one there are no checks."""

    @cached_property
    def name(self) -> str:
        return f"{fragment_paths.path_name(self.at)}.@kind"

    def control_values_for_fragment(self, fragment: Any) -> list[str]:
        return [group_kind_or_empty(fragment_paths.value_at(fragment, self.at))]

    def with_typed(self, fragment: Any, typed: Sequence[str]) -> Any:
        kind = typed[0] if typed else ""
        if kind not in KINDS:
            return fragment_paths.fragment_with_value_at(fragment, self.at, MISSING)
        old = fragment_paths.value_at(fragment, self.at)
        members = old[group_kind_or_empty(old)] if group_kind_or_empty(old) else []
        return fragment_paths.fragment_with_value_at(fragment, self.at, {kind: members})


def group_kind_or_empty(group: Any) -> str:
    """ "" for what is no group."""
    kind = next(iter(group)) if type(group) is dict and len(group) == 1 else ""
    return kind if kind in KINDS and type(group[kind]) is list else ""


def check_fields(fragment: Fragment, at: Place = CHECKS, label: str = "") -> list[FormField | Rows]:
    """None where the checks are no group: then they are shown as they are."""
    group = fragment_paths.value_at(fragment, at)
    # What the fields cannot show they must not write either
    if group is not MISSING and not group_kind_or_empty(group):
        return []
    words = [
        ("", "No checks"),
        ("all", "All of these have to pass"),
        ("any", "One of these has to pass"),
    ]
    choice = GroupKindField(at=at, label=label or "Checks", options=words)
    return [choice, *([_check_rows(at, group_kind_or_empty(group), 1)] if group_kind_or_empty(group) else [])]


def _check_rows(at: Place, kind: str, depth: int) -> Rows:
    kinds = [("check", "Add a check")]
    # Law §6: groups are nested up to 3 deep.
    if depth < checks.MAX_NESTING:
        kinds.append(("group", "Add a group"))

    def check_fields(fragment: Fragment, at: Place) -> list[FormField | Rows]:
        member = fragment_paths.value_at(fragment, at)
        inner = group_kind_or_empty(member)
        if inner:
            words = [("all", "All of these"), ("any", "One of these")]
            return [GroupKindField(at=at, label="Group", options=words), _check_rows(at, inner, depth + 1)]
        return _check_controls(at, member) if type(member) is dict else []

    return Rows(
        at=(*at, kind),
        label="Checks" if depth == 1 else "Checks of the group",
        row=check_fields,
        new=lambda fragment, kind: _new_member(kind),
        title=_member_title,
        kinds=kinds,
        empty="No checks yet. An empty group passes.",
        folded=depth == 1,
    )


def _new_member(kind: str) -> dict[str, Any]:
    return {"any": []} if kind == "group" else {"field": "exit_code", "operator": "equals", "value": 0}


def _member_title(member: Any, index: int) -> str:
    if group_kind_or_empty(member):
        return "All of a group" if group_kind_or_empty(member) == "all" else "One of a group"
    if type(member) is not dict:
        return f"Check {index + 1}"
    label = member.get("label")
    if type(label) is str and label:
        return label
    parts = [
        member.get("field"),
        dict(labelled_choices(checks.WORDS)).get(str(member.get("operator"))),
        member.get("value"),
    ]
    return " ".join(str(part) for part in parts if part is not None)[:80] or f"Check {index + 1}"


def _check_controls(at: Place, member: dict[str, Any]) -> list[FormField | Rows]:
    known = [*SINGLE, *USAGE, *GIT]
    fields = [(name, name) for name in known]
    controls: list[FormField | Rows] = [
        declared_control(checks.CHECK, at, "label"),
        declared_control(checks.CHECK, at, "field", ChoiceField, options=fields, free=True, needed=True),
        declared_control(checks.CHECK, at, "operator"),
    ]
    # `exists` ignores the value (law §6); one that stands there is shown all the same.
    if member.get("operator") != "exists" or "value" in member:
        controls.append(declared_control(checks.CHECK, at, "value", words=True))
    return [*controls, *remaining_fields(checks.CHECK, at, controls, excluded_keys=("value",))]
