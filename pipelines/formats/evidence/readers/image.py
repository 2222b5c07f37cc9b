"""Pictures that hold no markup, by their first bytes."""

from __future__ import annotations

from pipelines.formats.evidence.readers.report import ReadReport, UnreadableReport
from pipelines.routing.basics.file_signatures import LEAD, content_kind

KIND = "image"
PICTURES = frozenset(("png", "jpeg", "gif", "webp"))


def read_image(data: bytes) -> ReadReport:
    """Raises UnreadableReport."""
    if content_kind(data[:LEAD]) not in PICTURES:
        raise UnreadableReport("no PNG, JPEG, GIF or WebP picture")
    return ReadReport(KIND)
