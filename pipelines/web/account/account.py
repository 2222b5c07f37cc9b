"""One's own account: name, theme, density, time zone, password, sessions, tokens."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.forms import PasswordChangeForm
from django.contrib.sessions.models import Session
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from pipelines.models import ApiToken, User
from pipelines.web.shell.forms import NewToken, PersonalForm
from pipelines.web.shell.page import SignedIn, crumbs, show, signed_in


@signed_in
@require_http_methods(["GET", "HEAD", "POST"])
def account(request: SignedIn) -> HttpResponse:
    form = PersonalForm(request.POST or None, instance=request.user)
    if request.method == "POST":
        if form.is_valid():
            form.save()
            messages.success(request, _("Saved"))
            return redirect("account")
        # What was refused must not show as if it were the person's.
        request.user.refresh_from_db()
    return page(request, personal=form, status=422 if form.is_bound else 200)


def page(request: SignedIn, status: int = 200, **context: Any) -> HttpResponse:
    """The account page with one of its forms as it came back."""
    user = request.user
    mine: dict[str, Any] = {
        "personal": PersonalForm(instance=user),
        "password": PasswordChangeForm(user),
        "new_token": NewToken(),
        "tokens": ApiToken.objects.filter(user=user).order_by("revoked_at", "-created_at"),
        "sessions": sessions_of(user, request.session.session_key),
        "now": timezone.now(),
    }
    return show(
        request,
        "account/account.html",
        section="settings",
        trail=crumbs(_("Personal settings")),
        status=status,
        **(mine | context),
    )


def sessions_of(user: User, this: str | None) -> list[dict[str, Any]]:
    """Where one is signed in. Sessions are opaque to the database, so all that are alive are opened."""
    found = []
    for session in Session.objects.filter(expire_date__gt=timezone.now()).order_by("-expire_date")[:2_000]:
        if session.get_decoded().get("_auth_user_id") == str(user.pk):
            found.append(
                {"expires": session.expire_date, "this": session.session_key == this, "key": session.pk}
            )
    return found


@sensitive_post_parameters()
@signed_in
@require_POST
def change_password(request: SignedIn) -> HttpResponse:
    """All other sessions of this person end: their proof was the old password."""
    form = PasswordChangeForm(request.user, request.POST)
    if not form.is_valid():
        return page(request, password=form, status=422)
    form.save()
    update_session_auth_hash(request, request.user)
    messages.success(request, _("Password changed. Other browsers are signed out."))
    return redirect("account")


@signed_in
@require_POST
def end_sessions(request: SignedIn) -> HttpResponse:
    """Sign out everywhere but here."""
    others = [
        each["key"] for each in sessions_of(request.user, request.session.session_key) if not each["this"]
    ]
    Session.objects.filter(pk__in=others).delete()
    messages.success(request, _("Other browsers are signed out."))
    return redirect("account")
