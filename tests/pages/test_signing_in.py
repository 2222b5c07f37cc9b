"""Signing in: the one-time link, the first password, sign-out (house §5)."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from pipelines.models import User
from pipelines.people import accounts
from tests.factories import World, make_user
from tests.pages.conftest import PASSWORD, As, text

pytestmark = pytest.mark.django_db


@pytest.fixture
def newcomer() -> User:
    user = make_user("newcomer")
    user.set_unusable_password()
    user.save()
    return user


def link_of(user: User) -> str:
    return reverse("sign-in-link", args=[accounts.make_link(user, timezone.now())])


def test_looking_at_the_link_signs_nobody_in_and_does_not_use_it_up(newcomer: User) -> None:
    client, address = Client(), link_of(newcomer)
    for method in ("get", "head", "get"):
        assert getattr(client, method)(address).status_code == 200
    assert "_auth_user_id" not in client.session
    assert client.post(address).status_code == 302
    assert client.session["_auth_user_id"] == str(newcomer.pk)


def test_the_link_works_once(newcomer: User) -> None:
    address = link_of(newcomer)
    Client().post(address)
    again = Client().post(address)
    assert again.status_code == 410
    assert "no longer works" in text(again)


def test_the_link_works_only_on_this_machine(newcomer: User) -> None:
    address = link_of(newcomer)
    assert Client(REMOTE_ADDR="10.0.0.7").post(address).status_code == 403
    assert Client(headers={"X-Forwarded-For": "10.0.0.7"}).post(address).status_code == 403
    assert Client().post(address).status_code == 302


def test_a_link_that_nobody_made_is_answered_like_a_used_one() -> None:
    assert Client().post(reverse("sign-in-link", args=["x" * 3000])).status_code == 410


def test_the_first_visit_sets_a_password_before_anything_else(newcomer: User) -> None:
    client = Client()
    assert client.post(link_of(newcomer)).headers["Location"] == reverse("password-set")
    assert client.get(reverse("home")).headers["Location"].startswith(reverse("password-set"))
    short = client.post(reverse("password-set"), {"new_password1": "abc", "new_password2": "abc"})
    assert short.status_code == 422
    new = {"new_password1": PASSWORD, "new_password2": PASSWORD}
    assert client.post(reverse("password-set"), new).headers["Location"] == reverse("home")
    assert client.get(reverse("home")).status_code == 200
    assert Client().login(username=newcomer.username, password=PASSWORD)


def test_whoever_has_a_password_cannot_set_it_without_the_old_one(world: World, signed_in: As) -> None:
    client = signed_in(world.viewer)
    client.post(
        reverse("password-set"), {"new_password1": "something else 1", "new_password2": "something else 1"}
    )
    assert Client().login(username=world.viewer.username, password=PASSWORD)


def test_signing_in_leads_back_to_where_one_wanted_to_go(world: World, signed_in: As) -> None:
    signed_in(world.viewer)
    client = Client()
    wanted = reverse("lines", args=[world.project.owner.key, world.project.key])
    door = client.get(wanted).headers["Location"]
    given = {"username": world.viewer.username, "password": PASSWORD, "next": wanted}
    assert client.post(door, given).headers["Location"] == wanted


@pytest.mark.parametrize("elsewhere", ["https://evil.example/", "//evil.example", "javascript:alert(1)"])
def test_signing_in_never_leads_to_another_host(world: World, signed_in: As, elsewhere: str) -> None:
    signed_in(world.viewer)
    given = {"username": world.viewer.username, "password": PASSWORD, "next": elsewhere}
    assert Client().post(reverse("sign-in"), given).headers["Location"] == reverse("home")


def test_a_wrong_password_says_so_and_keeps_the_name(world: World, signed_in: As) -> None:
    signed_in(world.viewer)
    answer = Client().post(reverse("sign-in"), {"username": world.viewer.username, "password": "no"})
    assert answer.status_code == 422
    assert world.viewer.username in text(answer)


def test_signing_out_needs_a_post(world: World, signed_in: As) -> None:
    client = signed_in(world.viewer)
    assert client.get(reverse("sign-out")).status_code == 405
    assert client.post(reverse("sign-out")).status_code == 302
    assert client.get(reverse("home")).status_code == 302


def test_a_part_of_a_page_sends_the_whole_page_to_the_door() -> None:
    answer = Client().get(reverse("home"), headers={"HX-Request": "true"})
    assert answer.headers["HX-Redirect"] == reverse("sign-in")
