"""Holders of a role that a line names in words, such as “Development Manager” (docs/gates.md)."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from pipelines.engine.moves.entitlement import EntitledPerson, people_by_project_and_id
from pipelines.models import Group, Role, User
from pipelines.models.people import included_roles
from pipelines.routing.document.escalations import (
    agents_owned_by_role,
    group_key_of_role,
    keys_of_groups_with_role,
)


@dataclass
class ProjectRoles:
    """Roles of one project: its people by their ids, and its groups as (key, name)."""

    people: dict[int, EntitledPerson]
    groups: list[tuple[str, str]]

    def members_with_role_by_id(self, role: str) -> dict[int, EntitledPerson]:
        """The members of the project's group with this name or key; else, for one of Gateline's own roles, the
        members with that role; else the administrators. A group without members does not count. A role may also name
        agents: then those who answer for one of them."""
        key, role_groups, agents = (
            group_key_of_role(role),
            keys_of_groups_with_role(role, self.groups),
            agents_owned_by_role(role),
        )
        holders = {
            pk: person
            for pk, person in self.people.items()
            if role_groups & set(person.groups) or agents & set(person.agents)
        }
        if holders:
            return holders
        fallback = key if key in Role.values else str(Role.ADMIN)
        return {pk: person for pk, person in self.people.items() if fallback in included_roles(person.roles)}

    def may_person_answer(self, roles: Iterable[str], user: User) -> bool:
        """True if this person may resolve what is asked of these roles. Project administrators always may."""
        person = self.people.get(user.pk)
        is_holder = any(user.pk in self.members_with_role_by_id(role) for role in roles)
        return person is not None and (Role.ADMIN in person.roles or is_holder)


def roles_by_project(project_ids: Collection[int]) -> dict[int, ProjectRoles]:
    """Return the roles by project, in three statements for all projects."""
    people = people_by_project_and_id(project_ids)
    groups: dict[int, list[tuple[str, str]]] = {project_id: [] for project_id in project_ids}
    for project_id, key, name in Group.objects.filter(project__in=project_ids).values_list(
        "project_id", "key", "name"
    ):
        groups[project_id].append((key, name))
    return {project_id: ProjectRoles(people[project_id], groups[project_id]) for project_id in project_ids}


def roles_of_project(project_id: int) -> ProjectRoles:
    return roles_by_project([project_id])[project_id]


def may_user_answer_for_roles(project_id: int, roles: Iterable[str], user: User) -> bool:
    """See `ProjectRoles`."""
    return roles_of_project(project_id).may_person_answer(roles, user)


def role_mail_addresses(project_id: int, *roles: str) -> tuple[str, ...]:
    """Return the mail addresses of the people with these roles, each once."""
    known = roles_of_project(project_id)
    user_ids = {pk for role in roles for pk in known.members_with_role_by_id(role)}
    people = User.objects.filter(pk__in=user_ids).exclude(email="").order_by("pk")
    return tuple(dict.fromkeys(people.values_list("email", flat=True)))
