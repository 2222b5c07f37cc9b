"""Sizes of objects, checked before anything inflates them: a pack of a megabyte can hold a file of gigabytes.
Every object is read whole by what comes after, so none may be larger than a worker has memory for."""

from __future__ import annotations

import mmap
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from dulwich.object_store import DiskObjectStore
from dulwich.pack import OFS_DELTA, REF_DELTA, load_pack_index

from pipelines.work.git.refusals import GitRefused

MOST_OBJECT = 256 * 1024**2
LARGE, MOST_LARGE = 16 * 1024**2, 2 * 1024**3
"""Of what is told as a difference: its results are held beside each other while they are made."""
# Bytes: head of a pack, what is inflated of a header, what is read for that, a SHA-1
START, HEADER, PACKED_HEADER, CHECKSUM = 12, 64, 2048, 20
MOST_SHIFT = 63
"""Of a number: sizes are not longer, and whoever reads on shifts ever more bytes."""
PIECE = 1024**2


def check_pack_sizes(file: BinaryIO) -> None:
    """Check the sizes of a fetched pack, before its objects are made. The end of an object can only be
    determined by inflating it, which is done in pieces that are forgotten. :raises GitRefused; ValueError,
    zlib.error: it is damaged"""
    file.flush()
    # Nothing was fetched, and mmap takes no empty file.
    if not file.seek(0, 2):
        return
    total = LargeObjectTotal()
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as pack:
        if pack[:4] != b"PACK":
            raise ValueError("this is no pack")
        at = START
        for _ in range(int.from_bytes(pack[8:START], "big")):
            at = _object_end(pack, at, total)
        if at + CHECKSUM != len(pack):
            raise ValueError("the pack does not end where it should")


class LargeObjectTotal:
    """Total size of the large objects."""

    def __init__(self) -> None:
        self.size = 0

    def add_if_large(self, size: int) -> None:
        self.size += size if size > LARGE else 0
        if self.size > MOST_LARGE:
            raise GitRefused(
                f"The repository has large files of more than {MOST_LARGE // 1024**2} MB together."
            )


def check_folder_object_sizes(store: DiskObjectStore) -> None:
    """Check the sizes of a repository in a folder: only each object's own header is read. :raises GitRefused"""
    total = LargeObjectTotal()
    for place in sorted(Path(store.pack_dir).glob("*.idx")):
        with (
            place.with_suffix(".pack").open("rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as pack,
        ):
            index = load_pack_index(str(place), store.object_format)
            try:
                for _name, offset, _crc in index.iterentries():
                    _begin_and_size_of_object_data(pack, offset, total)
            finally:
                index.close()
    for place in _loose_object_files(Path(store.path)):
        with place.open("rb") as loose:
            # `blob 1234`, a NUL, then the content
            header = zlib.decompressobj().decompress(loose.read(PACKED_HEADER), HEADER)
        _check_object_size(int(header.partition(b"\x00")[0].partition(b" ")[2]))


def _loose_object_files(objects: Path) -> Iterator[Path]:
    for folder in objects.glob("[0-9a-f][0-9a-f]"):
        # So git calls what it is still writing: no object yet
        yield from (file for file in folder.iterdir() if file.is_file() and not file.name.startswith("tmp"))


def _check_object_size(size: int) -> None:
    if size > MOST_OBJECT:
        raise GitRefused(
            f"The repository has a file of {size // 1024**2:,} MB, now or in its history, and "
            f"{MOST_OBJECT // 1024**2} MB is the most for one. Keep files of this size elsewhere."
        )


def _begin_and_size_of_object_data(pack: mmap.mmap, at: int, total: LargeObjectTotal) -> tuple[int, int]:
    """Return where the bytes of an object begin, and how many they are once inflated."""
    byte = pack[at]
    # A bit for more bytes, three for the kind, four of the size
    kind, size, shift = (byte >> 4) & 7, byte & 15, 4
    while byte & 0x80:
        at += 1
        byte = pack[at]
        size |= (byte & 0x7F) << _checked_shift(shift)
        shift += 7
    at += 1
    _check_object_size(size)
    if kind not in (OFS_DELTA, REF_DELTA):
        return at, size
    # The name of its base; else the distance to it, in as many bytes as it takes.
    if kind == REF_DELTA:
        at += CHECKSUM
    else:
        while pack[at] & 0x80:
            at += 1
        at += 1
    # A delta begins with the size of its base and that of the result.
    sizes = zlib.decompressobj().decompress(pack[at : at + PACKED_HEADER], HEADER)
    result = _number_and_place_after(sizes, _number_and_place_after(sizes, 0)[1])[0]
    _check_object_size(result)
    total.add_if_large(result)
    return at, size


def _number_and_place_after(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << _checked_shift(shift)
        at, shift = at + 1, shift + 7
        if not byte & 0x80:
            return value, at


def _checked_shift(shift: int) -> int:
    if shift > MOST_SHIFT:
        raise ValueError("the pack has a number that has no end")
    return shift


def _object_end(pack: mmap.mmap, at: int, total: LargeObjectTotal) -> int:
    """The place after an object. :raises ValueError: it is larger than it says"""
    at, size = _begin_and_size_of_object_data(pack, at, total)
    inflating, made = zlib.decompressobj(), 0
    while not inflating.eof:
        piece = inflating.unconsumed_tail
        if not piece:
            piece = pack[at : at + min(PIECE, size + HEADER)]
            at += len(piece)
        data = inflating.decompress(piece, PIECE)
        made += len(data)
        if made > size or not (piece or data):
            raise ValueError("an object of the pack is not as large as it says")
    if made != size:
        raise ValueError("an object of the pack is not as large as it says")
    # What was read beyond it belongs to the next object.
    return at - len(inflating.unused_data)
