"""Objects of Git LFS in a folder, each under its digest, as git-lfs lays them down."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO

from pipelines.work.file_measure import PIECE
from pipelines.work.git.lfs.pointers import Pointer
from pipelines.work.git.refusals import GitRefused

OBJECTS = "lfs/objects"


def object_path(oid: str) -> str:
    """The path of an object below the git folder."""
    return f"{OBJECTS}/{oid[:2]}/{oid[2:4]}/{oid}"


class LocalObjects:
    """Objects below the git folder of a repository of our own: each was checked when it was added."""

    def __init__(self, git_folder: Path) -> None:
        self._folder = git_folder

    def path_of(self, pointer: Pointer) -> Path:
        return self._folder / object_path(pointer.oid)

    def has(self, pointer: Pointer) -> bool:
        path = self.path_of(pointer)
        # By its size alone: digests of all large files would cost a read of them for each visit
        return path.is_file() and path.stat().st_size == pointer.size

    def add(self, pointer: Pointer, write: Callable[[BinaryIO], None], name: str) -> None:
        """Add what `write` writes. :raises GitRefused: it is not what the pointer says"""
        place = self.path_of(pointer)
        place.parent.mkdir(parents=True, exist_ok=True)
        # Beside its place: only within one file system a rename is one step
        descriptor, temporary = tempfile.mkstemp(dir=place.parent)
        try:
            with os.fdopen(descriptor, "w+b") as file:
                write(file)
                check_content(file, pointer, name)
            os.replace(temporary, place)
        # An attempt that is cancelled leaves no half of a file either
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(temporary)
            raise


def check_content(file: BinaryIO, pointer: Pointer, name: str) -> None:
    """:raises GitRefused: the content is another one than the pointer names"""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    digest = sha256()
    while piece := file.read(PIECE):
        digest.update(piece)
    file.seek(0)
    if size != pointer.size or digest.hexdigest() != pointer.oid:
        raise GitRefused(
            f"The content of {name} that Git LFS has is not what its pointer says: it has another size or digest. "
            "Upload it again with git lfs push --all."
        )


def copy_bounded(source: BinaryIO, file: BinaryIO, most: int) -> None:
    """Copy up to one byte more than `most`, so that what is longer is noticed."""
    room = most + 1
    while room > 0 and (piece := source.read(min(PIECE, room))):
        file.write(piece)
        room -= len(piece)
