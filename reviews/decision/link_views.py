"""The confirm page of a link in a mail (law §15). No GET, HEAD or OPTIONS decides anything, and no script does: mail
scanners open links, some of them in a browser. The token leaves the address at once, into a short cookie."""

from __future__ import annotations

import re

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_http_methods, require_safe

from pipelines.models import GateVisit
from pipelines.queries import versions
from reviews.decision import mail_link
from reviews.decision.consequences import offered_votes_within_allowed_rounds
from reviews.decision.mail_link import MailLinkRefused
from reviews.models import MailLink

COOKIE, SECONDS = "gateline-mail-link", 600
STATUS = {"invalid": 404, "used": 410, "decided": 409, "superseded": 410}
TOKEN = re.compile(r"[A-Za-z0-9_-]{1,100}")
FORBIDDEN = 403
"""For reassigned, changed and another."""


@sensitive_variables("token")
@never_cache
@require_safe
def take_token_from_address(request: HttpRequest, token: str) -> HttpResponse:
    """Take the token out of the address."""
    # No cookie has what is beyond ASCII
    if not TOKEN.fullmatch(token):
        raise Http404
    answer = redirect("mail-link")
    answer.set_cookie(
        COOKIE,
        token,
        max_age=SECONDS,
        path=reverse("mail-link"),
        secure=request.is_secure(),
        httponly=True,
        # Strict: browsers that come from a web mail would not send it after the redirect
        samesite="Lax",
    )
    answer["Referrer-Policy"] = "no-referrer"
    return answer


@sensitive_variables("token")
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def confirm_page(request: HttpRequest) -> HttpResponse:
    token = request.COOKIES.get(COOKIE, "")
    try:
        link = mail_link.usable_link_of_token(token)
        # Whoever is signed in here must not decide as somebody else
        if request.user.is_authenticated and request.user.pk != link.user_id:
            raise MailLinkRefused("another", visit=link.visit)
        if request.method == "POST":
            link = mail_link.use_up_link_and_approve(token, timezone.now())
            link.visit.refresh_from_db()
            answer = _mail_link_page(request, {"done": True, **_visit_page_context(link.visit)})
            # Its link is used up
            answer.delete_cookie(COOKIE, path=reverse("mail-link"))
            return answer
        return _mail_link_page(request, _confirm_page_context(link))
    except MailLinkRefused as refused:
        visit = refused.visit
        context = {
            "refused": refused.state,
            "detail": refused.detail,
            **(_visit_page_context(visit) if visit else {}),
        }
        return _mail_link_page(request, context, STATUS.get(refused.state, FORBIDDEN))


def _confirm_page_context(link: MailLink) -> dict[str, object]:
    visit = link.visit
    approve = next(
        option for option in offered_votes_within_allowed_rounds(visit) if option.word == "approve"
    )
    outcome = visit.evidence.get("outcome", {})
    return {
        "person": link.user,
        "option": approve,
        "summary": outcome.get("summary", ""),
        **_visit_page_context(visit),
    }


def _visit_page_context(visit: GateVisit) -> dict[str, object]:
    line = versions.parsed_line_by_version_id(visit.asked_by.pinned_id)
    return {
        "visit": visit,
        "task": visit.task,
        "line_name": line.name,
        "gate": line.gate(visit.gate),
        "station": line.station(visit.asked_by.station).name,
    }


def _mail_link_page(request: HttpRequest, context: dict[str, object], status: int = 200) -> HttpResponse:
    response = render(request, "reviews/mail_link.html", context, status=status)
    # The address has no token any more. With “no-referrer” the browser would send “Origin: null” with the form.
    response["Referrer-Policy"] = "same-origin"
    response["Cache-Control"] = "no-store"
    return response
