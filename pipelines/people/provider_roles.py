"""Roles that the groups of a sign-in provider give: at each sign-in they are given and taken as the groups say, beside
the roles that an admin gave."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime

from django.db import transaction

from pipelines import engine
from pipelines.models import Group, Membership, Project, Role, User
from pipelines.people import accounts, invitations, members
from pipelines.ports import audit, observers

# {group of the provider: {"owner/project": roles}}
Mapped = Mapping[str, Mapping[str, Collection[str]]]


@transaction.atomic
def set_roles_given_by_provider(user: User, groups: Iterable[str], mapped: Mapped, now: datetime) -> None:
    """A membership that nothing gives any more ends; the last admin of a project stays one."""
    roles_by_project = _roles_by_project(groups, mapped)
    memberships = {membership.project_id: membership for membership in _locked_memberships(user)}
    projects = {project.pk: project for project in _projects_by_name(roles_by_project)}
    # In one order: two sign-ins that lock the admins of the same projects would else wait for each
    # other
    for project_id in sorted(memberships.keys() | projects.keys()):
        member = memberships.get(project_id)
        project = projects.get(project_id) or memberships[project_id].project
        _set_member_roles_given_by_provider(
            user, project, member, roles_by_project.get(str(project), frozenset()), now
        )


def _set_member_roles_given_by_provider(
    user: User, project: Project, member: Membership | None, roles: frozenset[str], now: datetime
) -> None:
    before = list(member.roles) if member else []
    # What an admin gave stays, whatever the groups say.
    own = set(before) - set(member.provider_roles if member else ())
    after = [role for role in Role.values if role in own | roles]
    is_demoted = member is not None and Role.ADMIN in before and Role.ADMIN not in after
    if member and is_demoted and members.lock_and_list_active_admin_ids(project) == [member.pk]:
        after = [*after, Role.ADMIN.value]
    if member is None:
        if after:
            Membership.objects.create(project=project, user=user, roles=after, provider_roles=sorted(roles))
            _record_in_audit("member.added", user, project, now, roles=after)
            _notify_observers(user, project, now, [], after)
        return
    if not after:
        _record_in_audit("member.removed", user, project, now, roles=before)
        member.delete()
        accounts.revoke_tokens_bound_to_project(user, project, by=user, now=now)
        for group in Group.objects.filter(project=project, members=user):
            group.members.remove(user)
        engine.decide_gates_all_have_approved_on_commit(project.pk, now)
        if Role.ADMIN in before:
            invitations.close_admin_invitations(project, user, by=user, now=now)
        return
    member.roles, member.provider_roles = after, sorted(roles)
    member.save(update_fields=["roles", "provider_roles"])
    if Role.ADMIN in before and Role.ADMIN not in after:
        invitations.close_admin_invitations(project, user, by=user, now=now)
    if set(before) != set(after):
        _record_in_audit(
            "member.changed", user, project, now, before={"roles": before}, after={"roles": after}
        )
        _notify_observers(user, project, now, before, after)
        engine.decide_gates_all_have_approved_on_commit(project.pk, now)


def _roles_by_project(groups: Iterable[str], mapped: Mapped) -> dict[str, frozenset[str]]:
    """{"owner/project": roles} of all these groups together."""
    roles_by_project: dict[str, set[str]] = {}
    for group in groups:
        for project, roles in mapped.get(group, {}).items():
            roles_by_project.setdefault(project, set()).update(roles)
    return {project: frozenset(roles) for project, roles in roles_by_project.items()}


def _locked_memberships(user: User) -> Iterable[Membership]:
    """Return the memberships in which a provider gave something, and all others of the user: their own roles
    stay."""
    return (
        Membership.objects.select_for_update(of=("self",)).filter(user=user).select_related("project__owner")
    )


def _projects_by_name(roles_by_project: Mapping[str, frozenset[str]]) -> list[Project]:
    projects = []
    for name in roles_by_project:
        owner, _, key = name.partition("/")
        projects += list(Project.objects.filter(owner__key=owner, key=key).select_related("owner"))
    return projects


def _notify_observers(
    user: User, project: Project, now: datetime, before: Iterable[str], after: Iterable[str]
) -> None:
    observers.emit_consequences(
        observers.RolesChanged(project.pk, user.pk, None, tuple(before), tuple(after), now)
    )


def _record_in_audit(kind: str, user: User, project: Project, now: datetime, **data: object) -> None:
    audit.record_administrative_act(
        kind,
        by=user,
        at=now,
        project=project,
        about=audit.actor_reference_or_command(user),
        name=user.username,
        source="provider",
        **data,
    )
