"""Later changes to the versions of a line: putting one back as the draft, giving one another name."""

from __future__ import annotations

from django.db import transaction

from pipelines import access
from pipelines.engine.core import payload
from pipelines.errors import Conflict, Invalid
from pipelines.formats.line_merge import is_same_value
from pipelines.lines import publishing, version_comparison
from pipelines.models import Line, LineEvent, LineVersion, User
from pipelines.ports import clock

NAME = 200


class NothingToRestore(Conflict):
    says = "The draft already has this content."


def restore_as_draft(line: Line, source: str, user: User, based_on: int) -> Line:
    """Make a draft of a version (its number) or of a draft that was put aside (`aside-<id>`). The present draft, where
    it holds anything that the live version does not, is put aside in its turn: nothing is lost, and restoring that one
    undoes this. `based_on`: the number of the draft that was shown.
    Raises Forbidden, NotFound, DraftConflict, NothingToRestore."""
    access.require_permission(user, "design", line.project)
    side = version_comparison.comparison_side(line, source)
    event = (
        version_comparison.event_of_draft_put_aside(line, source.removeprefix(version_comparison.ASIDE))
        if _names_draft_put_aside(source)
        else None
    )
    with transaction.atomic():
        stored = publishing.lock_line(line, based_on)
        if is_same_value(stored.draft, side.document):
            raise NothingToRestore
        # The present draft goes aside in its turn, so that nothing is lost
        aside = has_unpublished_changes(stored)
        LineEvent.objects.create(
            line=stored,
            kind=LineEvent.RecordKind.RESTORED,
            version=None if event else stored.versions.get(number=int(side.name)),
            by=user,
            at=clock.now(),
            data={
                "source": side.name,
                "draft": stored.draft_number,
                "by": str(stored.draft_by or ""),
                "saved": stored.draft_at.isoformat() if stored.draft_at else "",
                "writers": stored.draft_writers,
            },
            draft=stored.draft if aside else None,
            draft_text=stored.draft_text if aside else "",
        )
        text, writers = (event.draft_text, event.data.get("writers", ())) if event else ("", ())
        publishing.replace_draft(stored, side.document, text, user, writers)
    return stored


def has_unpublished_changes(line: Line) -> bool:
    """Return whether the draft holds anything that the live version does not: a document, or a text with its
    comments."""
    if line.live is None or line.draft_text:
        return True
    try:
        sides = (
            version_comparison.comparison_side(line, version_comparison.LIVE),
            version_comparison.comparison_side(line, version_comparison.DRAFT),
        )
        return bool(version_comparison.compare_documents(*sides).changes)
    except Invalid:
        # A draft that cannot be read is the document of no version.
        return True


def name_version(version: LineVersion, name: str, user: User) -> LineVersion:
    """Give a published version another name; "" takes it away. Raises Forbidden, Invalid (path `name`)."""
    access.require_permission(user, "design", version.line.project)
    payload.checked_text(name, "name", NAME)
    clean_name = name.strip()
    with transaction.atomic():
        stored = LineVersion.objects.select_for_update(of=("self",)).get(pk=version.pk)
        # A form that was saved as it was is no event
        if stored.name == clean_name:
            return stored
        LineEvent.objects.create(
            line=version.line,
            kind=LineEvent.RecordKind.NAMED,
            version=stored,
            by=user,
            at=clock.now(),
            data={"was": stored.name, "name": clean_name},
        )
        stored.name = clean_name
        stored.save(update_fields=["name"])
    return stored


def _names_draft_put_aside(source: str) -> bool:
    return source.startswith(version_comparison.ASIDE)
