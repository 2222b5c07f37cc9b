"""A thousand guesses: slowed, for known and unknown names alike, and nobody else is locked out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import ClassVar

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal import auth as totp
from django.conf import settings as settings_of
from django.contrib.auth.hashers import MD5PasswordHasher
from django.core import mail
from django.core.cache import cache
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django.utils.http import int_to_base36
from pytest_django import Settings

from config.settings import ACCOUNT_RATE_LIMITS
from pipelines.models import User
from pipelines.people import accounts, invitations
from pipelines.web.project.invitation_list import invitation_link
from pipelines.web.shell import rate_limits
from tests.access.tenants import shape_of
from tests.factories import World
from tests.pages.conftest import PASSWORD, client_of
from tests.people.test_second_factor import code_of

pytestmark = pytest.mark.django_db
GUESSES, SOME = 1_000, 100
HERE, ELSEWHERE = "10.0.0.7", "10.9.9.9"


@pytest.fixture(autouse=True)
def limits(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As in production."""
    settings.ACCOUNT_RATE_LIMITS = ACCOUNT_RATE_LIMITS
    settings.GUESSES_PER_MINUTE = 20
    cache.clear()
    for limit in (rate_limits.wrong_tokens, rate_limits.wrong_invitations):
        monkeypatch.setattr(limit, "_refused", {})
    yield
    cache.clear()


def api(world: World, secret: str, address: str = HERE) -> int:
    owner, project = world.project.owner.key, world.project.key
    client = Client(REMOTE_ADDR=address, headers={"Authorization": f"Bearer {secret}"})
    return client.get(f"/api/owners/{owner}/projects/{project}/members").status_code


def test_wrong_tokens_are_slowed_and_right_ones_work(world: World) -> None:
    _token, secret = world.token_of(world.viewer, "read")
    revoked, old = world.token_of(world.viewer, "read")
    accounts.revoke_token(revoked, timezone.now(), world.viewer)
    answers = Counter(api(world, f"gl_guess{n}") for n in range(SOME))
    assert answers[401] <= 2 * 20, "a minute may pass while they come"
    assert answers[401] + answers[429] == SOME
    assert api(world, old) == api(world, "nonsense") == 429, "known and unknown alike"
    assert api(world, secret) == api(world, secret, ELSEWHERE) == 200
    assert api(world, old, ELSEWHERE) == 401


def test_wrong_invitations_are_slowed_and_right_ones_open(world: World) -> None:
    (made,) = invitations.create_invitations(
        world.project, [], roles=["viewer"], execute=False, groups=(), by=world.admin, now=timezone.now()
    )
    client = Client(REMOTE_ADDR=HERE)
    wrong = reverse("join", args=["guess"])
    answers = Counter(client.get(wrong).status_code for _ in range(SOME))
    assert answers[410] <= 2 * 20 and answers[410] + answers[429] == SOME
    right = "/join/" + invitation_link(made).partition("/join/")[2]
    assert client.get(right).status_code == 200
    assert Client(REMOTE_ADDR=ELSEWHERE).get(wrong).status_code == 410


def sign_in(world: World, n: int) -> bool:
    given = {"username": world.viewer.username, "password": f"guess {n}"}
    return "Too many" in Client(REMOTE_ADDR=HERE).post(reverse("sign-in"), given).content.decode()


def reset(world: World, n: int) -> bool:
    given = {"email": world.viewer.email}
    return Client(REMOTE_ADDR=HERE).post(reverse("account_reset_password"), given).status_code == 429


def reset_key(world: World, n: int) -> bool:
    address = reverse("account_reset_password_from_key", args=["1", f"guess-{n}"])
    return Client(REMOTE_ADDR=HERE).post(address, {"password1": "x"}).status_code == 429


def token(world: World, n: int) -> bool:
    return api(world, f"gl_guess{n}") == 429


def invitation(world: World, n: int) -> bool:
    return Client(REMOTE_ADDR=HERE).get(reverse("join", args=[f"guess-{n}"])).status_code == 429


def code(world: World, n: int) -> bool:
    """Of the second factor: by somebody who knows the password."""
    guesser = Client(REMOTE_ADDR=HERE)
    guesser.cookies[settings_of.SESSION_COOKIE_NAME] = half_way(world)
    answer = guesser.post(reverse("mfa_authenticate"), {"code": f"{n:06}"})
    assert "_auth_user_id" not in guesser.session
    return "Too many" in answer.content.decode()


def half_way(world: World) -> str:
    """The session of a guesser past the password, before the code."""
    if not Authenticator.objects.filter(user=world.viewer).exists():
        totp.TOTP.activate(world.viewer, totp.generate_totp_secret())
        guesser = Client(REMOTE_ADDR=HERE)
        given = {"username": world.viewer.username, "password": PASSWORD}
        guesser.post(reverse("sign-in"), given)
        HALF_WAY[world.viewer.pk] = str(guesser.session.session_key)
    return HALF_WAY[world.viewer.pk]


