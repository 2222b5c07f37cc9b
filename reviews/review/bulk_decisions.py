"""Several reviews at once: first a table of what would be decided on each, then one vote on each, with its outcome."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from django.http import HttpResponse
from django.views.decorators.http import require_http_methods

from pipelines import engine
from pipelines.errors import Invalid, Refused
from pipelines.models import GateVisit, User, Word
from pipelines.queries import versions
from pipelines.routing.document.line import Gate
from pipelines.web.changes.trees import unopened_count
from pipelines.web.shell.page import SignedInRequest, breadcrumbs, render_in_shell, sign_in_required
from reviews.decision.consequences import VoteOption, offered_votes_within_allowed_rounds
from reviews.decision.entitlements import Entitlements
from reviews.decision.remarks import reason_with_remarks
from reviews.decision.review_access import visits_among_which_user_may_decide
from reviews.inbox.item import InboxViewer
from reviews.inbox.list_selection import NEEDS_ME, review_list_from_address
from reviews.review.detail import username_and_label_of_seats

MOST = 50
WORDS = (Word.APPROVE, Word.REJECT)
"""Sending back is for one: its remarks are about one piece of work."""


@dataclass(frozen=True)
class BulkRow:
    """Row of a chosen review. `option`: what would be decided; without it `why` says why nothing is. `done`:
    what came of it, `settled` if that decided it; `lost`: it was refused."""

    visit: GateVisit
    gate: Gate
    option: VoteOption | None
    why: str = ""
    done: str = ""
    settled: bool = False
    lost: bool = False
    seats: Sequence[tuple[str, str]] = ()
    """(user name, name) of those in whose place they may decide, where it is not only their own."""
    seat: str = ""
    """The one that was chosen."""

    @property
    def evidence_version(self) -> str:
        """Version of what was visible: the version of the position and the digest of the evidence."""
        return f"{self.visit.token_version}:{self.visit.evidence_digest}"


@require_http_methods(["GET", "HEAD", "POST"])
@sign_in_required
def bulk_decision_page(request: SignedInRequest) -> HttpResponse:
    form_data = request.POST if request.method == "POST" else request.GET
    word = form_data.get("word", Word.APPROVE)
    word = word if word in WORDS else Word.APPROVE
    rows = plan_decision_on_each_visible_visit(request.user, form_data.getlist("visit"), word)
    # As long as the form of a single decision takes it
    reason, fault, status = form_data.get("reason", "").replace("\0", "")[:20_000], "", 200
    needs_reason = any(row.option and row.option.needs_reason for row in rows)
    if request.method == "POST":
        # The table of the first step sends back what was visible of each
        is_confirmed = any(key.startswith("seen-") for key in request.POST)
        if needs_reason and not reason.strip():
            fault, status = "A reason is needed.", 422
        elif not is_confirmed and not any(row.option for row in rows):
            fault, status = "Nothing can be decided here.", 422
        else:
            rows = [
                cast_vote_on_evidence_of_row(
                    request.user,
                    replace(row, seat=str(request.POST.get(f"seat-{row.visit.pk}") or "")),
                    word,
                    reason,
                    str(request.POST.get(f"seen-{row.visit.pk}") or ""),
                )
                for row in rows
            ]
            status = 409 if any(row.lost for row in rows) else 200
    back = review_list_from_address(request, NEEDS_ME).address
    return render_in_shell(
        request,
        "reviews/bulk.html",
        section="needs",
        trail=breadcrumbs(("Inbox", back), "Several reviews"),
        status=status,
        rows=rows,
        word=word,
        reason=reason,
        needs_reason=needs_reason,
        fault=fault,
        decided=any(row.done for row in rows),
        able=sum(row.option is not None for row in rows),
        back=back,
    )


def plan_decision_on_each_visible_visit(
    user: User, chosen: Iterable[str], word: str, viewer: InboxViewer | None = None
) -> list[BulkRow]:
    """Return what this word would do on each of these, in their order; at most 50, of projects that the
    person sees. `viewer`: the person with the token, where that may see less."""
    # Twice as many are looked at: some may come twice, or be no ids
    ids = list(dict.fromkeys(filter(None, map(_uuid_or_none, list(chosen)[: MOST * 2]))))[:MOST]
    projects = [project.pk for project in (viewer or InboxViewer(user)).visible_projects]
    by_id = {
        visit.pk: visit
        for visit in GateVisit.objects.filter(pk__in=ids, task__project__in=projects)
        .select_related("task__project__owner", "task__line", "task__requester", "job", "asked_by__pinned")
        .prefetch_related("votes", "asked_by__gate_visits")
    }
    may = visits_among_which_user_may_decide(user, projects, by_id)
    visits = [by_id[visit_id] for visit_id in ids if visit_id in by_id]
    first = next((visit for visit in visits if visit.pk in may), None)
    rows = [_bulk_row_with_option_or_reason(visit, word, first, visit.pk in may) for visit in visits]
    return _rows_with_seats_of_absent_people(user, rows)


def _rows_with_seats_of_absent_people(user: User, rows: list[BulkRow]) -> list[BulkRow]:
    """Add to each row whom it may be decided for, where somebody is away."""
    standings = Entitlements(user)
    entitlements = {row.visit.pk: standings.entitlement_to_visit(row.visit) for row in rows if row.option}
    several = {pk: entitlement for pk, entitlement in entitlements.items() if entitlement.stands_in}
    ids = {seat.person.user_id for entitlement in several.values() for seat in entitlement.seats}
    people = User.objects.in_bulk(ids) if ids else {}
    return [
        replace(row, seats=username_and_label_of_seats(several[row.visit.pk], people))
        if row.visit.pk in several
        else row
        for row in rows
    ]


def _bulk_row_with_option_or_reason(
    visit: GateVisit, word: str, first: GateVisit | None, may: bool
) -> BulkRow:
    gate = versions.parsed_line_by_version_id(visit.asked_by.pinned_id).gate(visit.gate)
    row = BulkRow(visit, gate, None)
    if visit.state != GateVisit.State.OPEN:
        return replace(row, why="This review is closed.")
    if not may:
        return replace(row, why="You cannot decide here.")
    if first and (visit.gate, visit.asked_by.pinned_id) != (first.gate, first.asked_by.pinned_id):
        return replace(row, why="Another gate, or another version of the line.")
    if word == Word.APPROVE and gate.fields:
        return replace(row, why="Its approval fills in fields: open it.")
    option = next(
        (candidate for candidate in offered_votes_within_allowed_rounds(visit) if candidate.word == word),
        None,
    )
    if option is None:
        return replace(row, why="Not offered here.")
    if option.routes:
        return replace(row, why="You choose where it goes: open it.")
    return replace(row, option=option)


def cast_vote_on_evidence_of_row(
    user: User, row: BulkRow, word: str, reason: str, evidence_version: str, via: str = "page"
) -> BulkRow:
    """Cast one vote, on exactly what was visible (`evidence_version`)."""
    version, _colon, digest = evidence_version.partition(":")
    if row.option is None:
        # With a version it was in the table, and could be decided then
        return replace(row, lost=bool(evidence_version))
    # PostgreSQL's integer holds any number of nine digits
    if not (version.isascii() and version.isdigit() and len(version) < 10):
        return replace(row, option=None, why="It was not in the table.", lost=True)
    if len(row.seats) > 1 and row.seat not in dict(row.seats):
        return replace(row, option=None, why="Choose in whose place you decide.", lost=True)
    try:
        result = engine.vote(
            row.visit,
            user=user,
            word=word,
            reason=reason_with_remarks(row.visit, user, reason),
            token_version=int(version),
            evidence_digest=digest,
            via=via,
            unopened=unopened_count(row.visit, user) if word == Word.APPROVE else 0,
            seat=row.seat or user.username,
        )
    except Refused as problem:
        message = problem.message if isinstance(problem, Invalid) else str(problem)
        return replace(row, option=None, why=message, lost=True)
    settled = result.state == GateVisit.State.DECIDED
    return replace(row, done="Decided" if settled else "Your vote is counted", settled=settled)


def _uuid_or_none(text: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(text)
    except ValueError:
        return None
