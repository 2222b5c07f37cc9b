"""The keys that secrets are encrypted with: the first encrypts, all of them decrypt."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured


class SecretUnreadable(Exception):
    """This secret was encrypted with a key that is not here any more. Enter it again."""


def encrypt_secret(value: str) -> str:
    return _cipher().encrypt(value.encode()).decode()


def decrypt_secret(content: str) -> str:
    """Read the row first and call this after it: a new key is written down before anything is encrypted with it.
    Raises SecretUnreadable."""
    try:
        return _cipher().decrypt(content.encode()).decode()
    except InvalidToken as error:
        raise SecretUnreadable(SecretUnreadable.__doc__) from error


def reencrypt_with_first_key(content: str) -> str:
    """The same secret, encrypted with the first key. Raises SecretUnreadable."""
    try:
        return _cipher().rotate(content.encode()).decode()
    except InvalidToken as error:
        raise SecretUnreadable(SecretUnreadable.__doc__) from error


def key_texts() -> list[str]:
    """The keys as text, which no log may show."""
    file: Path | None = settings.ENCRYPTION_KEY_FILE
    return file.read_text().split() if file else list(settings.ENCRYPTION_KEYS)


def try_to_put_new_key_first_in_file() -> bool:
    """Put a new key before the present one in the file. The one before it stays for whoever has just read the file;
    older ones are dropped, since the last rotation encrypted everything anew. False where the environment names the
    keys: then an operator puts the new one first."""
    file: Path | None = settings.ENCRYPTION_KEY_FILE
    if file is None:
        return False
    temporary = file.with_name(f"{file.name}.{os.getpid()}.{secrets.token_hex(4)}")
    # Its owner's alone from the beginning: there is no moment at which others could read it.
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as stream:
        stream.write("\n".join([Fernet.generate_key().decode(), *key_texts()[:1]]) + "\n")
        stream.flush()
        # On the disk before the rename: after a crash there is the old file or the whole new one.
        os.fsync(stream.fileno())
    temporary.replace(file)
    return True


def _cipher() -> MultiFernet:
    try:
        return MultiFernet([Fernet(key) for key in key_texts()])
    except ValueError as error:
        where = settings.ENCRYPTION_KEY_FILE or "GATELINE_ENCRYPTION_KEYS"
        raise ImproperlyConfigured(f"{where} holds no key, or one that is none.") from error
