"""A thousand guesses: slowed, for known and unknown names alike, and nobody else is locked out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

import pytest
from django.core.cache import cache
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings

from config.settings import ACCOUNT_RATE_LIMITS
from pipelines.people import accounts, invitations
from pipelines.web.project.invitation_list import link_of
from pipelines.web.shell import anonymous
from tests.factories import World
from tests.pages.conftest import PASSWORD, client_of

pytestmark = pytest.mark.django_db
GUESSES, SOME = 1_000, 100
HERE, ELSEWHERE = "10.0.0.7", "10.9.9.9"


@pytest.fixture(autouse=True)
def limits(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As in production."""
    settings.ACCOUNT_RATE_LIMITS = ACCOUNT_RATE_LIMITS
    settings.GUESSES_PER_MINUTE = 20
    cache.clear()
    for limit in (anonymous.wrong_tokens, anonymous.wrong_invitations):
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
    accounts.revoke(revoked, timezone.now(), world.viewer)
    answers = Counter(api(world, f"gl_guess{n}") for n in range(SOME))
    assert answers[401] <= 2 * 20, "a minute may pass while they come"
    assert answers[401] + answers[429] == SOME
    assert api(world, old) == api(world, "nonsense") == 429, "known and unknown alike"
    assert api(world, secret) == api(world, secret, ELSEWHERE) == 200
    assert api(world, old, ELSEWHERE) == 401


def test_wrong_invitations_are_slowed_and_right_ones_open(world: World) -> None:
    (made,) = invitations.invite(
        world.project, [], roles=["viewer"], execute=False, groups=(), by=world.admin, now=timezone.now()
    )
    client = Client(REMOTE_ADDR=HERE)
    wrong = reverse("join", args=["guess"])
    answers = Counter(client.get(wrong).status_code for _ in range(SOME))
    assert answers[410] <= 2 * 20 and answers[410] + answers[429] == SOME
    right = "/join/" + link_of(made).partition("/join/")[2]
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
