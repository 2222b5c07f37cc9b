"""The checks of a gate: groups of all or any, nested as deep as the reader takes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pipelines.routing.decide.check_fields import SINGLE, USAGE
from pipelines.routing.document import checks
from pipelines.web.editor.forms import places
from pipelines.web.editor.forms.declared import control, unplaced, words_of
from pipelines.web.editor.forms.fields import ChoiceField, FormField
from pipelines.web.editor.forms.form import Fragment, Rows
from pipelines.web.editor.forms.places import MISSING, Place

KINDS = ("all", "any")
CHECKS: Place = ("checks",)
# What most lines ask of a change; the rest is in docs/workers.md.
GIT = ("git.file_count", "git.commit_count", "git.ai_metadata.AI-Usage")


@dataclass(frozen=True, kw_only=True)
class GroupKind(ChoiceField):
    """`{all: […]}` or `{any: […]}`; without one there are no checks."""

    @cached_property
    def name(self) -> str:
        return f"{places.name(self.at)}.@kind"

    def shown(self, fragment: Any) -> list[str]:
        return [kind_of(places.get(fragment, self.at))]

    def written(self, fragment: Any, typed: Sequence[str]) -> Any:
        kind = typed[0] if typed else ""
        if kind not in KINDS:
            return places.put(fragment, self.at, MISSING)
        old = places.get(fragment, self.at)
        members = old[kind_of(old)] if kind_of(old) else []
        return places.put(fragment, self.at, {kind: members})


def kind_of(group: Any) -> str:
    """ "" for what is no group."""
    kind = next(iter(group)) if type(group) is dict and len(group) == 1 else ""
    return kind if kind in KINDS and type(group[kind]) is list else ""


def fields(fragment: Fragment, at: Place = CHECKS, label: str = "") -> list[FormField | Rows]:
    """None where the checks are no group: then they are shown as they are."""
    group = places.get(fragment, at)
    if group is not MISSING and not kind_of(group):
        return []
    words = [
        ("", "No checks"),
        ("all", "All of these have to pass"),
        ("any", "One of these has to pass"),
    ]
    choice = GroupKind(at=at, label=label or "Checks", options=words)
    return [choice, *([_rows(at, kind_of(group), 1)] if kind_of(group) else [])]


def _rows(at: Place, kind: str, depth: int) -> Rows:
    kinds = [("check", "Add a check")]
    # Law §6: groups are nested up to 3 deep.
    if depth < checks.MAX_NESTING:
        kinds.append(("group", "Add a group"))

    def row(fragment: Fragment, at: Place) -> list[FormField | Rows]:
        member = places.get(fragment, at)
        inner = kind_of(member)
        if inner:
            words = [("all", "All of these"), ("any", "One of these")]
            return [GroupKind(at=at, label="Group", options=words), _rows(at, inner, depth + 1)]
        return _check(at, member) if type(member) is dict else []

    return Rows(
        at=(*at, kind),
        label="Checks" if depth == 1 else "Checks of the group",
        row=row,
        new=lambda fragment, kind: _new(kind),
        title=_title,
        kinds=kinds,
        empty="No checks yet. An empty group passes.",
        folded=depth == 1,
    )


def _new(kind: str) -> dict[str, Any]:
    return {"any": []} if kind == "group" else {"field": "exit_code", "operator": "equals", "value": 0}


def _title(member: Any, index: int) -> str:
    if kind_of(member):
        return "All of a group" if kind_of(member) == "all" else "One of a group"
    if type(member) is not dict:
        return f"Check {index + 1}"
    label = member.get("label")
    if type(label) is str and label:
        return label
    parts = [
        member.get("field"),
        dict(words_of(checks.WORDS)).get(str(member.get("operator"))),
        member.get("value"),
    ]
    return " ".join(str(part) for part in parts if part is not None)[:80] or f"Check {index + 1}"


def _check(at: Place, member: dict[str, Any]) -> list[FormField | Rows]:
    known = [*SINGLE, *USAGE, *GIT]
    fields = [(name, name) for name in known]
    controls: list[FormField | Rows] = [
        control(checks.CHECK, at, "label"),
        control(checks.CHECK, at, "field", ChoiceField, options=fields, free=True, needed=True),
        control(checks.CHECK, at, "operator"),
    ]
    # `exists` ignores the value (law §6); one that stands there is shown all the same.
    if member.get("operator") != "exists" or "value" in member:
        controls.append(control(checks.CHECK, at, "value", words=True))
    return [*controls, *unplaced(checks.CHECK, at, controls, but=("value",))]
