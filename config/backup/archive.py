"""The file of a backup: a tar whose last member is a manifest with the checksum of every other one."""

from __future__ import annotations

import hashlib
import io
import json
import os
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, Final

FORMAT: Final = 1
MANIFEST: Final = "manifest.json"
DATABASE: Final = "database.sql.gz"
STATE: Final = "state"
_MEMBERS: Final = {
    **dict.fromkeys(("at", "state_folder"), str),
    **dict.fromkeys(("format", "postgresql"), int),
    **dict.fromkeys(("files", "keys_of_environment"), dict),
    "migrations": list,
}


class DamagedArchive(Exception):
    """A file that is no backup, or not the one that was written."""


class _Checksum:
    """A stream for reading, and the checksum of what was read of it."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.stream, self.sum = stream, hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        piece = self.stream.read(size)
        self.sum.update(piece)
        return piece


class ArchiveWriter:
    """Writes into a new file that only its user can read."""

    def __init__(self, path: Path) -> None:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        self._stream = os.fdopen(descriptor, "wb")
        self._tar = tarfile.TarFile(fileobj=self._stream, mode="w")
        self.files: dict[str, tuple[int, str]] = {}

    def add(self, name: str, path: Path) -> None:
        """Stores a folder or a file, unless the archive has one of this name and size. One that has gone meanwhile is
        left out.

        :raises OSError: it cannot be read, or became shorter meanwhile"""
        if path.is_dir():
            return self._tar.add(path, name, recursive=False)
        try:
            source = path.open("rb")
        except FileNotFoundError:
            return None
        with source:
            member, content = self._tar.gettarinfo(arcname=name, fileobj=source), _Checksum(source)
            # What comes twice never changes once written (state.UNCHANGING): its size will do.
            if self.files.get(name, (-1, ""))[0] != member.size:
                member.mode = 0o600
                self._tar.addfile(member, content)
                self.files[name] = member.size, content.sum.hexdigest()
        return None

    def write_manifest_and_close(self, facts: Mapping[str, Any]) -> None:
        """Ends the archive with its manifest, and has it on the disk."""
        manifest = {**facts, "format": FORMAT, "files": {name: sha for name, (_, sha) in self.files.items()}}
        text = json.dumps({**manifest, "sha256": _manifest_checksum(manifest)}, indent=1).encode()
        member = tarfile.TarInfo(MANIFEST)
        member.size = len(text)
        with self._stream:
            self._tar.addfile(member, io.BytesIO(text))
            self._tar.close()
            self._stream.flush()
            # A backup that the machine forgets in the next second is none
            os.fsync(self._stream.fileno())


def unpack_archive_and_read_manifest(path: Path, folder: Path) -> dict[str, Any]:
    """Writes what the archive holds into a new folder; the manifest.

    :raises DamagedArchive: it is no backup, cut off or changed; it says where
    :raises OSError: it cannot be read, or the folder not be written"""
    folder.mkdir(mode=0o700)
    try:
        with path.open("rb") as source, tarfile.TarFile(fileobj=source) as tar:
            # This filter refuses names and links that lead out of the folder.
            tar.extractall(folder, filter="data")
        if not (folder / MANIFEST).is_file():
            raise DamagedArchive("it ends before its manifest")
        manifest = json.loads((folder / MANIFEST).read_bytes())
        if manifest.pop("sha256", None) != _manifest_checksum(manifest):
            raise DamagedArchive(f"{MANIFEST} is not what was written")
        if wrong := [name for name, kind in _MEMBERS.items() if not isinstance(manifest.get(name), kind)]:
            raise DamagedArchive(f"{MANIFEST} lacks {', '.join(wrong)}")
    # The last two come of a manifest that is JSON, but no object.
    except (tarfile.TarError, ValueError, AttributeError, TypeError) as error:
        raise DamagedArchive(str(error)) from error
    files = {file.relative_to(folder).as_posix(): file for file in folder.rglob("*") if not file.is_dir()}
    for name in sorted((files.keys() | manifest["files"].keys()) - {MANIFEST}):
        if (
            name not in files
            or files[name].is_symlink()
            or _file_checksum(files[name]) != manifest["files"].get(name)
        ):
            raise DamagedArchive(f"{name} is not what was backed up")
    return dict(manifest)


def _file_checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _manifest_checksum(manifest: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()
