"""SHA-256 and size of a file, and whether a disk has room for more."""

from __future__ import annotations

import errno
import hashlib
from dataclasses import dataclass
from typing import BinaryIO

PIECE = 1024 * 1024


@dataclass(frozen=True)
class Measured:
    """SHA-256, hex, and bytes."""

    digest: str
    size: int


class TooLarge(Exception):
    """More bytes than are allowed here."""


def measure_file(file: BinaryIO, most: int | None = None) -> Measured:
    """Read to the end. :raises TooLarge: more than `most` bytes"""
    sha, size = hashlib.sha256(), 0
    while piece := file.read(PIECE):
        size += len(piece)
        if most is not None and size > most:
            raise TooLarge(f"larger than {most} bytes")
        sha.update(piece)
    return Measured(sha.hexdigest(), size)


def is_no_room_left(error: BaseException) -> bool:
    """Return whether the error means that there is no room left on a disk, or in a quota of it."""
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
