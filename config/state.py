"""The state folder: one folder that is nobody else's business, and the key that is kept in it."""

from __future__ import annotations

import base64
import os
import secrets
from pathlib import Path


def write_if_missing_and_read(path: Path, value: str) -> str:
    """Return the content of the file; write the value first if the file is missing. Several processes may
    start at once: one wins and all read the same."""
    if not path.exists():
        # Passable: the user of the embedded server may have to get through (embedded/layout.py).
        path.parent.mkdir(mode=0o711, parents=True, exist_ok=True)
        temporary = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as stream:
            stream.write(value)
        try:
            # A link fails where another process was first; a rename would replace its file.
            os.link(temporary, path)
        except FileExistsError:
            pass
        finally:
            temporary.unlink()
    return path.read_text().strip()


def port_of_last_start(home: Path, otherwise: int) -> int:
    """The port on which Gateline was last started from this state folder."""
    try:
        text = (home / "port").read_text().strip()
    except OSError:
        return otherwise
    # Its length before its number: int() raises for a text of more than 4,300 digits
    plain = text.isascii() and text.isdigit() and len(text) < 6
    return int(text) if plain and 0 < int(text) < 1 << 16 else otherwise


def store_started_port(home: Path, port: int) -> None:
    """Commands in another shell then name the address at which it runs."""
    home.mkdir(mode=0o711, parents=True, exist_ok=True)
    temporary = home / f"port.{os.getpid()}"
    temporary.write_text(f"{port}\n")
    temporary.replace(home / "port")


def ensure_encryption_keys_file(home: Path) -> Path:
    """The file of the keys that stored secrets are encrypted with, one per line and the newest first; a first key is
    made once per state folder. It is read where it is needed, so that running processes take a new key at once."""
    path = home / "encryption-keys"
    write_if_missing_and_read(path, base64.urlsafe_b64encode(secrets.token_bytes(32)).decode())
    return path


def ensure_receipt_key_file(home: Path) -> Path:
    """The file of the key that signs receipts, made once per state folder."""
    path = home / "receipt-key"
    write_if_missing_and_read(path, base64.urlsafe_b64encode(secrets.token_bytes(32)).decode())
    return path


def ensure_secret_key(home: Path) -> str:
    """Django's SECRET_KEY, made once per state folder."""
    return write_if_missing_and_read(home / "secret-key", secrets.token_urlsafe(50))
