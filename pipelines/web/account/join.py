"""Accepting an invitation: by whoever is signed in, or with a new account."""

from __future__ import annotations

from typing import Any

from allauth.core import ratelimit
from django.contrib.auth.forms import BaseUserCreationForm
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables
from django.views.decorators.http import require_http_methods

from pipelines import access
from pipelines.models import Invitation, Task, User
from pipelines.people import invitations
from pipelines.queries.tasks import WAITING
from pipelines.web.account.sign_in import begin_session
from pipelines.web.shell import errors
from pipelines.web.shell.rate_limits import wrong_invitations


class JoinForm(BaseUserCreationForm):
    """A person's own account. The address is that of the invitation; it can be changed in the personal settings."""

    class Meta:
        model = User
        fields = ("first_name", "last_name", "username")


@sensitive_post_parameters()
@sensitive_variables("secret")
@require_http_methods(["GET", "HEAD", "POST"])
def join_page(request: HttpRequest, secret: str) -> HttpResponse:
    """GET only shows what it gives: whatever looks at links ahead of people must not use one up."""
    try:
        invitation = invitations.find_invitation(secret, timezone.now())
        if request.method == "POST":
            return _accept_invitation(request, invitation)
    except invitations.InvitationRefused:
        # A link is guessed by trying: each wrong one counts against its address
        seconds = wrong_invitations.count_and_retry_after(request)
        if seconds:
            return errors.too_many(request, seconds)
        return _invitation_page(request, "errors/invitation.html", status=410)
    name = invitation.email.partition("@")[0]
    form, is_member = None, False
    if request.user.is_authenticated:
        is_member = bool(access.user_and_project_ids_of_members([request.user.pk], [invitation.project_id]))
    else:
        form = JoinForm(initial={"username": name})
    return _invitation_page(
        request, "account/join.html", invitation=invitation, form=form, is_member=is_member
    )


def _accept_invitation(request: HttpRequest, invitation: Invitation) -> HttpResponse:
    """Raises InvitationRefused: somebody else was first."""
    if request.user.is_authenticated:
        try:
            invitations.accept_invitation(invitation, request.user, timezone.now())
        except invitations.InvitedSomebodyElse as refusal:
            return _invitation_page(
                request, "account/join.html", status=409, invitation=invitation, refusal=refusal
            )
    else:
        # This form is no view of allauth, so its limit of sign-ups is applied here.
        limited = ratelimit.consume_or_429(request, action="signup")
        if limited is not None:
            return limited
        form = JoinForm(request.POST)
        # The address is no field of the form: only the invited one counts.
        form.instance.email = invitation.email
        if not form.is_valid():
            return _invitation_page(
                request, "account/join.html", status=422, invitation=invitation, form=form
            )
        try:
            # An invitation that is refused after all leaves no account behind.
            with transaction.atomic():
                user = form.save()
                invitations.accept_invitation(invitation, user, timezone.now())
        except invitations.InvitedSomebodyElse as refusal:
            return _invitation_page(
                request, "account/join.html", status=409, invitation=invitation, refusal=refusal
            )
        begin_session(request, user)
    waits = Task.objects.filter(project=invitation.project, status__in=WAITING).exists()
    return redirect("needs-me" if waits else "home")


def _invitation_page(request: HttpRequest, template: str, status: int = 200, **context: Any) -> HttpResponse:
    context["next"] = f"{reverse('sign-in')}?next={request.path}"
    response = render(request, template, context, status=status)
    # The address holds the secret. Not “no-referrer”: the form would be sent with “Origin: null”.
    response["Referrer-Policy"] = "same-origin"
    return response
