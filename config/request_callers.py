"""Names of those who send requests, as the door has them before it takes a large body (config/request_bounds.py).

Each request that the application let in leaves a note in the memory of its process, so that the door asks the database
for nobody who was there in the last minutes. Who was not is looked up once, by one thread, while the body waits. A note
opens nothing: it says how much may be sent, and the application decides about the request as before."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Final

from django.conf import settings
from django.contrib.auth import get_user
from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AnonymousUser
from django.contrib.sessions.backends.db import SessionStore
from django.db import connection
from django.http import HttpRequest
from django.utils import timezone

from pipelines.models import ApiToken, User
from pipelines.people import accounts

LASTS: Final = 300.0
"""Seconds after which somebody is looked up anew."""
MOST_REMEMBERED: Final = 10_000
_NOTES: dict[str, tuple[str, float]] = {}
"""{digest of a token or of the key of a session: (person or token, end on the monotonic clock)}"""


@dataclass(frozen=True)
class Credential:
    """A token, or the key of a session, as it was sent."""

    is_token: bool
    secret: str = field(repr=False)

    @property
    def digest(self) -> str:
        return accounts.secret_digest(self.secret)


def request_credential_or_none(path: str, authorization: str, session: str) -> Credential | None:
    """The token that counts below /api/ where one is sent, else the key of the session."""
    # Not startswith: the path may begin with the prefix of BASE_URL.
    if authorization and "/api/" in path:
        scheme, _blank, secret = authorization.partition(" ")
        return Credential(True, secret.strip()) if scheme.lower() == "bearer" else None
    return Credential(False, session) if session else None


def remembered_caller_or_none(credential: Credential) -> str | None:
    """Name the person or token that it is of, from memory alone."""
    caller, until = _NOTES.get(credential.digest, ("", 0.0))
    return caller if until > time.monotonic() else None


def remember_caller(request: HttpRequest, status: int) -> None:
    """Keep in mind whom the application let in with this request, and forget what it did not take."""
    session = request.COOKIES.get(settings.SESSION_COOKIE_NAME, "")
    credential = request_credential_or_none(request.path, request.headers.get("Authorization", ""), session)
    if credential is None:
        return
    # Where Django keeps a user that it has looked up: request.user itself might ask the database.
    caller = getattr(request, "auth" if credential.is_token else "_cached_user", None)
    if isinstance(caller, ApiToken | User):
        _remember_and_name_caller(credential, caller)
    elif isinstance(caller, AnonymousUser) or status == 401:
        _NOTES.pop(credential.digest, None)


def find_caller_in_database(credential: Credential) -> str | None:
    """Name them from the database; None: it is not in force. Raises what the database raises."""
    caller: ApiToken | AbstractBaseUser | AnonymousUser | None
    try:
        if credential.is_token:
            caller = accounts.find_token_and_note_use(credential.secret, timezone.now())
        else:
            request = HttpRequest()
            request.session = SessionStore(credential.secret)
            caller = get_user(request)
    finally:
        # In this thread of the door no request ends, at which Django would close it.
        connection.close()
    return _remember_and_name_caller(credential, caller) if isinstance(caller, ApiToken | User) else None


def _remember_and_name_caller(credential: Credential, caller: ApiToken | User) -> str:
    person = caller.user_id if isinstance(caller, ApiToken) else caller.pk
    name = f"token {caller.pk}" if person is None else f"person {person}"
    if len(_NOTES) >= MOST_REMEMBERED:
        # Nothing is lost by it: who is forgotten is looked up once more.
        _NOTES.clear()
    _NOTES[credential.digest] = (name, time.monotonic() + LASTS)
    return name