HALF_WAY: dict[int, str] = {}


@pytest.mark.wide
def test_a_thousand_codes_are_slowed_and_end_nobodys_session(world: World) -> None:
    """Who gets as far as the code knows the password, so that the codes are counted for the person. Sessions that are
    open, tokens and everybody else go on."""
    own, _token = client_of(world.viewer), world.token_of(world.viewer, "read")[1]
    assert sum(code(world, n) for n in range(GUESSES)) >= GUESSES * 9 // 10
    assert own.get(reverse("account")).status_code == 200
    assert api(world, _token) == 200
    client_of(world.operator)
    other, given = Client(REMOTE_ADDR=ELSEWHERE), {"username": world.operator.username, "password": PASSWORD}
    totp.TOTP.activate(world.operator, secret := totp.generate_totp_secret())
    other.post(reverse("sign-in"), given)
    assert other.post(reverse("mfa_authenticate"), {"code": code_of(secret)}).headers["Location"] == reverse(
        "home"
    )


@pytest.mark.wide
@pytest.mark.parametrize("guess", [sign_in, reset, reset_key, token, invitation])
def test_a_thousand_guesses_are_slowed_and_lock_nobody_out(
    world: World, guess: Callable[[World, int], bool]
) -> None:
    client_of(world.viewer)
    slowed = sum(guess(world, n) for n in range(GUESSES))
    assert slowed >= GUESSES * 9 // 10
    own = Client(REMOTE_ADDR=ELSEWHERE)
    given = {"username": world.viewer.username, "password": PASSWORD}
    assert own.post(reverse("sign-in"), given).headers["Location"] == reverse("home")


# Known and unknown alike: status, text, and how much work it was


class Counting(MD5PasswordHasher):
    """Counts the passwords that are hashed."""

    hashed: ClassVar[list[str]] = []

    def encode(self, password: str, salt: str) -> str:
        self.hashed.append(salt)
        return super().encode(password, salt)


@pytest.fixture
def hashes(settings: Settings) -> list[str]:
    settings.PASSWORD_HASHERS = [f"{__name__}.Counting"]
    return Counting.hashed


def test_known_and_unknown_names_sign_in_alike(world: World, hashes: list[str]) -> None:
    for person in (world.viewer, world.operator):
        client_of(person)
    User.objects.filter(pk=world.operator.pk).update(is_active=False)
    world.designer.set_unusable_password()
    world.designer.save()
    found = []
    for name in (world.viewer.username, "nobody-here", world.operator.username, world.designer.username):
        cache.clear()
        hashes.clear()
        answer = Client().post(reverse("sign-in"), {"username": name, "password": "a wrong one"})
        found.append((*shape_of(answer, name), len(hashes)))
    assert found == [found[0]] * len(found)
    assert found[0][0] == 422


def test_known_and_unknown_addresses_are_reset_alike(world: World) -> None:
    """Each gets a mail; what it says only its reader knows."""
    found = []
    for address in (world.viewer.email, "nobody@example.com"):
        cache.clear()
        mail.outbox.clear()
        answer = Client().post(reverse("account_reset_password"), {"email": address})
        sent = Client().get(reverse("account_reset_password_done"))
        found.append((shape_of(answer, address), shape_of(sent, address), [each.to for each in mail.outbox]))
        assert found[-1][2] == [[address]]
    assert found[0][:2] == found[1][:2]


def test_links_and_tokens_that_open_nothing_are_answered_alike(world: World) -> None:
    """Used, revoked, out of date, or never one."""
    now = timezone.now()
    made = invitations.create_invitations(
        world.project,
        ["a@x.org", "b@x.org"],
        roles=["viewer"],
        execute=False,
        groups=(),
        by=world.admin,
        now=now,
    )
    links = ["/join/" + invitation_link(each).partition("/join/")[2] for each in made]
    invitations.revoke_invitation(made[0], by=world.admin, now=now)
    invitations.accept_invitation(made[1], world.stranger, now)
    joins = [shape_of(Client().get(each), each) for each in (*links, reverse("join", args=["guess"]))]
    assert joins == [joins[0]] * 3
    key = reverse("account_reset_password_from_key", args=["1", "guess"])
    known = reverse("account_reset_password_from_key", args=[int_to_base36(world.viewer.pk), "guess"])
    assert shape_of(Client().get(key), key) == shape_of(Client().get(known), known)
    revoked, old = world.token_of(world.viewer, "read")
    accounts.revoke_token(revoked, now, world.viewer)
    answers = [
        Client(headers={"Authorization": f"Bearer {secret}"}).get("/api/projects")
        for secret in (old, "gl_guess", "nonsense")
    ]
    shapes = [shape_of(answer) for answer in answers]
    assert shapes == [shapes[0]] * 3 and shapes[0][0] == 401
