"""Members of a project, and their roles. A project always keeps an admin."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from allauth.account.forms import default_token_generator
from allauth.account.utils import user_pk_to_url_str
from django.db import transaction

from pipelines import engine
from pipelines.errors import Conflict, Forbidden, first_row_or_raise_not_found
from pipelines.models import Group, Membership, Project, Role, User
from pipelines.people import accounts, invitations
from pipelines.ports import audit, observers


class LastAdmin(Conflict):
    says = "A project needs at least one admin. Make somebody else an admin first."


@transaction.atomic
def add_member(
    project: Project, user: User, *, roles: Collection[str], execute: bool, by: User | None, now: datetime
) -> Membership:
    """Add a member to a project. Of two who add the same person at once the second changes nothing."""
    member, made = Membership.objects.get_or_create(
        project=project, user=user, defaults={"roles": list(roles), "execute": execute}
    )
    if made:
        _record_in_audit("member.added", member, by, now, roles=member.roles, execute=execute)
        _notify_observers(member, by, now, before=())
    return member


@transaction.atomic
def change_member(
    project: Project, member: int, *, roles: Collection[str], execute: bool, by: User | None, now: datetime
) -> Membership:
    """Raises NotFound, LastAdmin."""
    return _apply_member_change(
        _lock_member_unless_last_admin(project, member, stays_admin=Role.ADMIN in roles),
        roles,
        execute,
        by,
        now,
    )


@transaction.atomic
def remove_member(project: Project, member: int, *, by: User | None, now: datetime) -> None:
    """Leaves the groups, too. Raises NotFound, LastAdmin."""
    membership = _lock_member_unless_last_admin(project, member, stays_admin=False)
    left = by is not None and by.pk == membership.user_id
    _record_in_audit("member.left" if left else "member.removed", membership, by, now, roles=membership.roles)
    membership.delete()
    for group in Group.objects.filter(project=project, members=membership.user_id):
        group.members.remove(membership.user_id)
    engine.decide_gates_all_have_approved_on_commit(project.pk, now)
    if Role.ADMIN in membership.roles:
        invitations.close_admin_invitations(project, membership.user, by=by, now=now)


@transaction.atomic
def add_or_change_member(
    project: Project, user: User, *, roles: Collection[str], execute: bool, by: User | None, now: datetime
) -> Membership:
    """Added or changed, whichever it takes; the shell may take the last admin away."""
    membership = Membership.objects.select_for_update().filter(project=project, user=user).first()
    if membership is None:
        return add_member(project, user, roles=roles, execute=execute, by=by, now=now)
    return _apply_member_change(membership, roles, execute, by, now)


def _apply_member_change(
    member: Membership, roles: Collection[str], execute: bool, by: User | None, now: datetime
) -> Membership:
    """Write, record and tell what is another now."""
    previous = member.roles
    before = {"roles": previous, "execute": member.execute}
    after = {"roles": list(roles), "execute": execute}
    # A form that was saved as it was is no act
    if before == after:
        return member
    member.roles, member.execute = list(roles), execute
    member.save(update_fields=["roles", "execute"])
    _record_in_audit("member.changed", member, by, now, before=before, after=after)
    # Otherwise a link that they saw would let them back in
    if Role.ADMIN in previous and Role.ADMIN not in roles:
        invitations.close_admin_invitations(member.project, member.user, by=by, now=now)
    if set(previous) != set(roles):
        _notify_observers(member, by, now, before=previous)
        engine.decide_gates_all_have_approved_on_commit(member.project_id, now)
    return member


def _lock_member_unless_last_admin(project: Project, member: int, *, stays_admin: bool) -> Membership:
    # Before the row is read: of two who demote each other the second reads what the first has left
    admin_ids = lock_and_list_active_admin_ids(project)
    membership = first_row_or_raise_not_found(
        Membership.objects.filter(project=project, pk=member).select_related("user")
    )
    if admin_ids == [membership.pk] and not stays_admin:
        raise LastAdmin
    return membership


def lock_and_list_active_admin_ids(project: Project) -> list[int]:
    """List the memberships of the admins who can sign in. They are locked, so that two who leave or demote each other
    do not leave none."""
    admins = Membership.objects.select_for_update(of=("self",)).filter(
        project=project, roles__contains=[Role.ADMIN], user__is_active=True
    )
    return [admin.pk for admin in admins]


def _notify_observers(member: Membership, by: User | None, now: datetime, *, before: Collection[str]) -> None:
    observers.emit_consequences(
        observers.RolesChanged(
            member.project_id, member.user_id, by.pk if by else None, tuple(before), tuple(member.roles), now
        )
    )


def _record_in_audit(kind: str, member: Membership, by: User | None, now: datetime, **data: object) -> None:
    audit.record_administrative_act(
        kind,
        by=by,
        at=now,
        project=member.project,
        about=audit.actor_reference_or_command(member.user),
        name=member.user.username,
        **data,
    )


# Authority of an admin over a whole account: to reset its password by a link, deactivate it, activate it
# again.


def may_manage_account(admin: User, user: User) -> bool:
    """An account reaches into every project of its person, so an admin of all of them may act on it, and of one's own
    account nobody else's rule decides. Administrators of the installation answer to each other alone."""
    if admin.pk == user.pk or ((user.is_staff or user.is_superuser) and not admin.is_superuser):
        return False
    of_theirs = set(Membership.objects.filter(user=user).values_list("project_id", flat=True))
    governed = Membership.objects.filter(user=admin, roles__contains=[Role.ADMIN])
    return bool(of_theirs) and of_theirs <= set(governed.values_list("project_id", flat=True))


@transaction.atomic
def create_user_id_and_key_of_reset_link(user: User, *, by: User, now: datetime) -> tuple[str, str]:
    """Return the end of a link to set a new password. It works once, and not after the next sign-in or change
    of the mail address. Raises Forbidden, also where a provider alone signs them in."""
    if not may_manage_account(by, user) or not user.is_active or accounts.signs_in_by_provider(user):
        raise Forbidden
    audit.record_administrative_act(
        "password.link", by=by, at=now, about=audit.actor_reference_or_command(user), name=user.username
    )
    return user_pk_to_url_str(user), default_token_generator.make_token(user)
