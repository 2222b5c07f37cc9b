"""Authentication of the API: a program with a bearer token, or a page of somebody who is signed in."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, TypeAlias

from django.conf import settings
from django.http import HttpRequest
from django.utils import timezone
from ninja.security import APIKeyCookie, HttpBearer
from ninja.utils import check_csrf

from pipelines.engine.core.values import Actor
from pipelines.errors import Forbidden
from pipelines.models import ApiToken, User
from pipelines.people import accounts
from pipelines.web.shell.anonymous import wrong_tokens
from pipelines.web.shell.turns import TooMuch

Caller: TypeAlias = ApiToken | User
MOST_REMEMBERED: Final = 10_000
_PROJECTS: dict[str, int] = {}
"""{digest of a token that was in force: its project}, which never changes. It opens nothing: it says who goes
together."""


class Request(HttpRequest):
    """A request that an operation gets: whoever asks is known."""

    auth: Caller


class Bearer(HttpBearer):
    """`Authorization: Bearer gl_…`; `request.auth` is the ApiToken. A runner's opens nothing here."""

    def authenticate(self, request: HttpRequest, token: str) -> ApiToken | None:
        """Unknown, expired and revoked tokens are answered alike. Raises TooMuch: many wrong ones from one address."""
        api_token = self.found(token)
        seconds = 0 if api_token else wrong_tokens.wait(request)
        if seconds:
            raise TooMuch("Too many wrong tokens came from this address. Wait a minute.", seconds)
        return api_token

    def found(self, token: str) -> ApiToken | None:
        api_token = accounts.bearer(token, timezone.now())
        return None if api_token is None or api_token.kind == ApiToken.TokenKind.RUNNER else api_token


class RunnerBearer(Bearer):
    """A runner's token and no other: `request.auth` has its project and labels (law §15)."""

    def found(self, token: str) -> ApiToken | None:
        return accounts.runner(token, timezone.now())


@dataclass(frozen=True)
class Presented:
    """A runner's token as it was sent, and of which project it is. If it is in force is asked with what it wants."""

    secret: str = field(repr=False)
    project: int


class ReportBearer(RunnerBearer):
    """Bearer of calls that bring reports: `request.auth` is Presented. The project of a token in force is
    remembered, so that the next call can go together with others (runner_calls)."""

    def authenticate(self, request: HttpRequest, token: str) -> Presented | None:  # type: ignore[override]
        api_token = super().authenticate(request, token)
        if api_token is None or api_token.project_id is None:
            forget(token)
            return None
        if len(_PROJECTS) >= MOST_REMEMBERED:
            # Whose token is forgotten is looked up once more.
            _PROJECTS.clear()
        _PROJECTS[accounts.digest_of(token)] = api_token.project_id
        return Presented(token, api_token.project_id)


def project_of(token: str) -> int | None:
    """Return the project of the token when it was last in force; None: nobody has looked at it yet."""
    return _PROJECTS.get(accounts.digest_of(token))


def forget(token: str) -> None:
    """It was refused: the next look at it is one by itself, which counts wrong ones."""
    _PROJECTS.pop(accounts.digest_of(token), None)


class AnyBearer(Bearer):
    """A token of any kind: a runner registers itself, or somebody does it."""

    def found(self, token: str) -> ApiToken | None:
        return accounts.bearer(token, timezone.now())


class Session(APIKeyCookie):
    """The cookie of a page: `request.auth` is the person, who may do here what the pages let them do. Whatever changes
    something needs the CSRF token of the page in `X-CSRFToken`, as its forms do. Where a token is sent, it counts."""

    param_name = settings.SESSION_COOKIE_NAME

    def __init__(self) -> None:
        # Ninja would check it before it is known who asks; `authenticate` does so after.
        super().__init__(csrf=False)

    def authenticate(self, request: HttpRequest, key: str | None) -> User | None:
        person = request.user
        if "Authorization" in request.headers or not isinstance(person, User):
            return None
        if not person.is_active or accounts.needs_password(person) or accounts.needs_second_factor(person):
            return None
        if check_csrf(request):
            raise Forbidden("The page that sent this is out of date. Load it again.")
        return person


def actor_of(who: Caller) -> Actor:
    """Return the actor: the person, also through a token of theirs, or the machine itself."""
    if isinstance(who, User):
        return Actor.person(who)
    if who.user is not None:
        return Actor.person(who.user)
    return Actor("machine", str(who.pk), who.name)


def requesters_of(who: Caller) -> list[str]:
    """Name who holds the secret of a machine's token beside the machine: whoever made it (`Task.requesters`)."""
    if isinstance(who, User) or who.user is not None or who.created_by_id is None:
        return []
    return [f"person:{who.created_by_id}"]


def person_of(who: Caller) -> User:
    """The person who asks. A machine can never do what only a person may."""
    if isinstance(who, User):
        return who
    if who.user is None:
        raise Forbidden("A machine token can never do this; use a personal token.")
    return who.user
