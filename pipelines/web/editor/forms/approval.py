"""Form of who has to approve: a row for each requirement, suggested from the people, roles and groups of the
project."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pipelines.engine.moves.entitlement import EntitledPerson
from pipelines.models import Group, Role
from pipelines.models.people import included_roles
from pipelines.routing.basics.plural import singular_or_plural
from pipelines.routing.document.requirements import EVERYONE, ONE_PERSON, OWNER, REQUIREMENT, REQUIREMENTS
from pipelines.web.editor.forms import fragment_paths
from pipelines.web.editor.forms.declared_fields import declared_control, labelled_choices
from pipelines.web.editor.forms.fields import AmountField, ChoiceField, FormField, Options
from pipelines.web.editor.forms.form import FormSetting, Fragment, Rows
from pipelines.web.editor.forms.fragment_paths import MISSING, Place

WHO: Place = ("approval", "who")


@dataclass(frozen=True, kw_only=True)
class RequirementKindField(ChoiceField):
    """Role, group or user: the key that the requirement has. `firsts`: who is asked where the kind changes."""

    firsts: dict[str, str]

    def control_values_for_fragment(self, fragment: Any) -> list[str]:
        return [requirement_kind_or_empty(fragment_paths.value_at(fragment, self.at[:-1]))]

    def with_typed(self, fragment: Any, typed: Sequence[str]) -> Any:
        kind = typed[0] if typed else ""
        if kind not in REQUIREMENTS or [kind] == self.control_values_for_fragment(fragment):
            return fragment
        old = fragment_paths.value_at(fragment, self.at[:-1])
        others = {key: value for key, value in old.items() if key not in REQUIREMENTS}
        # A requirement of one person has no number.
        if kind in ONE_PERSON:
            others.pop("count", None)
        return fragment_paths.fragment_with_value_at(
            fragment, self.at[:-1], {kind: self.firsts[kind], **others}
        )


def requirement_kind_or_empty(requirement: Any) -> str:
    """ "" where it names none, or several."""
    kinds = [kind for kind in REQUIREMENTS if type(requirement) is dict and kind in requirement]
    return kinds[0] if len(kinds) == 1 else ""


def approver_rows(fragment: Fragment, setting: FormSetting) -> list[FormField | Rows]:
    """None where the list is none: then it is shown as it is."""
    known = fragment_paths.value_at(fragment, WHO)
    if known is not MISSING and type(known) is not list:
        return []
    people = setting.people
    names = {
        "role": _role_options(people),
        "group": _group_options(setting, people),
        "user": _user_options(people),
        OWNER: setting.names.options("stations"),
    }
    firsts = {kind: next((value for value, words in choices), "") for kind, choices in names.items()}
    # Law §12: reviewers are the default approvers.
    firsts["role"] = Role.REVIEWER

    def approver_fields(fragment: Fragment, at: Place) -> list[FormField | Rows]:
        kind = requirement_kind_or_empty(fragment_paths.value_at(fragment, at))
        if not kind:
            return []
        kinds = labelled_choices(REQUIREMENTS)
        fields: list[FormField | Rows] = [
            RequirementKindField(at=(*at, "kind"), label="Asked is a", options=kinds, firsts=firsts),
            declared_control(REQUIREMENT, at, kind, ChoiceField, options=names[kind], free=True, needed=True),
        ]
        # Of one person there is nothing to count
        if kind not in ONE_PERSON:
            fields.append(declared_control(REQUIREMENT, at, "count", AmountField))
        return fields

    return [
        Rows(
            at=WHO,
            label="Who has to approve",
            row=approver_fields,
            new=lambda fragment, kind: {"role": Role.REVIEWER.value, "count": 1},
            title=_requirement_title,
            add="Add a requirement",
            empty="One reviewer, where nobody is named.",
            help="All of them, and one person counts once.",
        )
    ]


def _requirement_title(member: Any, index: int) -> str:
    kind = requirement_kind_or_empty(member)
    if not kind:
        return f"Requirement {index + 1}"
    count = member.get("count", 1)
    if kind == OWNER:
        return f"Owner of {member[kind]}"
    if count == EVERYONE:
        return f"All of {member[kind]}"
    return f"{count} × {member[kind]}" if kind != "user" else str(member[kind])


def _role_options(people: Sequence[EntitledPerson]) -> Options:
    return [
        (value, f"{words} – {_people_count(sum(value in included_roles(person.roles) for person in people))}")
        for value, words in Role.choices
    ]


def _group_options(setting: FormSetting, people: Sequence[EntitledPerson]) -> Options:
    groups = Group.objects.filter(project=setting.project).order_by("key").values_list("key", "name")
    return [
        (key, f"{name} – {_people_count(sum(key in person.groups for person in people))}")
        for key, name in groups
    ]


def _user_options(people: Sequence[EntitledPerson]) -> Options:
    words = dict(Role.choices)
    return [
        (person.username, f"{person.username} – {', '.join(str(words[role]) for role in person.roles)}")
        for person in people
    ]


def _people_count(number: int) -> str:
    return singular_or_plural("%d person", "%d people", number) % number
