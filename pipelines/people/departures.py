"""Departure of people: out of one project, or altogether. What they answered for is handed on, their
credentials die."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet

from pipelines import engine
from pipelines.errors import Conflict
from pipelines.models import Agent, ApiToken, Membership, Project, Role, User
from pipelines.people import accounts, invitations, members
from pipelines.ports import audit


class NeedsHeir(Conflict):
    says = "This person is responsible for agents. Choose a member who takes them over."


class NoHeir(Conflict):
    says = "Choose another active member of the project."


def agents_of_owner(user: User, project: Project) -> QuerySet[Agent]:
    """Return the agents that a person answers for in a project, and somebody else has to when they go."""
    return Agent.objects.filter(project=project, owner=user).order_by("key")


@transaction.atomic
def remove_person(project: Project, user: User, *, heir: User | None, by: User, now: datetime) -> None:
    """Remove a person from a project. `by` is the person, or an admin who removes them. Their tokens of this
    project die. Gates that ask for them by name wait on: whom a published version names is the line's to
    change. Raises NotFound, LastAdmin, NeedsHeir, NoHeir."""
    member = Membership.objects.filter(project=project, user=user).first()
    _transfer_agents_to_heir(project, user, heir, by)
    members.remove_member(project, member.pk if member else 0, by=by, now=now)
    accounts.revoke_tokens_bound_to_project(user, project, by=by, now=now)


@transaction.atomic
def deactivate_user(user: User, *, heir: User | None, by: User | None, now: datetime) -> None:
    """Nothing signs them in any more, memberships stay so that the record reads as it was. `heir` takes over in each
    project. Raises LastAdmin (with the project), NeedsHeir, NoHeir."""
    for member in Membership.objects.filter(user=user).select_related("project__owner"):
        _require_other_admin(member)
        _transfer_agents_to_heir(member.project, user, heir, by)
    locked_user = User.objects.select_for_update().get(pk=user.pk)
    # Of two who do this at once the second changes nothing.
    if not locked_user.is_active:
        return
    User.objects.filter(pk=user.pk).update(is_active=False)
    for token in ApiToken.objects.filter(user=user, revoked_at=None):
        accounts.revoke_token(token, now, by)
    for project in Project.objects.filter(memberships__user=user, memberships__roles__contains=[Role.ADMIN]):
        invitations.close_admin_invitations(project, user, by=by, now=now)
    for project_id in Membership.objects.filter(user=user).values_list("project_id", flat=True):
        engine.decide_gates_all_have_approved_on_commit(project_id, now)
    accounts.end_sessions(user)
    audit.record_administrative_act(
        "person.deactivated", by=by, at=now, about=audit.actor_reference_or_command(user), name=user.username
    )


@transaction.atomic
def reactivate_user(user: User, *, by: User | None, now: datetime) -> None:
    """They sign in again with the password of before; tokens stay dead."""
    if User.objects.filter(pk=user.pk, is_active=False).update(is_active=True):
        audit.record_administrative_act(
            "person.reactivated",
            by=by,
            at=now,
            about=audit.actor_reference_or_command(user),
            name=user.username,
        )


def _transfer_agents_to_heir(project: Project, user: User, heir: User | None, by: User | None) -> None:
    agents = list(agents_of_owner(user, project))
    if not agents:
        return
    if heir is None:
        # An agent without anybody who answers for it would go on working
        raise NeedsHeir
    if (
        heir.pk == user.pk
        or not Membership.objects.filter(project=project, user=heir, user__is_active=True).exists()
    ):
        raise NoHeir
    actor = engine.Actor.person(by) if by is not None else engine.ENGINE
    for agent in agents:
        engine.change_agent(agent.pk, {"owner_id": heir.pk}, actor=actor)


def _require_other_admin(member: Membership) -> None:
    if members.lock_and_list_active_admin_ids(member.project) == [member.pk]:
        raise members.LastAdmin(
            f"{member.project}: a project needs at least one admin. Make somebody else an admin first."
        )
