"""The key by which samples are drawn: of this installation, never shown to a station (law §15)."""

from __future__ import annotations

from functools import cache

from django.utils.crypto import salted_hmac


@cache
def sampling_key() -> bytes:
    """Return the key by which samples are drawn. It is derived from SECRET_KEY: a new one draws other samples."""
    return salted_hmac("gateline.sampling", "gates", algorithm="sha256").digest()
