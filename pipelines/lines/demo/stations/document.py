"""agent-deliver: the text on standard input, as a file with its checksum."""

from __future__ import annotations

import sys
from pathlib import Path

from .report import StationError, StationReport, artifact_description_of_file, write_without_following_link
from .text import number_and_noun

DELIVERY = Path("delivery")


def main() -> StationReport:
    text = sys.stdin.buffer.read()
    if not text.strip():
        raise StationError("There is nothing to deliver: standard input is empty.", "empty")
    DELIVERY.mkdir(exist_ok=True)
    document, manifest = DELIVERY / "report.md", DELIVERY / "MANIFEST.sha256"
    write_without_following_link(document, text)
    delivered = artifact_description_of_file(document, "text/markdown")
    write_without_following_link(manifest, f"{delivered['sha256']}  {document.name}\n".encode())
    return StationReport(
        f"Delivered {document.name}: {number_and_noun(len(text.splitlines()), 'line')}.",
        output={"document": document.name, "bytes": len(text)},
        artifacts=[delivered, artifact_description_of_file(manifest, "text/plain")],
    )
