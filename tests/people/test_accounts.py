"""Sign-in links and API tokens: shown once, kept as SHA-256, in force for a time."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from pipelines.models import ApiToken, SignInLink
from pipelines.people import accounts
from tests.factories import World

pytestmark = pytest.mark.django_db

NOW = timezone.now()


def test_a_link_signs_in_once(world: World) -> None:
    secret = accounts.create_sign_in_link_secret(world.admin, NOW)
    assert accounts.person_of_redeemed_link(secret, NOW) == world.admin
    with pytest.raises(accounts.LinkRefused):
        accounts.person_of_redeemed_link(secret, NOW)


def test_a_link_lasts_ten_minutes(world: World) -> None:
    secret = accounts.create_sign_in_link_secret(world.admin, NOW)
    with pytest.raises(accounts.LinkRefused):
        accounts.person_of_redeemed_link(secret, NOW + timedelta(minutes=10))
    assert accounts.person_of_redeemed_link(secret, NOW + timedelta(minutes=9, seconds=59)) == world.admin


def test_no_link_for_who_may_not_sign_in(world: World) -> None:
    secret = accounts.create_sign_in_link_secret(world.admin, NOW)
    world.admin.is_active = False
    world.admin.save()
    for wrong in (secret, "", "guess"):
        with pytest.raises(accounts.LinkRefused):
            accounts.person_of_redeemed_link(wrong, NOW)


def test_no_secret_is_stored(world: World) -> None:
    link = accounts.create_sign_in_link_secret(world.admin, NOW)
    token, secret = world.token_of(world.admin)
    stored = [*SignInLink.objects.values_list("digest", flat=True), token.digest]
    assert not {link, secret} & set(stored)
    assert all(len(digest) == 64 for digest in stored)
    assert secret.startswith("gl_")
    assert secret.startswith(token.prefix)
    assert len(token.prefix) < 12


def test_a_bearer_is_known_by_its_secret_only(world: World) -> None:
    token, secret = world.token_of(world.admin)
    now = timezone.now()
    assert accounts.find_token_and_note_use(secret, now) == token
    for wrong in ("", "gl_", secret[:-1], secret + "x", token.digest, secret.removeprefix("gl_")):
        assert accounts.find_token_and_note_use(wrong, now) is None


def test_a_token_is_in_force_until_it_expires_or_is_revoked(world: World) -> None:
    token, secret = world.token_of(world.admin)
    assert accounts.find_token_and_note_use(secret, token.expires_at - timedelta(seconds=1)) == token
    assert accounts.find_token_and_note_use(secret, token.expires_at) is None
    accounts.revoke_token(token, timezone.now(), None)
    assert accounts.find_token_and_note_use(secret, timezone.now()) is None


def test_the_token_of_somebody_who_left_opens_nothing(world: World) -> None:
    _, secret = world.token_of(world.viewer)
    world.viewer.is_active = False
    world.viewer.save()
    assert accounts.find_token_and_note_use(secret, timezone.now()) is None


def test_the_last_use_is_noted_at_most_once_a_minute(world: World) -> None:
    token, secret = world.token_of(world.admin)
    first = timezone.now()
    for later in (0, 30, 59):
        accounts.find_token_and_note_use(secret, first + timedelta(seconds=later))
    token.refresh_from_db()
    assert token.last_used_at == first
    accounts.find_token_and_note_use(secret, first + timedelta(seconds=61))
    token.refresh_from_db()
    assert token.last_used_at == first + timedelta(seconds=61)


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "ghost"},
        {"name": "  "},
        {"name": "x" * 101},
        {"scopes": []},
        {"scopes": ["everything"]},
        {"lasts": timedelta(0)},
        {"lasts": timedelta(days=367)},
        {"role": "admin"},
        {"user": None},
        {"kind": "machine"},
        {"kind": "machine", "user": None},
    ],
    ids=str,
)
def test_a_token_that_makes_no_sense_is_not_made(world: World, wrong: dict[str, Any]) -> None:
    fine = {"kind": "person", "name": "x", "scopes": ["read"], "user": world.admin}
    with pytest.raises(accounts.TokenRefused):
        accounts.mint_token_and_secret(now=NOW, created_by=world.admin, **{**fine, **wrong})
    assert not ApiToken.objects.exists()


def test_a_machine_can_never_decide_not_even_by_the_back_door(world: World) -> None:
    with pytest.raises(accounts.TokenRefused, match="machine"):
        world.machine("read", "decide")
    token, _ = world.machine("read")
    with pytest.raises(IntegrityError), transaction.atomic():
        ApiToken.objects.filter(pk=token.pk).update(scopes=["read", "decide"])
