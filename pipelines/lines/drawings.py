"""Stored drawings: requested by pages and by publishing, drawn by the queue, found by what is in the picture."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import Any

import structlog
from django.db import transaction
from django.utils import timezone

from pipelines.errors import Conflict, NotFound, first_row_or_raise_not_found
from pipelines.formats.drawings import NotTheDrawing, check_document_parts_are_placed_once, checked_svg
from pipelines.lines.shipped_drawings import is_drawn_at_set_up, shipped_drawing_or_none
from pipelines.models import Drawing, Line, Project
from pipelines.ports import queue
from pipelines.ports.queue_tasks import DRAW, DRAWINGS
from pipelines.work.drawing import PROGRAM, Drawer, NotDrawn, path_of_node_program_or_empty

log = structlog.get_logger(__name__)
UNUSED = timedelta(days=30)
DAY = timedelta(days=1)
AT_ONCE = 200
RETRY_SECONDS = 60.0
FRAMES = ("wide", "narrow")
NOT_REQUESTED = "No page asked for this drawing. Reload the page."
DRAWN_SOON = "This line is being drawn. Try again in a few seconds."
DRAWN_BY_BROWSER = (
    "This server has no Node to draw with. Open the line in a browser as a designer, which then draws it."
)
DRAWER = Drawer()
"""Of this process: it holds no Node while nothing is drawn."""
_requested: dict[tuple[int | None, str], float] = {}


@dataclass(frozen=True, slots=True)
class StoredDrawing:
    """`geometry`: `{wide, narrow}` for the script; the same as SVG, which is inert."""

    digest: str
    geometry: Mapping[str, Any]
    wide: str
    narrow: str


def stored_drawing_or_request(
    project_id: int | None, picture: Mapping[str, Any], line_id: int | None = None
) -> StoredDrawing | None:
    """Return the drawing of a picture; None where there is none yet, which is then drawn. `project_id`: None for what
    ships with Gateline. `line_id`: the line that lists show by it."""
    digest = picture_digest(picture)
    stored = _drawing_or_none(project_id, digest)
    if stored is None and is_drawn_at_set_up(digest):
        draw_unless_drawn(project_id, picture, line_id)
        stored = _drawing_or_none(project_id, digest)
    if stored is None:
        _request_drawing(project_id, digest, picture, line_id)
    return stored


def draw_for_lists(line: Line, picture: Mapping[str, Any]) -> None:
    """Draw what lists show of the line from now on, unless it is drawn already."""
    draw_unless_drawn(line.project_id, picture, line.pk)


def draw_unless_drawn(project_id: int | None, picture: Mapping[str, Any], line_id: int | None = None) -> None:
    """Draw a picture, unless it is drawn already. `line_id`: the line that lists show by it."""
    row = _get_or_create_row(project_id, picture_digest(picture), picture, line_id)
    draw_if_pending(row.pk)


def find_drawing(project: Project, digest: str) -> StoredDrawing:
    """Return the drawing with this digest. :raises NotFound: the project has none, or it is not drawn yet"""
    stored = _drawing_or_none(project.pk, digest)
    if stored is None:
        raise NotFound
    return stored


def picture_digest(picture: Mapping[str, Any]) -> str:
    """Return the digest of everything that the drawing of a picture depends on."""
    # A build moves the icons, which the script shows and no drawing has
    drawn = {**picture, "icons": ""}
    return hashlib.sha256(
        json.dumps([_program_digest_or_empty(), drawn], sort_keys=True).encode()
    ).hexdigest()


def draw_if_pending(drawing_id: int) -> None:
    """Draw what is not drawn yet, where it is a shipped line or there is a Node."""
    row = Drawing.objects.filter(pk=drawing_id, wide="").first()
    if row is None:
        return
    shipped = shipped_drawing_or_none(row.digest)
    if not shipped and not path_of_node_program_or_empty():
        return
    try:
        store_drawing(row, shipped or DRAWER.drawings_wide_and_narrow(row.picture))
    except (NotDrawn, NotTheDrawing) as error:
        log.warning("line_not_drawn", drawing=row.pk, error=str(error))
        # Not again: it would fail as it did.
        Drawing.objects.filter(pk=row.pk).update(geometry={"error": str(error)})


def store_drawing(row: Drawing, drawing: Mapping[str, Any]) -> None:
    """Keep what was drawn for the picture of this row. :raises NotTheDrawing: it is another line's, or not inert"""
    svg, geometry = {}, {}
    for frame in FRAMES:
        try:
            svg[frame] = checked_svg(drawing[frame]["svg"], row.picture)
            geometry[frame] = drawing[frame]["geometry"]
            check_document_parts_are_placed_once(geometry[frame]["placed"], row.picture)
        except NotTheDrawing as fault:
            fault.place = frame
            raise
    Drawing.objects.filter(pk=row.pk, wide="").update(geometry=geometry, picture={}, **svg)


