"""Signing in with a provider (OpenID Connect), and the roles that its groups give and take."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from allauth.socialaccount.models import SocialAccount
from django.core import mail
from django.core.exceptions import ImproperlyConfigured
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings

from config import environment
from pipelines.models import AdministrativeAct, Membership, Role, User
from tests.api.conftest import Api
from tests.factories import World
from tests.pages.conftest import client_of, text
from tests.people.passkey import Passkey
from tests.people.provider import Provider, provider

pytestmark = pytest.mark.django_db


@pytest.fixture
def company(world: World, settings: Settings) -> Iterator[Provider]:
    with provider() as made:
        app = {"provider_id": "oidc", "name": "Acme", "client_id": "gateline", "secret": "s3cret"}
        app |= {"settings": {"server_url": made.address}}
        settings.OIDC_ISSUER, settings.OIDC_NAME = made.address, "Acme"
        settings.SOCIALACCOUNT_PROVIDERS = {"openid_connect": {"OAUTH_PKCE_ENABLED": True, "APPS": [app]}}
        settings.OIDC_ROLES = {
            "reviewers": {str(world.project): ["reviewer"]},
            "leads": {str(world.project): ["admin"]},
        }
        yield made


def come(client: Client, **more: Any) -> HttpResponse:
    """To the provider and back, as a browser would."""
    there = client.post(reverse("openid_connect_login", args=["oidc"]), more)
    asked = parse_qs(urlsplit(there.headers["Location"]).query)
    back = {"code": "c", "state": asked["state"][0]}
    return client.get(reverse("openid_connect_callback", args=["oidc"]), back)


def roles(world: World) -> list[str]:
    found = Membership.objects.filter(user__username="pat", project=world.project).first()
    return found.roles if found else []


def test_the_first_sign_in_makes_an_account_without_a_password(company: Provider) -> None:
    client = Client()
    assert "Sign in with Acme" in text(client.get(reverse("sign-in")))
    assert come(client).headers["Location"] == reverse("home")
    assert client.get(reverse("home")).status_code == 200
    user = User.objects.get(username="pat")
    assert (user.email, user.has_usable_password(), user.is_staff) == ("pat@example.com", False, False)
    (token,) = company.asked
    assert "code_verifier" in token
    come(Client())
    assert User.objects.filter(username__startswith="pat").count() == 1


@pytest.mark.parametrize("claim", [None, {"reviewers": True}, 7, [None, 3], True])
def test_groups_that_are_no_list_give_no_role(world: World, company: Provider, claim: object) -> None:
    """Some providers say null for somebody who is in no group."""
    company.claims["groups"] = claim
    client = Client()
    assert come(client).headers["Location"] == reverse("home")
    assert roles(world) == []


def test_a_group_gives_a_role_and_takes_it_again(world: World, company: Provider) -> None:
    company.claims["groups"] = ["reviewers", "unknown"]
    client = Client()
    come(client)
    assert roles(world) == ["reviewer"]
    company.claims["groups"] = []
    come(Client())
    assert roles(world) == []
    assert client.get(reverse("lines", args=[world.project.owner.key, world.project.key])).status_code == 404
    kinds = AdministrativeAct.objects.filter(project=world.project).order_by("pk")
    assert [act.kind for act in kinds] == ["member.added", "member.removed"]


@pytest.mark.parametrize("password", [False, True])
def test_tokens_of_whom_the_provider_removed_stop(
    world: World, company: Provider, settings: Settings, password: bool
) -> None:
    """They are whoever has not come back. A password of one's own is no way around the groups."""
    company.claims["groups"] = ["reviewers"]
    come(Client())
    user = User.objects.get(username="pat")
    if password:
        user.set_password("correct horse battery")
        user.save()
    who = Api(world.project, world.token_of(user, "read")[1])
    machine = Api(world.project, world.machine("read")[1])
    other = Api(world.project, world.token_of(world.viewer, "read")[1])
    account = SocialAccount.objects.filter(user=user)

    def status(days: float) -> int:
        account.update(last_login=timezone.now() - timedelta(days=days))
        return int(who.get("/lines").status_code)

    assert status(29.9) == 200
    assert "Your tokens work until" in text(client_of(user).get(reverse("account")))
    assert status(30.1) == 401
    assert (machine.get("/lines").status_code, other.get("/lines").status_code) == (200, 200)
    assert come(Client()).headers["Location"] == reverse("home")
    assert who.get("/lines").status_code == 200, "who comes back goes on"
    settings.OIDC_TOKEN_DAYS = 0
    assert status(400) == 200


def test_whom_the_provider_vouches_for_sets_no_password(company: Provider) -> None:
    """By it they would come in, and their tokens go on, after the provider removed them."""
    client = Client()
    come(client)
    words = {"new_password1": "something else 1", "new_password2": "something else 1"}
    assert client.post(reverse("password-set"), words).headers["Location"] == reverse("account")
    assert not User.objects.get(username="pat").has_usable_password()


def test_whom_the_provider_vouches_for_gets_no_password_by_a_mail_or_an_admin(
    world: World, company: Provider
) -> None:
    """By it they would come in after the provider removed them."""
    company.claims["groups"] = ["reviewers"]
    come(Client())
    user = User.objects.get(username="pat")
    for email in (user.email, world.viewer.email):
        Client().post(reverse("account_reset_password"), {"email": email})
    mails = [str(message.body) for message in mail.outbox]
    assert ["/sign-in/reset/" in body for body in mails] == [False, True]
    assert "This account has none: sign in with Acme." in mails[0] and mail.outbox[0].to == [user.email]
    admin = client_of(world.admin)
    member = [world.project.owner.key, world.project.key, Membership.objects.get(user=user).pk]
    page = text(admin.get(reverse("member-change", args=member)))
    assert "Acme signs this person in" in page and "Create reset link" not in page
    assert admin.post(reverse("member-reset-link", args=member), {"link": "yes"}).status_code == 400


