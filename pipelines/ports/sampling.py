"""The key by which samples are drawn: of this installation, never shown to a station (law §15)."""

from __future__ import annotations

from functools import cache

from django.utils.crypto import salted_hmac


@cache
def sampling_key() -> bytes:
    """Derived from SECRET_KEY: another one draws anew."""
    return salted_hmac("gateline.sampling", "gates", algorithm="sha256").digest()
