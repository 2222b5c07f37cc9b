"""Whatever fails on files and objects that somebody else made, as a refusal in words."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

from dulwich import errors

from pipelines.work.file_measure import is_no_room_left
from pipelines.work.git.refusals import GitRefused
from pipelines.work.results.files import FileRefused

DAMAGED = (
    ValueError, LookupError, AssertionError, EOFError, RecursionError, zlib.error, struct.error, FileRefused,
    errors.ChecksumMismatch, errors.WrongObjectException, errors.ObjectMissing, errors.ApplyDeltaError,
    errors.NotGitRepository, errors.GitProtocolError, errors.FileFormatException,
)  # fmt: skip
"""What reading such objects may raise."""


@contextmanager
def refusing_damage(what: str) -> Iterator[None]:
    """A full disk stays what it is: the worker's matter. :raises GitRefused"""
    try:
        yield
    except OSError as error:
        # Not the repository's fault, and another attempt elsewhere may succeed
        if is_no_room_left(error):
            raise
        raise GitRefused(f"{what}: {error.strerror or error}.") from error
    except DAMAGED as error:
        raise GitRefused(f"{what}: {type(error).__name__}, {str(error)[:200]}.") from error
