"""Second factors: their keys are encrypted with a key that comes from the secret key, and never stand in a dump."""

from __future__ import annotations

import base64
import hashlib

from allauth.mfa.adapter import DefaultMFAAdapter
from cryptography.fernet import Fernet, MultiFernet
from django.conf import settings


class FactorAdapter(DefaultMFAAdapter):
    def encrypt(self, text: str) -> str:
        return _fernet().encrypt(text.encode()).decode()

    def decrypt(self, encrypted_text: str) -> str:
        return _fernet().decrypt(encrypted_text.encode()).decode()


def _fernet() -> MultiFernet:
    """Of the secret key, and of those before it (`SECRET_KEY_FALLBACKS`)."""
    keys = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    return MultiFernet([Fernet(_key_of(str(key))) for key in keys])


def _key_of(secret: str) -> bytes:
    return base64.urlsafe_b64encode(hashlib.sha256(b"gateline.factors:" + secret.encode()).digest())
