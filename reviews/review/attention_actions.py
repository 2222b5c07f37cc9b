"""Around a decision: claim a review, ask the requester, see it later. Page and API both come through here."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.views.decorators.http import require_POST

from pipelines import access
from pipelines.errors import Conflict, Forbidden, Invalid, NotFound
from pipelines.models import GateVisit, Role, User
from pipelines.ports import clock
from pipelines.templatetags.cuts import shortened
from pipelines.web.shell.middleware import zone_or_utc
from pipelines.web.shell.page import SignedInRequest, sign_in_required
from reviews.attention import claims, questions, snoozes
from reviews.decision.entitlements import Entitlements
from reviews.inbox.list_selection import review_list_from_address
from reviews.models import ReviewClaim, ReviewQuestion

MORNING = 9
LATER = (
    ("hour", "For an hour"),
    ("tomorrow", "Until tomorrow, 9:00"),
    ("week", "Until Monday, 9:00"),
)


def claim_if_user_may_decide(visit: GateVisit, user: User) -> ReviewClaim:
    """Raises Forbidden (who may not decide here), Conflict."""
    _refuse_who_may_not_decide(visit, user)
    return claims.claim_or_extend_review_for_an_hour(visit, user)


def release_own_claim_or_any_as_administrator(visit: GateVisit, user: User) -> None:
    """Raises Forbidden."""
    role = Role.ADMIN in access.roles_with_included_in(user, visit.task.project)
    claims.release_claim_if_any(visit, user, is_administrator=role)


def ask_requester_if_user_may_decide(visit: GateVisit, user: User, text: str) -> ReviewQuestion:
    """Raises Forbidden (who may not decide here), Invalid, Conflict."""
    _refuse_who_may_not_decide(visit, user)
    return questions.ask_requester_in_open_review(visit, user, text)


def snooze_if_user_may_decide(visit: GateVisit, user: User, until: datetime) -> None:
    """Raises Forbidden (who may not decide here), Invalid, Conflict."""
    _refuse_who_may_not_decide(visit, user)
    snoozes.snooze_open_review(visit, user, until)


def _refuse_who_may_not_decide(visit: GateVisit, user: User) -> None:
    if visit.state != GateVisit.State.OPEN:
        raise Conflict("This review is closed.")
    entitlement = Entitlements(user).entitlement_to_visit(visit)
    if not entitlement.may:
        raise Forbidden(entitlement.why or "This gate does not ask you to review.")


@dataclass(frozen=True)
class Attention:
    """Attention of a review. `may`: whether the reader may claim, ask and snooze; `may_release`: end the claim."""

    claim: ReviewClaim | None
    thread: list[ReviewQuestion]
    snoozed: datetime | None
    requester: User | None
    may: bool
    may_release: bool
    reader: User

    @property
    def is_own_claim(self) -> bool:
        return self.claim is not None and self.claim.user_id == self.reader.pk

    @property
    def may_ask(self) -> bool:
        return self.may and self.requester is not None and self.requester != self.reader

    @property
    def waiting(self) -> list[ReviewQuestion]:
        return [question for question in self.thread if question.answered_at is None]

    @property
    def later_choices(self) -> object:
        return LATER

    @property
    def is_visible(self) -> bool:
        return bool(self.may or self.claim or self.thread)


def claim_questions_and_snooze_of_visit(visit: GateVisit, user: User, *, may: bool) -> Attention:
    is_open = visit.state == GateVisit.State.OPEN
    current_claim = claims.claim_in_force_or_none(visit) if is_open else None
    owner = current_claim is not None and Role.ADMIN in access.roles_with_included_in(
        user, visit.task.project
    )
    return Attention(
        current_claim,
        questions.questions_at_gate_of_all_rounds(visit),
        snoozes.snooze_end_if_snoozed_now(visit, user) if may else None,
        questions.active_member_requester_or_none(visit) if may else None,
        may,
        current_claim is not None and (owner or current_claim.user_id == user.pk),
        user,
    )


# Pages


@require_POST
@sign_in_required
def claim_or_release_action(request: SignedInRequest, visit: uuid.UUID) -> HttpResponse:
    """Claim it, or release the claim (`action`)."""
    gate_visit = visible_visit_or_404(request.user, visit)
    act = {"claim": claim_if_user_may_decide, "release": release_own_claim_or_any_as_administrator}.get(
        request.POST.get("action", ""), _raise_invalid_action
    )
    return _act_and_redirect_to_review(request, gate_visit, lambda: act(gate_visit, request.user))


@require_POST
@sign_in_required
def ask_question_action(request: SignedInRequest, visit: uuid.UUID) -> HttpResponse:
    gate_visit = visible_visit_or_404(request.user, visit)
    text = request.POST.get("text", "")
    return _act_and_redirect_to_review(
        request,
        gate_visit,
        lambda: ask_requester_if_user_may_decide(gate_visit, request.user, text),
        "Question sent.",
    )


@require_POST
@sign_in_required
def answer_question_action(request: SignedInRequest, visit: uuid.UUID, question: int) -> HttpResponse:
    gate_visit = visible_visit_or_404(request.user, visit)
    text = request.POST.get("text", "")
    return _act_and_redirect_to_review(
        request,
        gate_visit,
        lambda: questions.answer_question(gate_visit, question, request.user, text),
        "Answered",
    )


@require_POST
@sign_in_required
def snooze_action(request: SignedInRequest, visit: uuid.UUID) -> HttpResponse:
    """See it later; without a time (`until`) at once again."""
    gate_visit, chosen = visible_visit_or_404(request.user, visit), request.POST.get("until", "")
    if not chosen:
        return _act_and_redirect_to_review(
            request, gate_visit, lambda: snoozes.end_snooze(gate_visit, request.user)
        )
    until = chosen_time_or_none(chosen, request.user, clock.now())
    if until is None:
        return _act_and_redirect_to_review(request, gate_visit, _raise_invalid_time)
    return _act_and_redirect_to_review(
        request, gate_visit, lambda: snooze_if_user_may_decide(gate_visit, request.user, until)
    )


def _raise_invalid_action(visit: GateVisit, user: User) -> None:
    _refuse_who_may_not_decide(visit, user)
    raise Invalid.at("action", "Choose what to do.")


def _raise_invalid_time() -> None:
    raise Invalid.at("until", "Choose a time within 30 days.")


def chosen_time_or_none(chosen: str, user: User, now: datetime) -> datetime | None:
    """The time that one of LATER means to this person now, or a time as their browser writes it; None for none."""
    local = now.astimezone(zone_or_utc(user.time_zone))
    morning = local.replace(hour=MORNING, minute=0, second=0, microsecond=0, fold=0)
    if chosen == "hour":
        return now + timedelta(hours=1)
    if chosen == "tomorrow":
        return morning + timedelta(days=1)
    if chosen == "week":
        # Monday is 0: the next one, never today
        return morning + timedelta(days=7 - local.weekday())
    try:
        moment = parse_datetime(chosen)
    except ValueError:
        return None
    # At either end of the calendar a time zone may lead out of it
    if moment is None or moment.year < 2 or moment.year > 9998:
        return None
    return moment if timezone.is_aware(moment) else moment.replace(tzinfo=zone_or_utc(user.time_zone))


def _act_and_redirect_to_review(
    request: SignedInRequest, visit: GateVisit, act: Callable[[], object], words: str = ""
) -> HttpResponse:
    """Back to the review; what is refused says why, and keeps what was typed."""
    try:
        act()
    except NotFound as problem:
        raise Http404(str(problem)) from problem
    except Forbidden as problem:
        raise PermissionDenied(str(problem)) from problem
    except (Conflict, Invalid) as problem:
        text = problem.message if isinstance(problem, Invalid) else str(problem)
        typed = request.POST.get("text", "").replace("\0", "").strip()
        messages.error(request, f"{text} {shortened(typed, 2000)}".strip())
    else:
        if words:
            messages.success(request, words)
    selection = review_list_from_address(request)
    return redirect(reverse("gate-visit", args=[visit.pk]) + selection.suffix)


def visible_visit_or_404(user: User, visit: uuid.UUID) -> GateVisit:
    """Return a visit of a project that this person may see; any other does not exist for them."""
    rows = GateVisit.objects.select_related(
        "task__project__owner", "task__line", "task__requester", "job", "asked_by"
    )
    gate_visit = rows.filter(pk=visit).first()
    if gate_visit is None or not access.is_permitted(user, "view", gate_visit.task.project):
        raise Http404
    return gate_visit