def store_drawing_of_browser(project: Project, digest: str, drawing: Mapping[str, Any]) -> None:
    """Keep what a browser drew because no Node runs here. :raises NotFound: no page asked for it; Conflict: it is
    drawn, or the server draws it; NotTheDrawing"""
    row = first_row_or_raise_not_found(Drawing.objects.filter(project=project, digest=digest), NOT_REQUESTED)
    if row.wide:
        raise Conflict("This line is drawn already. Reload the page.")
    if path_of_node_program_or_empty():
        raise Conflict("This server draws lines itself. Reload the page in a moment.")
    store_drawing(row, drawing)


def pending_reason(project_id: int, picture: Mapping[str, Any]) -> str:
    """Return why a picture is not drawn yet, and what to do."""
    row = Drawing.objects.filter(project=project_id, digest=picture_digest(picture)).first()
    if row and row.geometry:
        return f"This line cannot be drawn on the server: {row.geometry['error']}"
    return DRAWN_SOON if path_of_node_program_or_empty() else DRAWN_BY_BROWSER


def delete_some_unused_drawings(now: datetime) -> int:
    """Delete some of those that no page used for a month, and no list shows; how many."""
    old = (
        Drawing.objects.filter(used_at__lt=now - UNUSED, lines=None)
        .order_by("used_at")
        .values("pk")[:AT_ONCE]
    )
    return Drawing.objects.filter(pk__in=old).delete()[0]


@lru_cache(maxsize=1)
def _program_digest_or_empty() -> str:
    return hashlib.sha256(PROGRAM.read_bytes()).hexdigest() if PROGRAM.is_file() else ""


def _drawing_or_none(project_id: int | None, digest: str) -> StoredDrawing | None:
    try:
        return _cached_drawing(project_id, digest, timezone.now().date())
    except Drawing.DoesNotExist:
        return None


# A drawing never changes; a miss is an exception, which is not cached. By the day, so that its use is recorded.
@lru_cache(maxsize=128)
def _cached_drawing(project_id: int | None, digest: str, _day: date) -> StoredDrawing:
    row = Drawing.objects.exclude(wide="").defer("picture").get(project=project_id, digest=digest)
    now = timezone.now()
    if row.used_at < now - DAY:
        Drawing.objects.filter(pk=row.pk).update(used_at=now)
    return StoredDrawing(digest, row.geometry, row.wide, row.narrow)


def _request_drawing(
    project_id: int | None, digest: str, picture: Mapping[str, Any], line_id: int | None
) -> None:
    """Have it drawn. A process asks once a minute: the ticket may be lost, or still wait."""
    now = time.monotonic()
    if now - _requested.get((project_id, digest), -RETRY_SECONDS) < RETRY_SECONDS:
        return
    # Else the table would grow as long as the process lives
    for key in [key for key, at in _requested.items() if now - at >= RETRY_SECONDS]:
        _requested.pop(key, None)
    _requested[project_id, digest] = now
    with transaction.atomic():
        row = _get_or_create_row(project_id, digest, picture, line_id)
        # Another process may have drawn it since
        if not row.wide and not row.geometry:
            queue.enqueue_queue_jobs(DRAW, DRAWINGS, {"drawing_id": row.pk})


def _get_or_create_row(
    project_id: int | None, digest: str, picture: Mapping[str, Any], line_id: int | None
) -> Drawing:
    row, _ = Drawing.objects.get_or_create(
        project_id=project_id,
        digest=digest,
        defaults={"picture": picture, "used_at": timezone.now()},
    )
    if line_id is not None:
        Line.objects.filter(pk=line_id).update(drawing=row)
    return row
