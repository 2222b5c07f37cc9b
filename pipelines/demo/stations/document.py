"""agent-deliver: the text on standard input, as a file with its checksum."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

from . import archive, tree
from .report import Report, StationError, replace
from .text import count

DELIVERY = Path("delivery")


def main() -> Report:
    text = sys.stdin.buffer.read()
    if not text.strip():
        raise StationError("There is nothing to deliver: standard input is empty.", "empty")
    tree.remove(DELIVERY)
    DELIVERY.mkdir()
    document, manifest = DELIVERY / "report.md", DELIVERY / archive.MANIFEST
    replace(document, text)
    replace(manifest, archive.line(tree.Entry(b"report.md", hashlib.sha256(text).hexdigest(), len(text))))
    return Report(
        f"Delivered report.md: {count(len(text.splitlines()), 'line')}.",
        output={"document": document.name, "bytes": len(text)},
        artifacts=[archive.artifact(document, "text/markdown"), archive.artifact(manifest, "text/plain")],
    )
