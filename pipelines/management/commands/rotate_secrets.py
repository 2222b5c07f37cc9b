"""Encrypt stored secrets with a new key."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from pipelines.management import printing
from pipelines.ports.vault import keys, store


class Command(printing.Command):
    help = (
        "Encrypt every stored secret with a new key. With GATELINE_ENCRYPTION_KEYS put the new key first there, "
        "restart every process, run this, then take the old key out."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        made = keys.try_to_put_new_key_first_in_file()
        done, lost = store.reencrypt_and_name_unreadable_secrets(timezone.now())
        self.stdout.write(f"{done} secrets are encrypted with {'a new key' if made else 'the first key'}.")
        if lost:
            raise CommandError(f"No key here decrypts these, enter them again: {', '.join(lost)}")
