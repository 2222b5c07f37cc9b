"""Print the public key of this installation's receipts."""

from __future__ import annotations

from typing import Any

from pipelines.formats.receipts import key_fingerprint, public_pem
from pipelines.management import printing
from pipelines.ports.vault.signing import configured_receipt_key


class Command(printing.Command):
    help = "Print the public key that receipts of deliveries are verified with, and its fingerprint."
    requires_system_checks = ()

    def handle(self, *args: Any, **options: Any) -> None:
        key = configured_receipt_key().public_key()
        self.stdout.write(public_pem(key), ending="")
        self.stderr.write(f"SHA-256 {key_fingerprint(key)}")
