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
from pipelines.web.shell.costly_requests import TurnRefused
from pipelines.web.shell.rate_limits import wrong_tokens

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
        """Unknown, expired and revoked tokens are answered alike. Raises TurnRefused: many wrong from one address."""
        api_token = self.find_token(token)
        seconds = 0 if api_token else wrong_tokens.count_and_retry_after(request)
        if seconds:
            raise TurnRefused("Too many wrong tokens came from this address. Wait a minute.", seconds)
        return api_token

    def find_token(self, token: str) -> ApiToken | None:
        api_token = accounts.find_token_and_note_use(token, timezone.now())
        return None if api_token is None or api_token.kind == ApiToken.TokenKind.RUNNER else api_token


class RunnerBearer(Bearer):
    """A runner's token and no other: `request.auth` has its project and labels (law §15)."""

    def find_token(self, token: str) -> ApiToken | None:
        return accounts.find_runner_token(token, timezone.now())


@dataclass(frozen=True)
class PresentedToken:
    """A runner's token as it was sent, and its project. Whether the token is valid is checked together with the
    request."""

    secret: str = field(repr=False)
    project: int


class ReportBearer(RunnerBearer):
    """Bearer of calls that bring reports: `request.auth` is a PresentedToken. The project of a token in force is
    remembered, so that the next call can go together with others (runner_calls)."""

    def authenticate(self, request: HttpRequest, token: str) -> PresentedToken | None:  # type: ignore[override]
        api_token = super().authenticate(request, token)
        if api_token is None or api_token.project_id is None:
            forget_token(token)
            return None
        if len(_PROJECTS) >= MOST_REMEMBERED:
            # Whose token is forgotten is looked up once more.
            _PROJECTS.clear()
        # By its digest: no token itself stays in memory
        _PROJECTS[accounts.secret_digest(token)] = api_token.project_id
        return PresentedToken(token, api_token.project_id)


def cached_project_id_or_none(token: str) -> int | None:
    """Return the project of the token when it was last in force; None: nobody has looked at it yet."""
    return _PROJECTS.get(accounts.secret_digest(token))


def forget_token(token: str) -> None:
    """Forget the cached project of a token that was refused: its next use is looked up by itself, which counts
    wrong tokens."""
    _PROJECTS.pop(accounts.secret_digest(token), None)


class AnyBearer(Bearer):
    """A token of any kind: a runner registers itself, or somebody does it."""

    def find_token(self, token: str) -> ApiToken | None:
        return accounts.find_token_and_note_use(token, timezone.now())


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
        if (
            not person.is_active
            or accounts.lacks_password_and_provider(person)
            or accounts.needs_second_factor(person)
        ):
            return None
        if check_csrf(request):
            raise Forbidden("The page that sent this is out of date. Load it again.")
        return person


def caller_actor(who: Caller) -> Actor:
    """Return the actor: the person, also through a token of theirs, or the machine itself."""
    if isinstance(who, User):
        return Actor.person(who)
    if who.user is not None:
        return Actor.person(who.user)
    return Actor("machine", str(who.pk), who.name)


def requesters_of_machine_token(who: Caller) -> list[str]:
    """Name who holds the secret of a machine's token beside the machine: whoever made it (`Task.requesters`)."""
    if isinstance(who, User) or who.user is not None or who.created_by_id is None:
        return []
    return [f"person:{who.created_by_id}"]


def require_person(who: Caller) -> User:
    """The person who asks. A machine can never do what only a person may."""
    if isinstance(who, User):
        return who
    if who.user is None:
        raise Forbidden("A machine token can never do this; use a personal token.")
    return who.user
