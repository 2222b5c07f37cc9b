"""Drawings of the lines that ship with Gateline: a build has them drawn (config/draw_shipped.py), and what starts from
it asks no Node for them. Each lies in a file named by the digest of its picture, which covers the program that draws:
what another program drew is not found. It is checked as ever when it is stored."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pipelines.work.drawing import PROGRAM, Drawer

FOLDER = PROGRAM.with_name("shipped")
LOCK, STAMP = ".lock", ".gateline-stamp"
PROCESSES = 2
Drawing = Mapping[str, Any]


def is_drawn_at_set_up(digest: str) -> bool:
    return _file_of_drawing(digest).is_file()


def shipped_drawing_or_none(digest: str) -> Drawing | None:
    """Return what Node drew at set-up of the picture with this digest; None where it is no picture of a shipped line,
    or set-up drew none."""
    try:
        drawing: Drawing = json.loads(_file_of_drawing(digest).read_bytes())
    except FileNotFoundError:
        return None
    return drawing


def draw_missing_and_delete_others(
    pictures: Callable[[], Mapping[str, Mapping[str, Any]]], folder: Path, stamp: str
) -> int:
    """Draw the pictures that have no file in the folder yet, delete the files of others, and return how many were
    drawn. `pictures`: by their digests. `stamp`: what they were made of, as set-up knows it. :raises NotDrawn"""
    folder.mkdir(parents=True, exist_ok=True)
    with _exclusive_drawing(folder):
        pictures_by_digest = pictures()
        there = {path.stem: path for path in folder.glob("*.json")}
        for digest in there.keys() - pictures_by_digest.keys():
            there[digest].unlink()
        missing = [digest for digest in pictures_by_digest if digest not in there]
        with _drawing_functions() as draw, ThreadPoolExecutor(PROCESSES) as threads:

            def draw_into_file(digest: str) -> None:
                _write_atomically(folder / f"{digest}.json", json.dumps(draw(pictures_by_digest[digest])))

            list(threads.map(draw_into_file, missing))
        _write_atomically(folder / STAMP, stamp)
    return len(missing)


def _file_of_drawing(digest: str) -> Path:
    return FOLDER / f"{digest}.json"


@contextmanager
def _drawing_functions() -> Iterator[Callable[[Mapping[str, Any]], Drawing]]:
    """Yield what draws a picture, by as many processes as there are threads that call it."""
    idle = [Drawer() for _ in range(PROCESSES)]

    def draw(picture: Mapping[str, Any]) -> Drawing:
        drawer = idle.pop()
        try:
            return drawer.drawings_wide_and_narrow(picture)
        finally:
            idle.append(drawer)

    try:
        yield draw
    finally:
        for drawer in idle:
            drawer.stop()


@contextmanager
def _exclusive_drawing(folder: Path) -> Iterator[None]:
    with (folder / LOCK).open("w") as lock:
        # Freed when the process ends, however that comes about
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _write_atomically(path: Path, text: str) -> None:
    """Write a file that is there as a whole or not at all."""
    unfinished = path.with_suffix(".unfinished")
    unfinished.write_text(text)
    unfinished.replace(path)
