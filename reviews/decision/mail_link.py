"""Approving by a link in a mail, without a session (law §15): 256 bits of which only the SHA-256 is stored, for one
person, one gate visit and one evidence, used once in the transaction of the vote."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet
from django.views.decorators.debug import sensitive_variables

from pipelines import engine
from pipelines.errors import Conflict, Forbidden, Invalid, NotFound
from pipelines.models import GateVisit, User, Word
from pipelines.people import accounts
from pipelines.queries import versions
from pipelines.routing.document.line import Gate
from pipelines.web.changes.trees import unopened_count
from reviews.decision.entitlements import Entitlements
from reviews.decision.gates import needs_no_reason_field_or_second_factor
from reviews.decision.remarks import reason_with_remarks
from reviews.models import MailLink


@dataclass
class MailLinkRefused(Exception):
    """Refusal of a link, with why it decides nothing: invalid, used, decided, superseded, reassigned,
    changed, or another (person's)."""

    state: str
    detail: str = ""
    visit: GateVisit | None = None


def may_approve_by_link(visit: GateVisit, gate: Gate) -> bool:
    """Return whether this gate can be approved by a link."""
    return (
        gate.channels is not None
        and gate.channels.mail_link
        and needs_no_reason_field_or_second_factor(visit, gate)
    )


def issue_token_to_sole_member_or_empty(visit: GateVisit, address: str, now: datetime) -> str:
    """A new token for the only member at this address who may decide now, or ""."""
    gate = _visit_gate(visit)
    if visit.state != GateVisit.State.OPEN or not may_approve_by_link(visit, gate):
        return ""
    people = User.objects.filter(
        memberships__project=visit.task.project_id, email__iexact=address, is_active=True
    )
    # Two are enough to see that the address is not one person's
    members = list(people.distinct()[:2])
    if (
        len(members) != 1
        or accounts.needs_second_factor(members[0])
        or not Entitlements(members[0]).entitlement_to_visit(visit).may
    ):
        return ""
    token = secrets.token_urlsafe(32)
    MailLink.objects.create(
        visit=visit,
        user=members[0],
        digest=_token_digest(token),
        token_version=visit.token_version,
        evidence_digest=visit.evidence_digest,
        created_at=now,
    )
    return token


@sensitive_variables("token")
def usable_link_of_token(token: str) -> MailLink:
    """The link, while it can decide. Raises MailLinkRefused."""
    return _require_usable_link(_links_with_token(token).first())


@sensitive_variables("token")
def use_up_link_and_approve(token: str, now: datetime) -> MailLink:
    """Use the link up and vote, in one transaction. Raises MailLinkRefused."""
    with transaction.atomic():
        # Locked: of two clicks at once only one votes
        link = _require_usable_link(_links_with_token(token).select_for_update(of=("self",)).first())
        # Before the vote: one that is refused rolls this back, too
        MailLink.objects.filter(pk=link.pk).update(used_at=now)
        try:
            engine.vote(
                link.visit,
                user=link.user,
                word=Word.APPROVE,
                reason=reason_with_remarks(link.visit, link.user, ""),
                token_version=link.token_version,
                evidence_digest=link.evidence_digest,
                via="mail",
                unopened=unopened_count(link.visit, link.user),
            )
        except Conflict as problem:
            raise MailLinkRefused("decided", problem.detail, link.visit) from problem
        except (Forbidden, NotFound, Invalid) as problem:
            raise MailLinkRefused("reassigned", str(problem), link.visit) from problem
    return link


def _links_with_token(token: str) -> QuerySet[MailLink]:
    links = MailLink.objects.select_related(
        "user", "visit__task__project__owner", "visit__task__line", "visit__job", "visit__asked_by"
    )
    return links.filter(digest=_token_digest(token))


def _require_usable_link(link: MailLink | None) -> MailLink:
    if link is None:
        raise MailLinkRefused("invalid")
    visit = link.visit
    if link.used_at is not None:
        raise MailLinkRefused("used", visit=visit)
    _refuse_closed_visit(visit)
    if (visit.token_version, visit.evidence_digest) != (link.token_version, link.evidence_digest):
        raise MailLinkRefused("superseded", visit=visit)
    if not may_approve_by_link(visit, _visit_gate(visit)):
        raise MailLinkRefused("changed", visit=visit)
    if accounts.needs_second_factor(link.user):
        raise MailLinkRefused("reassigned", "Your account needs a second factor first.", visit)
    entitlement = Entitlements(link.user).entitlement_to_visit(visit)
    if not link.user.is_active or not entitlement.may:
        # Decided while it was looked at, perhaps by their own vote: that is the reason then.
        visit.refresh_from_db(fields=["state", "word", "decided_by", "decided_at", "overridden"])
        _refuse_closed_visit(visit)
        raise MailLinkRefused("reassigned", entitlement.why or "This gate does not ask you to review.", visit)
    return link


def _refuse_closed_visit(visit: GateVisit) -> None:
    if visit.state == GateVisit.State.DECIDED:
        raise MailLinkRefused("decided", visit=visit)
    if visit.state == GateVisit.State.CLOSED:
        raise MailLinkRefused("superseded", visit=visit)


def _visit_gate(visit: GateVisit) -> Gate:
    return versions.parsed_line_by_version_id(visit.asked_by.pinned_id).gate(visit.gate)


def _token_digest(token: str) -> str:
    # A plain hash will do for 256 random bits
    return hashlib.sha256(token.encode()).hexdigest()
