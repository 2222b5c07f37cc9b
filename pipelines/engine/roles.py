"""Who stands for a role that a line names in words, such as “Development Manager” (docs/gates.md)."""

from __future__ import annotations

from django.utils.text import slugify

from pipelines.engine.entitlement import Person, people_of, roles_of
from pipelines.models import Group, Role, User


def holders(project_id: int, role: str) -> dict[int, Person]:
    """The group of the project that has this name or key; else, for the name of one of Gateline's own roles, who has
    it; else the administrators. A group without members is as none."""
    people = people_of(project_id)
    key = slugify(role)
    groups = Group.objects.filter(project=project_id).values_list("key", "name")
    named = {group for group, name in groups if group == key or name.casefold() == role.casefold()}
    found = {pk: person for pk, person in people.items() if named & set(person.groups)}
    if found:
        return found
    wanted = key if key in Role.values else str(Role.ADMIN)
    return {pk: person for pk, person in people.items() if wanted in roles_of(person.role)}


def may_answer(project_id: int, role: str, user: User) -> bool:
    """Whether this person may resolve what is escalated to this role. An administrator of the project always may."""
    person = people_of(project_id).get(user.pk)
    return person is not None and (person.role == Role.ADMIN or user.pk in holders(project_id, role))


def addresses(project_id: int, *roles: str) -> tuple[str, ...]:
    """Where these people get mail, each once."""
    wanted = {pk for role in roles for pk in holders(project_id, role)}
    people = User.objects.filter(pk__in=wanted).exclude(email="").order_by("pk")
    return tuple(dict.fromkeys(people.values_list("email", flat=True)))
