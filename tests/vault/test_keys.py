"""The keys of stored secrets: kept beside the secret key, changed without losing a secret."""

from __future__ import annotations

import io
import stat
from pathlib import Path
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.apps import apps
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command
from django.utils import timezone

from config import state
from pipelines.models import StoredValue
from pipelines.ports.vault import keys
from reviews.models import ChannelConnection
from tests.factories import World
from tests.vault.conftest import Put

pytestmark = pytest.mark.django_db
CANARY = "planted-canary-of-a-key"


def test_a_key_is_made_once_and_only_its_owner_reads_it(key_file: Path) -> None:
    first = key_file.read_text()
    assert state.ensure_encryption_keys_file(key_file.parent).read_text() == first
    assert stat.S_IMODE(key_file.stat().st_mode) == 0o600
    assert keys.decrypt_secret(keys.encrypt_secret(CANARY)) == CANARY


def test_a_secret_is_stored_encrypted(world: World, put: Put) -> None:
    stored = put(world.project, "API", CANARY, by=world.admin)
    assert CANARY not in stored.content
    assert keys.decrypt_secret(stored.content) == CANARY


def test_rotation_encrypts_every_secret_with_a_new_key(world: World, put: Put, key_file: Path) -> None:
    put(world.project, "API", CANARY, by=world.admin)
    put(world.project, "REGION", "eu-north", kind="variable", by=world.admin)
    before, (old,) = StoredValue.objects.get(name="API").content, key_file.read_text().split()
    out = io.StringIO()
    call_command("rotate_secrets", stdout=out)
    after, (new, kept) = StoredValue.objects.get(name="API").content, key_file.read_text().split()
    assert out.getvalue() == "1 secrets are encrypted with a new key.\n"
    assert (kept, new != old, after != before) == (old, True, True)
    assert Fernet(new).decrypt(after).decode() == CANARY
    assert keys.decrypt_secret(before) == CANARY, "whoever read the row before still reads it"
    assert stat.S_IMODE(key_file.stat().st_mode) == 0o600
    assert StoredValue.objects.get(name="REGION").content == "eu-north"
    call_command("rotate_secrets", stdout=out)
    assert old not in key_file.read_text()
    assert keys.decrypt_secret(StoredValue.objects.get(name="API").content) == CANARY


def test_rotation_reaches_the_tokens_and_signing_secrets_of_chats(world: World, key_file: Path) -> None:
    made = {"project": world.project, "kind": "slack", "address": "", "created_at": timezone.now()}
    chat = ChannelConnection.objects.create(
        name="Reviews", secret=keys.encrypt_secret(CANARY), signing=keys.encrypt_secret(CANARY[::-1]), **made
    )
    ChannelConnection.objects.create(name="Unsigned", **made)
    out = io.StringIO()
    call_command("rotate_secrets", stdout=out)
    call_command("rotate_secrets", stdout=out)
    assert "2 secrets" in out.getvalue()
    chat.refresh_from_db()
    (new, _kept) = key_file.read_text().split()
    assert [Fernet(new).decrypt(each).decode() for each in (chat.secret, chat.signing)] == [
        CANARY,
        CANARY[::-1],
    ]
    key_file.write_text(Fernet.generate_key().decode())
    with pytest.raises(CommandError, match=r"Reviews of acme/app"):
        call_command("rotate_secrets", stdout=out)


def test_every_column_that_says_it_is_encrypted_is_rotated() -> None:
    """So that a new one is not forgotten: what is encrypted says so in its help or its description."""
    for model in apps.get_models():
        for field in model._meta.get_fields():
            if "encrypted" in str(getattr(field, "help_text", "")) and model is not StoredValue:
                assert field.name in getattr(model, "ENCRYPTED", ()), f"{model.__name__}.{field.name}"


def test_keys_of_the_environment_rotate_by_their_order(world: World, put: Put, settings: Any) -> None:
    old, new = Fernet.generate_key().decode(), Fernet.generate_key().decode()
    settings.ENCRYPTION_KEY_FILE, settings.ENCRYPTION_KEYS = None, [old]
    put(world.project, "API", CANARY, by=world.admin)
    settings.ENCRYPTION_KEYS = [new, old]
    out = io.StringIO()
    call_command("rotate_secrets", stdout=out)
    assert "with the first key" in out.getvalue()
    settings.ENCRYPTION_KEYS = [new]
    assert keys.decrypt_secret(StoredValue.objects.get().content) == CANARY


def test_a_secret_without_its_key_is_named_and_not_lost(world: World, put: Put, key_file: Path) -> None:
    before = put(world.project, "API", CANARY, by=world.admin).content
    key_file.write_text(Fernet.generate_key().decode())
    with pytest.raises(keys.SecretUnreadable):
        keys.decrypt_secret(before)
    with pytest.raises(CommandError, match=r"API of acme/app"):
        call_command("rotate_secrets", stdout=io.StringIO())
    assert StoredValue.objects.get().content == before


def test_a_file_without_a_key_is_said_plainly(key_file: Path) -> None:
    key_file.write_text("no key\n")
    with pytest.raises(ImproperlyConfigured, match="encryption-keys holds no key"):
        keys.encrypt_secret(CANARY)
