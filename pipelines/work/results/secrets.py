"""Registered secrets in the files that a station left. None of them is stored, committed or pushed (I16)."""

from __future__ import annotations

import mmap
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from pipelines.work.results.files import FileRefused, open_plain_file
from pipelines.work.results.text import secret_and_private_keys, secret_spellings

SHORTEST = 8
"""Characters, as the vault asks for: a shorter value stands in many files by chance."""
SHORTEST_LINE = 16
"""Of one line of a secret that has several."""
MARK = "-----"
"""How the first and the last line of a key begin, which every key of its kind has."""


class SecretFinder:
    """Looks for secrets as they are and as addresses, JSON and headers spell them. What a program compressed or
    encrypted hides them."""

    def __init__(self, secrets: Iterable[str]) -> None:
        parts = {
            part
            for secret in secrets
            for key in secret_and_private_keys(secret)
            for part in _secret_spellings(key)
        }
        self._bytes = sorted({part.encode(errors="backslashreplace") for part in parts})

    def __bool__(self) -> bool:
        return bool(self._bytes)

    def text_holds(self, text: str) -> bool:
        encoded = text.encode(errors="backslashreplace")
        return any(secret in encoded for secret in self._bytes)

    def holds(self, root: Path, path: str) -> bool:
        """Return whether a plain file below `root` holds a secret; False for anything but a plain file."""
        try:
            with open_plain_file(root, path) as file:
                return self._file_holds_secret(file)
        except FileRefused:
            return False

    def _file_holds_secret(self, file: BinaryIO) -> bool:
        try:
            # Mapped: a large file is searched without being read into memory
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except ValueError:  # an empty file
            return False
        with mapped:
            return any(mapped.find(secret) >= 0 for secret in self._bytes)


def _secret_spellings(secret: str) -> Iterator[str]:
    plain = secret.strip()
    if len(plain) < SHORTEST:
        return
    yield from secret_spellings(plain)
    lines = [line.strip() for line in plain.splitlines()]
    if len(lines) > 1:
        yield from (line for line in lines if len(line) >= SHORTEST_LINE and not line.startswith(MARK))
