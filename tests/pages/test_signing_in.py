"""Signing in: the one-time link, the first password, sign-out (house §5)."""

from __future__ import annotations

import pytest
from django.contrib.sessions.models import Session
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
    return reverse("sign-in-link", args=[accounts.create_sign_in_link_secret(user, timezone.now())])


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


def test_a_part_of_a_page_leaves_the_page_where_it_is_and_a_link_in_it_leads_to_the_door() -> None:
    part = {"HX-Request": "true", "HX-Current-URL": "http://testserver/account/?a=1"}
    for answer in (Client().get(reverse("home"), headers=part), Client().post(reverse("home"), headers=part)):
        assert (answer.status_code, answer.content) == (401, b"")
    link = Client().get(reverse("tasks-everywhere"), headers=part | {"HX-Boosted": "true"})
    assert link.headers["HX-Redirect"] == f"{reverse('sign-in')}?next=%2Ftasks%2F"


@pytest.mark.parametrize(
    ("page", "back"),
    [
        ("http://testserver/account/?a=1", "?next=%2Faccount%2F%3Fa%3D1"),
        ("http://evil.example/account/", ""),
        ("http://testserver//evil.example/account/", ""),
        ("javascript:alert(1)", ""),
        ("", ""),
    ],
)
def test_what_was_sent_after_the_session_ended_leads_back_to_its_page(page: str, back: str) -> None:
    headers = {"Referer": page} if page else {}
    answer = Client().post(reverse("preferences"), {"theme": "dark"}, headers=headers)
    assert answer.headers["Location"] == f"{reverse('sign-in')}{back}"


def test_whose_session_ended_is_told_why_they_sign_in_again(world: World, signed_in: As) -> None:
    client = signed_in(world.viewer)
    Session.objects.all().delete()
    door = client.get(reverse("tasks-everywhere")).headers["Location"]
    assert "Your session has ended. Sign in to go on where you were." in text(client.get(door))
    stranger = Client()
    door = stranger.get(reverse("tasks-everywhere")).headers["Location"]
    assert "Your session" not in text(stranger.get(door))


def test_a_form_with_an_old_token_leads_back_too(world: World, signed_in: As) -> None:
    headers = {"Referer": "http://testserver/account/"}
    nobody = Client(enforce_csrf_checks=True)
    answer = nobody.post(reverse("preferences"), {"theme": "dark"}, headers=headers)
    assert answer.headers["Location"] == f"{reverse('sign-in')}?next=%2Faccount%2F"
    client = signed_in(world.viewer)
    client.handler.enforce_csrf_checks = True
    refused = client.post(reverse("preferences"), {"theme": "dark"}, headers=headers)
    assert refused.status_code == 403
    assert "The form is out of date" in text(refused) and 'href="/account/"' in text(refused)
    assert "data-session-ended" in text(refused)
    part = client.post(reverse("preferences"), {"theme": "dark"}, headers=headers | {"HX-Request": "true"})
    assert part.status_code == 401
    away = {"Referer": "http://testserver//evil.example/account/"}
    assert "evil.example" not in text(client.post(reverse("preferences"), {"theme": "dark"}, headers=away))
