"""Inviting people into a project, by mail and by a link to hand over. The link is the credential: whoever opens it
first joins with the roles of the invitation."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta

from django.core.signing import BadSignature, Signer
from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext_lazy

from pipelines.errors import Refused
from pipelines.models import Group, Invitation, Membership, Project, User
from pipelines.models.invitations import new_key
from pipelines.models.people import simplify
from pipelines.ports import audit, observers, queue

LASTS = timedelta(days=7)
MAIL = "reviews.send_invitation"
_signer = Signer(salt="gateline.invitation")


class InvitationRefused(Refused):
    says = gettext_lazy("This invitation was used, revoked, has expired, or was never one.")


def invite(
    project: Project,
    emails: Sequence[str],
    *,
    roles: Collection[str],
    execute: bool,
    groups: Collection[Group],
    by: User,
    now: datetime,
) -> list[Invitation]:
    """One invitation for each address, mailed after the commit; without an address one whose link is handed over."""
    return [_invite(project, email, roles, execute, groups, by, now) for email in emails or [""]]


@transaction.atomic
def _invite(
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
        roles=simplify(roles),
        execute=execute,
        created_at=now,
        created_by=by,
        expires_at=now + LASTS,
    )
    made.groups.set(groups)
    _record("invitation.created", made, by, now, roles=made.roles, execute=execute)
    _mail(made)
    return made


@transaction.atomic
def renew(invitation: Invitation, *, by: User, now: datetime) -> Invitation:
    """A new link for as long again; the one before opens nothing. Raises InvitationRefused (used or revoked)."""
    found = _locked(invitation)
    if found.state(now) not in (Invitation.State.OPEN, Invitation.State.EXPIRED):
        raise InvitationRefused
    found.key, found.expires_at, found.mailed_at, found.mail_error = new_key(), now + LASTS, None, ""
    found.save(update_fields=["key", "expires_at", "mailed_at", "mail_error"])
    _record("invitation.renewed", found, by, now)
    _mail(found)
    return found


@transaction.atomic
def revoke(invitation: Invitation, *, by: User, now: datetime) -> None:
    """Its link opens nothing any more. Raises InvitationRefused (used already)."""
    found = _locked(invitation)
    if found.accepted_at is not None:
        raise InvitationRefused
    if found.revoked_at is None:
        found.revoked_at = now
        found.save(update_fields=["revoked_at"])
        _record("invitation.revoked", found, by, now)


@transaction.atomic
def accept(invitation: Invitation, user: User, now: datetime) -> Membership:
    """Of two who try at once the first gets through. A member keeps the roles of before. Raises InvitationRefused."""
    found = _locked(invitation)
    if found.key != invitation.key or found.state(now) != Invitation.State.OPEN:
        raise InvitationRefused
    member, made = Membership.objects.select_for_update().get_or_create(
        project_id=found.project_id, user=user, defaults={"roles": found.roles, "execute": found.execute}
    )
    if not made:
        member.roles = simplify([*member.roles, *found.roles])
        member.execute = member.execute or found.execute
        member.save(update_fields=["roles", "execute"])
    for group in found.groups.all():
        group.members.add(user)
    found.accepted_at, found.accepted_by = now, user
    found.save(update_fields=["accepted_at", "accepted_by"])
    _record("invitation.accepted", found, user, now, roles=member.roles, execute=member.execute)
    observers.tell(
        observers.InvitationAccepted(found.pk, found.project_id, found.created_by_id, str(user), now)
    )
    return member


def secret_of(invitation: Invitation) -> str:
    """What its link ends in. Made from the key of this installation, so that it can be shown again and never leaks
    with the rows."""
    return _signer.sign(invitation.key)


def find(secret: str, now: datetime) -> Invitation:
    """The open invitation of a link. Raises InvitationRefused, for all that open nothing alike."""
    try:
        key = _signer.unsign(secret)
    except BadSignature as forged:
        raise InvitationRefused from forged
    found = Invitation.objects.filter(key=key).select_related("project__owner", "created_by").first()
    if found is None or found.state(now) != Invitation.State.OPEN:
        raise InvitationRefused
    return found


def pending(project: Project) -> QuerySet[Invitation]:
    """Neither accepted nor revoked, those that expired included."""
    waiting = Invitation.objects.filter(project=project, accepted_at=None, revoked_at=None)
    return waiting.select_related("created_by").prefetch_related("groups").order_by("-created_at", "-pk")


def _locked(invitation: Invitation) -> Invitation:
    # `of`: the row alone, and not those it points to.
    return Invitation.objects.select_for_update(of=("self",)).select_related("project").get(pk=invitation.pk)


def _mail(invitation: Invitation) -> None:
    if invitation.email:
        queue.enqueue(MAIL, "mail", {"invitation_id": invitation.pk})


def _record(kind: str, invitation: Invitation, by: User, now: datetime, **data: object) -> None:
    audit.record(
        kind,
        by=by,
        at=now,
        project=invitation.project,
        about=f"invitation:{invitation.pk}",
        name=str(invitation),
        **data,
    )
