"""Archives and manifests that come out the same, byte by byte, for the same tree."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .report import StationError
from .tree import Entry

MANIFEST = "MANIFEST.sha256"


def manifest(entries: Sequence[Entry]) -> bytes:
    """One line a file, as sha256sum(1) writes and checks them; links have no line."""
    return b"".join(line(entry) for entry in entries if entry.link is None)


def line(entry: Entry) -> bytes:
    escaped = entry.path.replace(b"\\", b"\\\\").replace(b"\n", b"\\n").replace(b"\r", b"\\r")
    mark = b"\\" if escaped != entry.path else b""
    return mark + entry.sha256.encode() + b"  " + escaped + b"\n"


def pack(root: Path, entries: Sequence[Entry], top: str, target: Path) -> None:
    """Write `entries` of `root` and their manifest to the gzipped tar `target`, all below one folder `top`.

    No time, owner or order of this machine gets in.

    :raises StationError: `changed`, if a file is no longer the one in `entries`.
    """
    with (
        target.open("wb") as raw,
        gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as packed,
        tarfile.open(mode="w", fileobj=packed, format=tarfile.PAX_FORMAT) as archive,
    ):
        for entry in entries:
            add(archive, root, entry, top)
        data = manifest(entries)
        archive.addfile(member(f"{top}/{MANIFEST}", len(data)), io.BytesIO(data))


def add(archive: tarfile.TarFile, root: Path, entry: Entry, top: str) -> None:
    info = member(f"{top}/{os.fsdecode(entry.path)}", 0, entry.executable)
    if entry.link is not None:
        info.type, info.linkname = tarfile.SYMTYPE, os.fsdecode(entry.link)
        archive.addfile(info)
        return
    data = (root / os.fsdecode(entry.path)).read_bytes()
    if hashlib.sha256(data).hexdigest() != entry.sha256:
        raise StationError("The working copy changed while it was packed.", "changed")
    info.size = len(data)
    archive.addfile(info, io.BytesIO(data))


def member(name: str, size: int, executable: bool = False) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.size, info.mode, info.mtime = size, 0o755 if executable else 0o644, 0
    return info


def artifact(path: Path, media_type: str) -> dict[str, Any]:
    """`{name, path, media_type, size, sha256}` of a file in the workspace."""
    data = path.read_bytes()
    return {
        "name": path.name,
        "path": str(path),
        "media_type": media_type,
        "size": len(data),
        "sha256": hashlib.sha256(data).hexdigest(),
    }
