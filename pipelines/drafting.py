"""Saving a draft that somebody else changed meanwhile: disjoint edits are merged, clashes are a person's to settle."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pipelines import publishing
from pipelines.errors import Conflict, Invalid
from pipelines.formats import native
from pipelines.formats.merging import Clash, Merged, merge
from pipelines.formats.telling import says
from pipelines.models import Line, User

Prefer = Literal["mine", "theirs"]
TRIES = 3
"""Somebody who saves without pause does not keep others from saving for ever."""


class DraftClash(Conflict):
    """Both changed the same places: `clashes`; the stored draft is `line`."""

    def __init__(self, conflict: publishing.DraftConflict, line: Line, clashes: tuple[Clash, ...]) -> None:
        super().__init__(conflict.detail, by=conflict.by, at=conflict.at)
        self.line = line
        self.clashes = clashes


class TextBehind(Exception):
    """Somebody else's edit was put together with this one, and nothing is stored yet: the text that was sent does not
    say `document`, the two together. Who sent it writes it into the text, and saves that over the stored `line`."""

    def __init__(self, line: Line, document: dict[str, Any]) -> None:
        super().__init__("the text does not say the merged document")
        self.line = line
        self.document = document


def save(
    line: Line,
    document: Mapping[str, Any],
    user: User,
    *,
    based_on: int,
    base: Mapping[str, Any],
    prefer: Prefer | None = None,
    text: str = "",
) -> Line:
    """Store `document`, which was made from `base`, the draft with the number `based_on`; over a newer draft, what is
    disjoint in both. `prefer`: whose word counts where both changed the same place. `text`: what says the document,
    kept as it is.
    Raises Forbidden, Invalid (path `text`: it does not say the document), DraftClash (without `prefer`), TextBehind,
    DraftConflict (others save again and again)."""
    number, wanted = based_on, document
    if text and not says(native.loads(text), document):
        raise Invalid.at("text", "does not say the same as the document", "Load the page again.")
    for _ in range(TRIES - 1):
        try:
            return publishing.save_draft(line, text or wanted, user, number)
        except publishing.DraftConflict as conflict:
            stored = Line.objects.select_related("project__owner", "draft_by").get(pk=line.pk)
            merged = merge(base, document, stored.draft)
            if merged.clashes and prefer is None:
                raise DraftClash(conflict, stored, merged.clashes) from conflict
            wanted = _settled(merged, base, document, stored.draft, prefer)
            if text and not says(native.loads(text), wanted):
                raise TextBehind(stored, wanted) from conflict
            number = stored.draft_number
    return publishing.save_draft(line, text or wanted, user, number)


def _settled(
    merged: Merged,
    base: Mapping[str, Any],
    document: Mapping[str, Any],
    stored: Mapping[str, Any],
    prefer: Prefer | None,
) -> dict[str, Any]:
    """`merge` leaves the second side's word where both changed the same place."""
    return merge(base, stored, document).document if prefer == "mine" else merged.document
