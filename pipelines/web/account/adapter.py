"""Adapter of django-allauth: who may sign up, whose request it is, how mail leaves, what is recorded."""

from __future__ import annotations

import smtplib
from typing import Any

import structlog
from allauth.account.adapter import DefaultAccountAdapter
from django.conf import settings
from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AnonymousUser
from django.core.mail import EmailMessage, EmailMultiAlternatives
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils import timezone

from pipelines.models import User
from pipelines.people import accounts
from pipelines.ports import audit
from pipelines.web.account import provider
from pipelines.web.shell.rate_limits import client_address

PASSKEY = "mfa_reauthenticate:webauthn"
log = structlog.get_logger(__name__)
# What allauth mails to a person about their own account → what the record says of it, if anything, and the mail.
CHANGES: dict[str, tuple[str, str]] = {
    "account/email/password_changed": ("password.set", "Your password was changed"),
    "account/email/password_set": ("password.set", "Your password was set"),
    "account/email/password_reset": ("password.reset", "Your password was reset"),
    "mfa/email/totp_activated": ("factor.added", "An authenticator app was added"),
    "mfa/email/totp_deactivated": ("factor.removed", "The authenticator app was removed"),
    "mfa/email/webauthn_added": ("factor.added", "A passkey was added"),
    "mfa/email/webauthn_removed": ("factor.removed", "A passkey was removed"),
    "mfa/email/recovery_codes_generated": ("", "New recovery codes were made"),
}
CHANGED, BY_PROVIDER = "account/email/changed", "account/email/by_provider"


class AccountAdapter(DefaultAccountAdapter):
    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """Accounts come from invitations."""
        return False

    def get_client_ip(self, request: HttpRequest) -> str:
        return client_address(request)

    def _get_login_attempts_cache_key(self, request: HttpRequest, **credentials: Any) -> str:
        """Return the key with the address, too: by the name alone whoever guesses would lock out the owner of
        the name."""
        name = super()._get_login_attempts_cache_key(request, **credentials)
        # By the name alone whoever guesses would lock out its owner
        return f"{self.get_client_ip(request)}:{name}"

    def pre_login(
        self,
        request: HttpRequest,
        user: AbstractBaseUser,
        *,
        signal_kwargs: dict[str, Any] | None,
        **more: Any,
    ) -> HttpResponse | None:
        """Refuse what is not the provider where it alone vouches for somebody: a passkey is the second step."""
        assert isinstance(user, User)
        if "sociallogin" not in (signal_kwargs or {}) and accounts.signs_in_by_provider(user):
            return provider.refusal_page(request, "provider")
        return super().pre_login(request, user, signal_kwargs=signal_kwargs, **more)

    def send_password_reset_mail(self, user: AbstractBaseUser, email: str, context: dict[str, Any]) -> None:
        """Tell whom the provider alone signs in so: by a password they would come in after it removed them."""
        assert isinstance(user, User)
        if accounts.signs_in_by_provider(user):
            # By a password they would come in after the provider has removed them
            self.send_mail(BY_PROVIDER, email, {**context, "provider_name": settings.OIDC_NAME})
        else:
            super().send_password_reset_mail(user, email, context)

    def get_reauthentication_methods(self, user: AbstractBaseUser | AnonymousUser) -> list[dict[str, Any]]:
        """Return the methods in the words of the product: what allauth calls a security key is a passkey
        everywhere else."""
        return [
            {**method, "description": "Use a passkey"} if method["id"] == PASSKEY else method
            for method in super().get_reauthentication_methods(user)
        ]

    def add_message(self, *args: Any, **kwargs: Any) -> None:
        """Pages say what happened; a toast beside would say it twice."""

    def render_mail(self, *args: Any, **kwargs: Any) -> EmailMessage:
        """A mail of the library that has no page of its own gets its text in the frame of all others."""
        message = super().render_mail(*args, **kwargs)
        if isinstance(message, EmailMultiAlternatives) and not message.alternatives:
            context = {"subject": message.subject, "text": message.body}
            message.attach_alternative(render_to_string("account/email/plain.html", context), "text/html")
        return message

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        """A mail server that is away is no fault of the page: known and unknown addresses are answered alike."""
        try:
            super().send_mail(template_prefix, email, context)
        except (OSError, smtplib.SMTPException) as problem:
            log.warning("mail_failed", kind=template_prefix, error=str(problem))

    def send_notification_mail(
        self,
        template_prefix: str,
        user: AbstractBaseUser,
        context: dict[str, Any] | None = None,
        email: str | None = None,
    ) -> None:
        assert isinstance(user, User)
        kind, sentence = CHANGES.get(template_prefix, ("", ""))
        if kind:
            audit.record_administrative_act(
                kind,
                by=user,
                at=timezone.now(),
                about=audit.actor_reference_or_command(user),
                name=user.username,
            )
        if user.email:
            prefix = CHANGED if sentence else template_prefix
            context = {**(context or {}), "said": sentence, "name": user.username}
            super().send_notification_mail(prefix, user, context, user.email)
