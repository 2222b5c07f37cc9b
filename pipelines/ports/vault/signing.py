"""The key that signs receipts: one per installation, kept as the keys of secrets are."""

from __future__ import annotations

import base64
import binascii
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured


def configured_receipt_key() -> Ed25519PrivateKey:
    """Raises ImproperlyConfigured: what is set is no key."""
    file: Path | None = settings.RECEIPT_KEY_FILE
    text = file.read_text().strip() if file else settings.RECEIPT_KEY
    try:
        return Ed25519PrivateKey.from_private_bytes(base64.b64decode(text, altchars=b"-_", validate=True))
    except (binascii.Error, ValueError) as error:
        where = file or "GATELINE_RECEIPT_KEY"
        raise ImproperlyConfigured(
            f"{where} holds no key: 32 bytes in URL-safe Base64 are expected."
        ) from error
