"""One's own account: name, theme, density, time zone, password, sessions, tokens."""

from __future__ import annotations

import hashlib
from typing import Any

from allauth.account.adapter import get_adapter
from allauth.account.models import EmailAddress
from allauth.core import ratelimit
from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.forms import PasswordChangeForm
from django.contrib.sessions.models import Session
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from pipelines.models import ApiToken, User
from pipelines.people import accounts
from pipelines.ports import audit
from pipelines.web.shell.forms import NewTokenForm, PersonalForm
from pipelines.web.shell.page import SignedInRequest, breadcrumbs, render_in_shell, sign_in_required

NEWEST_UNRECORDED = 2_000


@sign_in_required
@require_http_methods(["GET", "HEAD", "POST"])
def account(request: SignedInRequest) -> HttpResponse:
    form = PersonalForm(request.POST or None, instance=request.user)
    if request.method == "POST":
        if form.is_valid():
            form.save()
            if "email" in form.changed_data:
                # Else a reset could still be mailed to the address of before.
                EmailAddress.objects.filter(user=request.user).delete()
            messages.success(request, "Saved")
            return redirect("account")
        # What was refused must not show as if it were the person's.
        request.user.refresh_from_db()
    return account_page(request, personal=form, status=422 if form.is_bound else 200)


def account_page(request: SignedInRequest, status: int = 200, **context: Any) -> HttpResponse:
    """The account page with one of its forms as it came back."""
    user = request.user
    defaults: dict[str, Any] = {
        "personal": PersonalForm(instance=user),
        "password": PasswordChangeForm(user),
        "new_token": NewTokenForm(),
        "tokens_end": accounts.tokens_valid_until_or_none(user),
        "provider_name": settings.OIDC_NAME,
        "tokens": ApiToken.objects.filter(user=user).order_by("revoked_at", "-created_at"),
        "sessions": list_sessions(user, request.session.session_key),
        "now": timezone.now(),
    }
    return render_in_shell(
        request,
        "account/account.html",
        section="account",
        trail=breadcrumbs("Personal settings"),
        status=status,
        **(defaults | context),
    )


def list_sessions(user: User, current_key: str | None) -> list[dict[str, Any]]:
    """List where one is signed in: as each sign-in was recorded, and of the newest sessions without a record those that
    are of this person, for which each has to be opened. `name` stands for a session on the page: the key itself would
    be the session."""
    recorded = {record.session_key: record for record in UserSession.objects.filter(user=user)}
    alive = Session.objects.filter(expire_date__gt=timezone.now()).order_by("-expire_date")
    unrecorded = [
        session
        for session in alive.exclude(pk__in=recorded)[:NEWEST_UNRECORDED]
        # Django keeps the id as a text inside the signed data, where SQL cannot compare it.
        if session.get_decoded().get("_auth_user_id") == str(user.pk)
    ]
    return [
        {
            "expires": session.expire_date,
            "this": session.session_key == current_key,
            "key": session.pk,
            "name": hashlib.sha256(session.pk.encode()).hexdigest()[:16],
            "began": recorded.get(session.pk),
        }
        for session in [*alive.filter(pk__in=recorded), *unrecorded]
    ]


@sensitive_post_parameters()
@sign_in_required
@require_POST
def change_password(request: SignedInRequest) -> HttpResponse:
    """Change the password and end all other sessions of this person, whose proof was the old password."""
    # This form is no view of allauth, so its limit of changes is asked here
    limited = ratelimit.consume_or_429(request, action="change_password")
    if limited is not None:
        return limited
    form = PasswordChangeForm(request.user, request.POST)
    if not form.is_valid():
        return account_page(request, password=form, status=422)
    form.save()
    # A new password ends every session whose hash is of the old one; this one gets the new hash.
    update_session_auth_hash(request, request.user)
    get_adapter().send_notification_mail("account/email/password_changed", request.user)
    messages.success(request, "Password changed. Other browsers are signed out.")
    return redirect("account")


@sign_in_required
@require_POST
def end_sessions(request: SignedInRequest) -> HttpResponse:
    """End one (`session`, its name on the page), or sign out everywhere but here."""
    name, user, this = request.POST.get("session", ""), request.user, request.session.session_key
    if name:
        # By the name on the page: keys of sessions sign in, and are never shown
        rows = [row["key"] for row in list_sessions(user, this) if row["name"] == name and not row["this"]]
        count, _by_model = Session.objects.filter(pk__in=rows).delete()
        UserSession.objects.filter(session_key__in=rows).delete()
    else:
        count = accounts.end_sessions(user, besides=this)
    if count:
        audit.record_administrative_act(
            "sessions.ended",
            by=user,
            at=timezone.now(),
            about=audit.actor_reference_or_command(user),
            name=user.username,
            count=count,
        )
    messages.success(request, "Session ended" if name else "Other browsers are signed out.")
    return redirect("account")
