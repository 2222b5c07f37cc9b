"""Few files of objects instead of many: each visit and each fetch adds one to a mirror, and all of them are open at
once while objects are looked for."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from dulwich.object_store import DiskObjectStore
from dulwich.objects import ObjectID, RawObjectID, sha_to_hex
from dulwich.pack import load_pack_index, write_pack_from_container

MOST_PACKS = 50
TOGETHER = 256 * 1024**2
"""Bytes that are joined at once, as they are packed: one object after the other goes from file to file. What is larger
stays as it is; a mirror has room for a few dozen such files."""


def join(store: DiskObjectStore) -> None:
    """Put the small ones into one, where there are too many. Nobody else changes the store meanwhile."""
    # The smallest first
    packs = sorted((pack.stat().st_size, pack) for pack in Path(store.pack_dir).glob("*.pack"))
    if len(packs) <= MOST_PACKS:
        return
    objects: dict[ObjectID, None] = {}
    joined: list[Path] = []
    total = 0
    for size, pack in packs:
        total += size
        if total > TOGETHER:
            break
        if pack.with_suffix(".idx").exists():
            objects.update(dict.fromkeys(_names(store, pack)))
            joined.append(pack)
    if len(joined) < 2:
        return
    file, commit, abort = store.add_pack()
    try:
        entries = [(object_id, None) for object_id in objects]
        write_pack_from_container(file.write, store, entries, object_format=store.object_format)
    except BaseException:
        abort()
        raise
    made = commit()
    name = f"pack-{made.name().decode()}" if made else ""
    # It opened all of them, and opens again what there is.
    store.close()
    for pack in joined:
        # The name comes of the objects, so the new file may be one that was there.
        if pack.stem != name:
            # First: without its index a pack is left alone.
            pack.with_suffix(".idx").unlink()
            pack.unlink()


def _names(store: DiskObjectStore, pack: Path) -> list[ObjectID]:
    with closing(load_pack_index(str(pack.with_suffix(".idx")), store.object_format)) as index:
        return [sha_to_hex(RawObjectID(sha)) for sha, _offset, _crc in index.iterentries()]
