"""Second factors: their keys are encrypted with a key that comes from the secret key, and never stand in a dump."""

from __future__ import annotations

import base64
import hashlib

from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from cryptography.fernet import Fernet, MultiFernet
from django.conf import settings
from django.contrib.auth.base_user import AbstractBaseUser


class FactorAdapter(DefaultMFAAdapter):
    def encrypt(self, text: str) -> str:
        return _secret_cipher().encrypt(text.encode()).decode()

    def decrypt(self, encrypted_text: str) -> str:
        return _secret_cipher().decrypt(encrypted_text.encode()).decode()

    def generate_authenticator_name(self, user: AbstractBaseUser, type: Authenticator.Type) -> str:  # noqa: A002
        return f"Passkey {Authenticator.objects.filter(user=user, type=type).count() + 1}"

    def get_public_key_credential_rp_entity(self) -> dict[str, str]:
        """The name is what the browser shows beside the passkey."""
        return {**super().get_public_key_credential_rp_entity(), "name": settings.MFA_TOTP_ISSUER}


def _secret_cipher() -> MultiFernet:
    """Return the cipher of the secret key, and of earlier keys (`SECRET_KEY_FALLBACKS`)."""
    # MultiFernet encrypts with the first key and decrypts with any of them.
    keys = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    return MultiFernet([Fernet(_derived_key(str(key))) for key in keys])


def _derived_key(secret: str) -> bytes:
    # The prefix keeps it apart from other keys of this secret. Fernet takes 32 bytes in base64.
    return base64.urlsafe_b64encode(hashlib.sha256(b"gateline.factors:" + secret.encode()).digest())
