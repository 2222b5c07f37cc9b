"""Credentials that are not passwords: sign-in links, personal and machine tokens. Shown once, stored as SHA-256."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Any

from allauth.socialaccount.models import SocialAccount
from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib.auth.backends import ModelBackend
from django.contrib.sessions.models import Session
from django.db import transaction
from django.db.models import Exists, Max, OuterRef, Q

from pipelines import access
from pipelines.models import ApiToken, Job, Membership, Owner, Project, SignInLink, User
from pipelines.models.plumbing import bulk_rows
from pipelines.models.plumbing.compiled_queries import Statement, execute_all_and_fetch
from pipelines.people.statements import RUNNER_TOKENS
from pipelines.ports import audit

LINK_LASTS = timedelta(minutes=10)
TOKEN_LASTS = timedelta(days=90)
LONGEST_TOKEN = timedelta(days=366)
PREFIX = "gl_"
# A token's last use is written at most this often.
USE_NOTED = timedelta(minutes=1)


class LinkRefused(Exception):
    """This sign-in link is used up, too old, or was never one. `manage.py sign_in_link` prints another."""


class TokenRefused(ValueError):
    """A token like this is not made; the message says why."""


def end_sessions(user: User, besides: str | None = None) -> int:
    """End every session of a person, except the one with the key `besides`. Return how many there were.

    A session is opaque to the database, so all are opened: also those that no list of a person's browsers has.
    """
    ended = [
        session.pk
        for session in Session.objects.iterator()
        # Whose session it is stands in its data alone, which no query reads
        if session.pk != besides and session.get_decoded().get("_auth_user_id") == str(user.pk)
    ]
    Session.objects.filter(pk__in=ended).delete()
    UserSession.objects.filter(session_key__in=ended).delete()
    return len(ended)


def create_sign_in_link_secret(user: User, now: datetime) -> str:
    """The secret of a sign-in link for this person: ten minutes, single use (house §5)."""
    secret = secrets.token_urlsafe(32)
    SignInLink.objects.create(
        user=user, digest=secret_digest(secret), created_at=now, expires_at=now + LINK_LASTS, used_at=None
    )
    return secret


def person_of_redeemed_link(secret: str, now: datetime) -> User:
    """The person whom a link signs in; only the first of two who try at once gets through. Raises LinkRefused."""
    link = SignInLink.objects.filter(digest=secret_digest(secret)).select_related("user").first()
    if link is None or not link.user.is_active:
        raise LinkRefused
    usable = SignInLink.objects.filter(pk=link.pk, used_at=None, expires_at__gt=now)
    if usable.update(used_at=now) != 1:
        raise LinkRefused
    return link.user


def lacks_password_and_provider(user: User) -> bool:
    """Return whether the user has neither a password yet nor a provider to sign in with."""
    return not user.has_usable_password() and not SocialAccount.objects.filter(user=user).exists()


def signs_in_by_provider(user: User) -> bool:
    """Return true where a provider alone vouches for a person: what else signs in, would after a removal, too."""
    # What else signs in would still do so after the provider has removed the person
    by_it = settings.OIDC_ISSUER and not user.has_usable_password()
    return bool(by_it and SocialAccount.objects.filter(user=user).exists())


def needs_second_factor(user: User) -> bool:
    """Return whether the user has no second factor, and is a member of a project that asks for one."""
    known = getattr(user, "lacks_factor", None)  # as `Backend` has read it
    return known if known is not None else access.memberships_lacking_required_factor([user.pk]).exists()


class Backend(ModelBackend):
    """Signing in by user name and password; who has, comes with what each page asks of them, by one statement."""

    def get_user(self, user_id: Any) -> User | None:
        user = access.user_with_lacks_factor_query.first(user=user_id)
        return user if user and self.user_can_authenticate(user) else None


def mint_token_and_secret(
    *,
    kind: str,
    name: str,
    scopes: Sequence[str],
    now: datetime,
    created_by: User | None,
    user: User | None = None,
    project: Project | None = None,
    role: str = "",
    labels: Sequence[str] = (),
    only_job: Job | None = None,
    lasts: timedelta = TOKEN_LASTS,
) -> tuple[ApiToken, str]:
    """A new token and its secret, which is never shown again. A person's token names its `user`, a machine's its
    `project` and `role`, a runner's its `project` and `labels`; a person's token may be bound to one `project`, too.
    `created_by`: None from the shell. Raises TokenRefused."""
    _check_token(kind, name, scopes, user, project, role, lasts)
    secret = PREFIX + secrets.token_urlsafe(32)
    with transaction.atomic():
        token = ApiToken.objects.create(
            kind=kind,
            name=name.strip(),
            user=user,
            project=project,
            role=role,
            scopes=sorted(set(scopes)),
            labels=sorted(set(labels)),
            only_job=only_job,
            # Enough to tell tokens apart, and far too little to guess one.
            prefix=secret[:8],
            digest=secret_digest(secret),
            created_at=now,
            created_by=created_by,
            expires_at=now + lasts,
        )
        details = (
            {"labels": token.labels, **({"job": only_job.pk} if only_job else {})}
            if kind == ApiToken.TokenKind.RUNNER
            else {"scopes": token.scopes, "role": role}
        )
        _record_in_audit("token.created", token, created_by, now, **details)
    return token, secret


def find_token_and_note_use(secret: str, now: datetime) -> ApiToken | None:
    """The token of this secret, if it is in force; its use is noted once a minute."""
    # What cannot be a token of ours costs no query.
    if not secret.startswith(PREFIX):
        return None
    tokens = ApiToken.objects.filter(digest=secret_digest(secret), revoked_at=None, expires_at__gt=now)
    by_groups = Membership.objects.filter(user=OuterRef("user"), provider_roles__len__gt=0)
    tokens = tokens.annotate(confirmed_at=Max("user__socialaccount__last_login"), by_groups=Exists(by_groups))
    token = tokens.select_related("user", "project__owner").first()
    if token is None or (token.user is not None and not token.user.is_active):
        return None
    end = token.user and _end_of_provider_confirmation_or_none(
        token.user, token.confirmed_at, by_groups=token.by_groups
    )
    if end and end <= now:
        return None
    _record_token_use(token, now)
    return token


def tokens_valid_until_or_none(user: User) -> datetime | None:
    """Return until when the tokens of a person work unless they sign in with the provider again; None: until
    they expire."""
    account = SocialAccount.objects.filter(user=user).aggregate(last=Max("last_login"))
    by_groups = Membership.objects.filter(user=user, provider_roles__len__gt=0).exists()
    return _end_of_provider_confirmation_or_none(user, account["last"], by_groups=by_groups)


def _end_of_provider_confirmation_or_none(
    user: User, confirmed_at: datetime | None, *, by_groups: bool
) -> datetime | None:
    """A provider vouches for whoever has no password, or a role by one of its groups, at each sign-in. It tells nobody
    whom it removed."""
    vouched = by_groups or not user.has_usable_password()
    if confirmed_at is None or not vouched or not settings.OIDC_TOKEN_DAYS:
        return None
    return confirmed_at + timedelta(days=settings.OIDC_TOKEN_DAYS)


def _record_token_use(token: ApiToken, now: datetime) -> None:
    if token.last_used_at is None or token.last_used_at < now - USE_NOTED:
        # Asked again by the statement: of many requests at once one writes.
        stale = Q(last_used_at=None) | Q(last_used_at__lt=now - USE_NOTED)
        ApiToken.objects.filter(stale, pk=token.pk).update(last_used_at=now)


def find_runner_token(secret: str, now: datetime) -> ApiToken | None:
    """Return the valid runner token of this secret, with its project and owner; None if there is none."""
    return runner_token_by_secret([secret], now).get(secret)


def runner_token_by_secret(secrets: Collection[str], now: datetime) -> dict[str, ApiToken]:
    """{secret: its token} of those that are a runner's and in force. Runners ask all the time: one statement that the
    server keeps."""
    # What cannot be a token of ours costs no query
    by_digest = {secret_digest(secret): secret for secret in secrets if secret.startswith(PREFIX)}
    tokens = {}
    for row in (
        execute_all_and_fetch([Statement(RUNNER_TOKENS, [list(by_digest), now])])[0] if by_digest else ()
    ):
        its, project, owner = map(json.loads, row)
        token = bulk_rows.row_from_json(ApiToken, its)
        token.project = bulk_rows.row_from_json(Project, project)
        token.project.owner = bulk_rows.row_from_json(Owner, owner)
        _record_token_use(token, now)
        tokens[by_digest[token.digest]] = token
    return tokens


@transaction.atomic
def revoke_token(token: ApiToken, now: datetime, by: User | None) -> None:
    """Revoke a token: from now on it opens nothing. Revoking twice keeps the first time. `by`: None from the
    shell."""
    if ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=now):
        _record_in_audit("token.revoked", token, by, now)
    # Of two who revoke it at once the first has set the time.
    token.refresh_from_db(fields=["revoked_at"])


def revoke_tokens_bound_to_project(user: User, project: Project, *, by: User | None, now: datetime) -> None:
    """Revoke the tokens of a person that were made for this one project, which they are leaving."""
    for token in ApiToken.objects.filter(user=user, project=project, revoked_at=None):
        revoke_token(token, now, by)


def _record_in_audit(kind: str, token: ApiToken, by: User | None, now: datetime, **data: object) -> None:
    about = f"token:{token.pk}"
    audit.record_administrative_act(
        kind, by=by, at=now, project=token.project, about=about, name=str(token), **data
    )


def _check_token(
    kind: str,
    name: str,
    scopes: Sequence[str],
    user: User | None,
    project: Project | None,
    role: str,
    lasts: timedelta,
) -> None:
    machine, runner = kind == ApiToken.TokenKind.MACHINE, kind == ApiToken.TokenKind.RUNNER
    faults = (
        (kind not in ApiToken.TokenKind.values, "A token belongs to a person, a machine or a runner."),
        (not 0 < len(name.strip()) <= 100, "Give the token a name of at most 100 characters."),
        (not scopes and not runner, "Choose at least one scope."),
        (
            runner and (user is not None or project is None or bool(role) or bool(scopes)),
            "A runner's token has a project and labels, and opens nothing else.",
        ),
        (bool(set(scopes) - set(ApiToken.Scope.values)), "There is no such scope."),
        (machine and "decide" in scopes, "A machine can never decide a gate."),
        (machine and "settings" in scopes, "A machine can never change projects, secrets and variables."),
        (
            machine and (user is not None or project is None or not role),
            "A machine's token has a project and a role.",
        ),
        (
            not (machine or runner) and (user is None or bool(role)),
            "A personal token has a person, and that person's roles.",
        ),
        (not timedelta(0) < lasts <= LONGEST_TOKEN, "A token lasts at most a year."),
    )
    for wrong, why in faults:
        if wrong:
            raise TokenRefused(why)


def secret_digest(secret: str) -> str:
    """Return the digest as which a secret is stored: 64 hexadecimal digits."""
    return hashlib.sha256(secret.encode()).hexdigest()
