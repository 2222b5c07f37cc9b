"""Few files of objects instead of many: each visit and each fetch adds one to a mirror, and all of them are open at
once while objects are looked for."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from dulwich.object_store import DiskObjectStore
from dulwich.objects import ObjectID, ShaFile
from dulwich.pack import Pack

MOST_PACKS = 50
SMALL = 4 * 1024**2
TOGETHER = 16 * 1024**2
"""Bytes that are joined at once: they are held in memory meanwhile."""


def join(store: DiskObjectStore) -> None:
    """Put the small ones into one, where there are too many. Nobody else changes the store meanwhile."""
    folder = Path(store.pack_dir)
    found = sorted((each.stat().st_size, each) for each in folder.glob("*.pack"))
    if len(found) <= MOST_PACKS:
        return
    objects: dict[ObjectID, ShaFile] = {}
    joined: list[Path] = []
    total = 0
    for size, each in found:
        total += size
        if size > SMALL or total > TOGETHER:
            break
        if not each.with_suffix(".idx").exists():
            continue
        with closing(Pack(str(each.with_suffix("")), object_format=store.object_format)) as pack:
            objects.update((one.id, one) for one in pack.iterobjects())
        joined.append(each)
    if len(joined) < 2:
        return
    made = store.add_objects([(one, None) for one in objects.values()])
    name = f"pack-{made.name().decode()}" if made else ""
    # It opened all of them, and opens again what there is.
    store.close()
    for each in joined:
        if each.stem != name:
            each.with_suffix(".idx").unlink()
            each.unlink()