def test_a_passkey_is_no_way_around_the_provider(world: World, company: Provider, settings: Settings) -> None:
    come(Client())
    user, client = User.objects.get(username="pat"), Client()
    passkey = Passkey(user)
    refused = passkey.sign_in(client)
    assert refused.status_code == 403 and "Acme signs you in" in text(refused)
    assert "_auth_user_id" not in client.session
    assert come(Client()).headers["Location"] == reverse("mfa_authenticate"), "it is the second step"
    settings.OIDC_ISSUER = ""
    assert passkey.sign_in(client).headers["Location"] == reverse("home")


def test_tokens_of_who_only_connected_a_provider_last_as_they_say(world: World, company: Provider) -> None:
    company.claims["email"] = world.viewer.email
    world.viewer.set_password("correct horse battery")
    world.viewer.save()
    assert come(client_of(world.viewer), process="connect").headers["Location"] == reverse("account")
    SocialAccount.objects.update(last_login=timezone.now() - timedelta(days=99))
    who = Api(world.project, world.token_of(world.viewer, "read")[1])
    assert who.get("/lines").status_code == 200


def test_what_an_admin_gave_stays(world: World, company: Provider) -> None:
    come(Client())
    user = User.objects.get(username="pat")
    Membership.objects.create(project=world.project, user=user, roles=["viewer"])
    company.claims["groups"] = ["leads"]
    come(Client())
    assert roles(world) == ["viewer", "admin"]
    assert world.admin
    company.claims["groups"] = []
    come(Client())
    assert roles(world) == ["viewer"]


def test_the_last_admin_stays_one(world: World, company: Provider) -> None:
    company.claims["groups"] = ["leads"]
    come(Client())
    assert not Membership.objects.filter(project=world.project).exclude(user__username="pat").exists()
    company.claims["groups"] = []
    come(Client())
    assert roles(world) == [Role.ADMIN]


def test_an_admin_who_cannot_sign_in_is_no_admin_beside_the_last(world: World, company: Provider) -> None:
    company.claims["groups"] = ["leads"]
    come(Client())
    User.objects.filter(pk=world.admin.pk).update(is_active=False)
    company.claims["groups"] = []
    come(Client())
    assert roles(world) == [Role.ADMIN]


def test_whom_a_group_gives_nothing_more_loses_the_tokens_of_the_project(
    world: World, company: Provider
) -> None:
    company.claims["groups"] = ["reviewers"]
    come(Client())
    user = User.objects.get(username="pat")
    token, _secret = world.token_of(user)
    token.project = world.project
    token.save()
    company.claims["groups"] = []
    come(Client())
    assert roles(world) == []
    token.refresh_from_db()
    assert token.revoked_at is not None
    assert AdministrativeAct.objects.filter(kind="token.revoked", project=world.project).exists()


def test_an_account_with_the_same_address_is_not_taken_over(world: World, company: Provider) -> None:
    company.claims["email"] = world.viewer.email.upper()
    client = Client()
    answer = come(client)
    assert answer.status_code == 409
    assert "_auth_user_id" not in client.session
    assert not User.objects.filter(username="pat").exists()


def test_whoever_is_signed_in_connects_their_account(world: World, company: Provider) -> None:
    company.claims["email"] = world.viewer.email
    client = client_of(world.viewer)
    assert come(client, process="connect").headers["Location"] == reverse("account")
    fresh = Client()
    come(fresh)
    assert fresh.session["_auth_user_id"] == str(world.viewer.pk)


def test_a_deactivated_person_does_not_come_in(company: Provider) -> None:
    come(Client())
    User.objects.filter(username="pat").update(is_active=False)
    client = Client()
    assert come(client).headers["Location"] == reverse("account_inactive")
    assert "_auth_user_id" not in client.session
    assert client.get(reverse("account_inactive")).status_code == 200


@pytest.mark.parametrize("wrong", ["state", "broken"])
def test_what_the_provider_does_not_confirm_signs_nobody_in(company: Provider, wrong: str) -> None:
    client = Client()
    if wrong == "state":
        answer = client.get(
            reverse("openid_connect_callback", args=["oidc"]), {"code": "c", "state": "forged"}
        )
    else:
        there = client.post(reverse("openid_connect_login", args=["oidc"]))
        state = parse_qs(urlsplit(there.headers["Location"]).query)["state"][0]
        company.broken = True
        answer = client.get(reverse("openid_connect_callback", args=["oidc"]), {"code": "c", "state": state})
    assert answer.status_code == 403
    assert "_auth_user_id" not in client.session


def test_without_a_provider_there_is_no_button() -> None:
    assert "/sign-in/with/" not in text(Client().get(reverse("sign-in")))
    assert Client().post(reverse("openid_connect_login", args=["oidc"])).status_code == 404


def test_the_mapping_of_groups_is_read_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OIDC_ROLES", "cn=dev,o=x=acme/app:designer+reviewer; all=acme/app:viewer;")
    assert environment.roles_of_groups("OIDC_ROLES") == {
        "cn=dev,o=x": {"acme/app": ["designer", "reviewer"]},
        "all": {"acme/app": ["viewer"]},
    }
    assert set(Role.values) == environment.ROLES
    for wrong in ("all", "all=app:viewer", "all=acme/app:king", "=acme/app:viewer"):
        monkeypatch.setenv("OIDC_ROLES", wrong)
        with pytest.raises(ImproperlyConfigured):
            environment.roles_of_groups("OIDC_ROLES")
