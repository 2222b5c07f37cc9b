"""Inviting people into a project, by mail and by a link to hand over. The link is the credential: whoever opens it
first joins with the roles of the invitation."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta

from django.core.signing import BadSignature, Signer
from django.db import transaction
from django.db.models import QuerySet

from pipelines.errors import Refused
from pipelines.models import Group, Invitation, Membership, Project, Role, User
from pipelines.models.invitations import new_key
from pipelines.models.people import smallest_equal_roles
from pipelines.ports import audit, observers, queue
from pipelines.ports.queue_tasks import MAIL, SEND_INVITATION

LASTS = timedelta(days=7)
# What another part of the installation signs with the same key is no invitation
_signer = Signer(salt="gateline.invitation")


class InvitationRefused(Refused):
    says = "This invitation was used, revoked, has expired, or was never one."


class InvitedSomebodyElse(Refused):
    says = (
        "This invitation makes an admin or lets somebody run programs, so it is for one e-mail address. "
        "Sign in with the account that has it, or ask for an invitation to yours."
    )


def create_invitations(
    project: Project,
    emails: Sequence[str],
    *,
    roles: Collection[str],
    execute: bool,
    groups: Collection[Group],
    by: User,
    now: datetime,
) -> list[Invitation]:
    """Create an invitation for each address, mailed after the commit; without an address one whose link is
    handed over."""
    return [_create_invitation(project, email, roles, execute, groups, by, now) for email in emails or [""]]


@transaction.atomic
def _create_invitation(
    project: Project,
    email: str,
    roles: Collection[str],
    execute: bool,
    groups: Collection[Group],
    by: User,
    now: datetime,
) -> Invitation:
    made = Invitation.objects.create(
        project=project,
        email=email,
        roles=smallest_equal_roles(roles),
        execute=execute,
        created_at=now,
        created_by=by,
        expires_at=now + LASTS,
    )
    made.groups.set(groups)
    _record_in_audit("invitation.created", made, by, now, roles=made.roles, execute=execute)
    _enqueue_mail(made)
    return made


@transaction.atomic
def renew_invitation(invitation: Invitation, *, by: User, now: datetime) -> Invitation:
    """Make a new link for as long again; the one before opens nothing. Raises InvitationRefused (used or revoked)."""
    current = _lock_invitation(invitation)
    if current.state(now) not in (Invitation.State.OPEN, Invitation.State.EXPIRED):
        raise InvitationRefused
    if not _may_invite(current, by):
        raise InvitationRefused
    # Whoever renews it answers for it from now on: acceptance asks whether they may still give these roles.
    current.created_by = by
    _replace_key_and_expiry(current, by, now)
    return current


@transaction.atomic
def close_admin_invitations(project: Project, user: User, *, by: User | None, now: datetime) -> None:
    """Close the ways back of a person who is no longer an admin: revoke their invitations and replace every
    other open link of the project, because the list showed them those links."""
    open_links = Invitation.objects.filter(project=project, accepted_at=None, revoked_at=None)
    # In one order, so that two who leave at once do not wait for each other
    for invitation in open_links.select_for_update(of=("self",)).select_related("project").order_by("pk"):
        if invitation.created_by_id == user.pk:
            _mark_revoked(invitation, by, now)
        elif invitation.state(now) == Invitation.State.OPEN:
            _replace_key_and_expiry(invitation, by, now)


@transaction.atomic
def revoke_invitation(invitation: Invitation, *, by: User, now: datetime) -> None:
    """Let its link open nothing any more. Raises InvitationRefused (used already)."""
    current = _lock_invitation(invitation)
    if current.accepted_at is not None:
        raise InvitationRefused
    if current.revoked_at is None:
        _mark_revoked(current, by, now)


@transaction.atomic
def accept_invitation(invitation: Invitation, user: User, now: datetime) -> Membership:
    """Make the user a member; one who is keeps the roles of before. Of two who try at once the first gets through.

    Raises InvitationRefused, also where whoever invited could not give these roles today, and InvitedSomebodyElse.
    """
    # Before the invitation: a demotion locks members first, too.
    people = Membership.objects.filter(
        project=invitation.project_id, user__in=[user, invitation.created_by_id]
    )
    list(people.select_for_update(of=("self",)).order_by("pk"))
    current = _lock_invitation(invitation)
    # Another key: it was renewed after this link was opened.
    if current.key != invitation.key or current.state(now) != Invitation.State.OPEN:
        raise InvitationRefused
    if not _may_invite(current, current.created_by):
        raise InvitationRefused
    if must_name_address(current.roles, execute=current.execute) and not _is_addressed_to(current, user):
        raise InvitedSomebodyElse
    member, created = Membership.objects.select_for_update().get_or_create(
        project_id=current.project_id,
        user=user,
        defaults={"roles": current.roles, "execute": current.execute},
    )
    if not created:
        member.roles = smallest_equal_roles([*member.roles, *current.roles])
        member.execute = member.execute or current.execute
        member.save(update_fields=["roles", "execute"])
    for group in current.groups.all():
        group.members.add(user)
    current.accepted_at, current.accepted_by = now, user
    current.save(update_fields=["accepted_at", "accepted_by"])
    _record_in_audit("invitation.accepted", current, user, now, roles=member.roles, execute=member.execute)
    observers.emit_consequences(
        observers.InvitationAccepted(current.pk, current.project_id, current.created_by_id, str(user), now)
    )
    return member


def must_name_address(roles: Collection[str], *, execute: bool) -> bool:
    """True if such an invitation has to name an address: it makes an admin, or lets somebody run programs."""
    return execute or Role.ADMIN in roles


def _may_invite(invitation: Invitation, inviter: User) -> bool:
    """True if this person could invite with these roles at this moment."""
    if not inviter.is_active:
        return False
    governed = Membership.objects.filter(
        project=invitation.project_id, user=inviter, roles__contains=[Role.ADMIN]
    )
    return inviter.is_staff or governed.exists()


def _is_addressed_to(invitation: Invitation, user: User) -> bool:
    return bool(invitation.email) and user.email.casefold() == invitation.email.casefold()


def invitation_secret(invitation: Invitation) -> str:
    """Return the secret that an invitation's link ends in. Made from the key of this installation, so that it
    can be shown again and never leaks with the rows."""
    # Made and not stored: it can be shown again, and never leaks with the rows
    return _signer.sign(invitation.key)


def find_invitation(secret: str, now: datetime) -> Invitation:
    """The open invitation of a link. Raises InvitationRefused, for all that open nothing alike."""
    try:
        key = _signer.unsign(secret)
    except BadSignature as forged:
        raise InvitationRefused from forged
    invitation = Invitation.objects.filter(key=key).select_related("project__owner", "created_by").first()
    if invitation is None or invitation.state(now) != Invitation.State.OPEN:
        raise InvitationRefused
    return invitation


def pending_invitations(project: Project) -> QuerySet[Invitation]:
    """Neither accepted nor revoked, those that expired included."""
    waiting = Invitation.objects.filter(project=project, accepted_at=None, revoked_at=None)
    return waiting.select_related("created_by").prefetch_related("groups").order_by("-created_at", "-pk")


def _lock_invitation(invitation: Invitation) -> Invitation:
    # `of`: the row alone, and not those it points to.
    return (
        Invitation.objects.select_for_update(of=("self",))
        .select_related("project", "created_by")
        .get(pk=invitation.pk)
    )


def _mark_revoked(invitation: Invitation, by: User | None, now: datetime) -> None:
    invitation.revoked_at = now
    invitation.save(update_fields=["revoked_at"])
    _record_in_audit("invitation.revoked", invitation, by, now)


def _replace_key_and_expiry(invitation: Invitation, by: User | None, now: datetime) -> None:
    invitation.key, invitation.expires_at = new_key(), now + LASTS
    invitation.mailed_at, invitation.mail_error = None, ""
    invitation.save(update_fields=["key", "created_by", "expires_at", "mailed_at", "mail_error"])
    _record_in_audit("invitation.renewed", invitation, by, now)
    _enqueue_mail(invitation)


def _enqueue_mail(invitation: Invitation) -> None:
    if invitation.email:
        queue.enqueue_queue_jobs(SEND_INVITATION, MAIL, {"invitation_id": invitation.pk})


def _record_in_audit(
    kind: str, invitation: Invitation, by: User | None, now: datetime, **data: object
) -> None:
    audit.record_administrative_act(
        kind,
        by=by,
        at=now,
        project=invitation.project,
        about=f"invitation:{invitation.pk}",
        name=str(invitation),
        **data,
    )
