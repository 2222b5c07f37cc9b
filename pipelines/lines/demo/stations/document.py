"""agent-deliver: the text on standard input, as a file with its checksum."""

from __future__ import annotations

import sys
from pathlib import Path

from .report import StationError, StationReport, artifact, replace
from .text import count

DELIVERY = Path("delivery")


def main() -> StationReport:
    text = sys.stdin.buffer.read()
    if not text.strip():
        raise StationError("There is nothing to deliver: standard input is empty.", "empty")
    DELIVERY.mkdir(exist_ok=True)
    document, manifest = DELIVERY / "report.md", DELIVERY / "MANIFEST.sha256"
    replace(document, text)
    delivered = artifact(document, "text/markdown")
    replace(manifest, f"{delivered['sha256']}  {document.name}\n".encode())
    return StationReport(
        f"Delivered {document.name}: {count(len(text.splitlines()), 'line')}.",
        output={"document": document.name, "bytes": len(text)},
        artifacts=[delivered, artifact(manifest, "text/plain")],
    )
