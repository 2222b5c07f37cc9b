"""Bearer tokens for the API."""

from __future__ import annotations

from django.http import HttpRequest
from django.utils import timezone
from ninja.security import HttpBearer

from pipelines import accounts
from pipelines.engine.core.values import Actor
from pipelines.errors import Forbidden
from pipelines.models import ApiToken, User


class Bearer(HttpBearer):
    """`Authorization: Bearer gl_…`; `request.auth` is the ApiToken."""

    def authenticate(self, request: HttpRequest, token: str) -> ApiToken | None:
        return accounts.bearer(token, timezone.now())


def actor_of(token: ApiToken) -> Actor:
    """Who acts through this token: its person, or the machine itself."""
    if token.user is not None:
        return Actor.person(token.user)
    return Actor("machine", str(token.pk), token.name)


def person_of(token: ApiToken) -> User:
    """The person behind the token. A machine can never do what only a person may."""
    if token.user is None:
        raise Forbidden("A machine token can never do this; use a token of your own.")
    return token.user
