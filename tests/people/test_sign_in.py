"""Limits on guessing, resets by mail, and sessions to look at and end."""

from __future__ import annotations

import re

import pytest
from django.core import mail
from django.core.cache import cache
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings

from pipelines.models import AdministrativeAct, User
from pipelines.people import accounts
from tests.factories import World
from tests.pages.conftest import PASSWORD, As, client_of, text

pytestmark = pytest.mark.django_db
LIMITS = {
    "login": "1000/m/ip",
    "login_failed": "1000/m/ip,5/5m/key",
    "reset_password": "1000/m/ip,3/10m/key",
    "change_password": "5/m/user",
    "signup": "20/m/ip",
}


@pytest.fixture
def limits(settings: Settings) -> None:
    settings.ACCOUNT_RATE_LIMITS = LIMITS
    cache.clear()


def tried(name: str, password: str = "wrong", address: str = "10.0.0.7") -> str:
    given = {"username": name, "password": password}
    return text(Client(REMOTE_ADDR=address).post(reverse("sign-in"), given))


def banner(page: str) -> str:
    found = re.search(r'role="alert".*?</div>', page)
    assert found is not None
    return found.group()


@pytest.mark.usefixtures("limits")
def test_guessing_is_stopped_for_known_and_unknown_names_alike(world: World) -> None:
    client_of(world.viewer)
    answers = {
        name: [re.sub(name, "", tried(name)) for _ in range(7)] for name in (world.viewer.username, "nobody")
    }
    known, unknown = (["Too many" in page for page in pages] for pages in answers.values())
    assert known == unknown == [False] * 5 + [True] * 2


@pytest.mark.usefixtures("limits")
def test_who_guesses_locks_nobody_else_out(world: World) -> None:
    client_of(world.viewer)
    for _ in range(10):
        tried(world.viewer.username)
    assert "Too many" in tried(world.viewer.username, PASSWORD)
    own = Client(REMOTE_ADDR="10.9.9.9")
    given = {"username": world.viewer.username, "password": PASSWORD}
    assert own.post(reverse("sign-in"), given).headers["Location"] == reverse("home")


@pytest.mark.usefixtures("limits")
def test_the_old_password_is_not_guessed_by_whoever_sits_at_an_open_browser(world: World) -> None:
    client = client_of(world.viewer)
    new = {"old_password": "wrong", "new_password1": "another horse 2", "new_password2": "another horse 2"}
    answers = [client.post(reverse("password-change"), new).status_code for _ in range(7)]
    assert answers == [422] * 5 + [429] * 2


@pytest.mark.usefixtures("limits")
def test_asking_for_resets_is_limited_for_each_address(world: World) -> None:
    asked = [
        Client().post(reverse("account_reset_password"), {"email": world.viewer.email}).status_code
        for _ in range(5)
    ]
    assert asked == [302] * 3 + [429] * 2
    assert len(mail.outbox) == 3


def test_a_reset_is_mailed_works_once_and_ends_other_sessions(world: World) -> None:
    before = client_of(world.viewer)
    Client().post(reverse("account_reset_password"), {"email": world.viewer.email.upper()})
    (message,) = mail.outbox
    assert message.to == [world.viewer.email]
    path = re.search(r"https?://[^/]+(/\S+)", str(message.body)).group(1)  # type: ignore[union-attr]
    client = Client()
    form = client.get(path).headers["Location"]
    new = {"password1": "another horse 2", "password2": "another horse 2"}
    assert client.post(form, {**new, "password2": "other"}).status_code == 200
    assert client.post(form, new).headers["Location"] == reverse("account_reset_password_from_key_done")
    assert Client().login(username=world.viewer.username, password="another horse 2")
    assert before.get(reverse("home")).status_code == 302
    assert "no longer works" in text(Client().get(path))
    assert AdministrativeAct.objects.filter(kind="password.reset", name=world.viewer.username).count() == 1


def test_known_and_unknown_addresses_are_answered_alike(world: World) -> None:
    answers = []
    for email in (world.viewer.email, "nobody@example.com"):
        answer = Client().post(reverse("account_reset_password"), {"email": email})
        answers.append((answer.status_code, answer.headers["Location"]))
    assert answers[0] == answers[1]
    assert [message.to for message in mail.outbox] == [[world.viewer.email], ["nobody@example.com"]]


def test_an_address_of_before_gets_no_reset(world: World) -> None:
    client, old = client_of(world.viewer), world.viewer.email
    Client().post(reverse("account_reset_password"), {"email": old})
    given = {"email": "new@example.com", "theme": "dark", "density": "compact", "time_zone": "UTC"}
    assert client.post(reverse("account"), given).status_code == 302
    mail.outbox.clear()
    Client().post(reverse("account_reset_password"), {"email": old})
    assert "no account uses it" in str(mail.outbox[0].body)


def test_nobody_signs_up() -> None:
    assert Client().get(reverse("account_signup")).headers["Location"] == reverse("sign-in")
    Client().post(
        reverse("account_signup"), {"username": "new", "password1": PASSWORD, "password2": PASSWORD}
    )
    assert not User.objects.filter(username="new").exists()


def test_who_is_deactivated_is_answered_as_a_wrong_password(world: World) -> None:
    client_of(world.viewer)
    User.objects.filter(pk=world.viewer.pk).update(is_active=False)
    name = world.viewer.username
    assert banner(tried(name, PASSWORD)) == banner(tried("nobody"))


def test_one_session_is_ended_and_the_others_go_on(world: World, signed_in: As) -> None:
    client = signed_in(world.viewer)
    others = []
    for agent in ("Firefox on a train", "Safari on a phone"):
        other = Client(headers={"User-Agent": agent})
        other.post(reverse("sign-in"), {"username": world.viewer.username, "password": PASSWORD})
        others.append(other)
    page = text(client.get(reverse("account")))
    assert "Firefox on a train" in page
    assert all(str(other.session.session_key) not in page for other in others)
    row = page[page.index("Firefox on a train") :]
    name = re.search(r'name="session" value="(\w+)"|value="(\w{16})"', row)
    assert name is not None
    client.post(reverse("sessions-end"), {"session": name.group(1) or name.group(2)})
    assert others[0].get(reverse("home")).status_code == 302
    assert others[1].get(reverse("home")).status_code == 200


def test_the_session_of_somebody_else_is_not_ended(world: World, signed_in: As) -> None:
    other, client = signed_in(world.operator), signed_in(world.viewer)
    page = text(other.get(reverse("account")))
    assert "This browser" in page
    client.post(reverse("sessions-end"), {"session": "0" * 16})
    assert other.get(reverse("home")).status_code == 200


def test_a_sign_in_link_begins_a_session_that_is_listed(world: World) -> None:
    secret = accounts.create_sign_in_link_secret(world.viewer, timezone.now())
    client = Client(headers={"User-Agent": "A browser of its own"})
    client_of(world.viewer)
    client.post(reverse("sign-in-link", args=[secret]))
    assert "A browser of its own" in text(client.get(reverse("account")))
