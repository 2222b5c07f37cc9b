"""Signing in with a provider (OpenID Connect): who gets an account, and which roles the provider's groups give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import structlog
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialLogin
from allauth.socialaccount.providers.openid_connect import views
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone

from pipelines.models import User
from pipelines.people import provider_roles

View = Callable[[HttpRequest, str], HttpResponse]
log = structlog.get_logger(__name__)


def _catch_unreachable(view: View) -> View:
    """A provider that is away, or answers with an error, is said to be no confirmation."""

    def view_or_refusal_if_provider_is_away(request: HttpRequest, provider_id: str) -> HttpResponse:
        try:
            return view(request, provider_id)
        except OSError as problem:  # whatever `requests` raises is one
            log.warning("provider_away", exception=repr(problem))
            return refusal_page(request, "failed")

    return view_or_refusal_if_provider_is_away


begin = _catch_unreachable(views.login)
come_back = _catch_unreachable(views.callback)


class ProviderAdapter(DefaultSocialAccountAdapter):
    def is_open_for_signup(self, request: HttpRequest, sociallogin: SocialLogin) -> bool:
        """The provider vouches for its people; without a role they see nothing."""
        return True

    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        user = sociallogin.user
        assert isinstance(user, User)
        # At each sign-in, so that a group that was taken away takes its roles along.
        if sociallogin.is_existing:
            _apply_roles(user, sociallogin)
        # “connect”: somebody who is signed in adds the provider to their own account.
        elif sociallogin.state.get("process") != "connect" and _is_email_used(user.email):
            # Whoever typed this address into their account has not shown that it is theirs.
            raise ImmediateHttpResponse(refusal_page(request, "taken"))

    def save_user(self, request: HttpRequest, sociallogin: SocialLogin, form: Any = None) -> User:
        user = super().save_user(request, sociallogin, form)
        assert isinstance(user, User)
        _apply_roles(user, sociallogin)
        return user

    def get_connect_redirect_url(self, request: HttpRequest, socialaccount: Any) -> str:
        return reverse("account")

    def on_authentication_error(
        self,
        request: HttpRequest,
        provider: Any,
        error: Any = None,
        exception: Exception | None = None,
        extra_context: Any = None,
    ) -> None:
        log.warning("provider_refused", error=str(error), exception=repr(exception))
        raise ImmediateHttpResponse(refusal_page(request, "failed"))


def _apply_roles(user: User, sociallogin: SocialLogin) -> None:
    claims = sociallogin.account.extra_data
    # Stored by where they came from, or flat.
    claims = claims.get("userinfo") or claims.get("id_token") or claims
    # A provider may say null, one name, or something that is no list: who is in no group gets no role by one.
    claim = claims.get(settings.OIDC_GROUPS_CLAIM)
    members = [claim] if isinstance(claim, str) else claim if isinstance(claim, list) else []
    groups = [group for group in members if isinstance(group, str)]
    provider_roles.set_roles_given_by_provider(user, groups, settings.OIDC_ROLES, timezone.now())


def _is_email_used(email: str) -> bool:
    # A provider may name no address, which is not that of the accounts without one.
    return bool(email) and User.objects.filter(email__iexact=email).exists()


def refusal_page(request: HttpRequest, why: str) -> HttpResponse:
    """Answer that nobody was signed in. `why`: failed, taken, or provider (nothing else signs this person in)."""
    context = {"why": why, "provider_name": settings.OIDC_NAME}
    return render(request, "errors/provider.html", context, status=409 if why == "taken" else 403)
