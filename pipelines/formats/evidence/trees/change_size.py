"""The amount of a change, and from where on no person can read it (law §6)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

MOST_FILES: Final = 1_000
MOST_BYTES: Final = 4 * 1024 * 1024
"""Of the larger side of each changed file, all of them together."""
Entry = Mapping[str, Any]


def files_and_bytes_if_oversized(sides: Iterable[tuple[Entry | None, Entry | None]]) -> dict[str, int]:
    """{files, bytes} of changed files, each with its entries before and after, where it is more than a person can
    read; else empty."""
    sizes = [max(int(entry.get("size", 0)) if entry else 0 for entry in pair) for pair in sides]
    amount = {"files": len(sizes), "bytes": sum(sizes)}
    return amount if amount["files"] > MOST_FILES or amount["bytes"] > MOST_BYTES else {}
