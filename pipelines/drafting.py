"""Saving a draft that somebody else changed meanwhile: disjoint edits are merged, clashes are a person's to settle.

Who is asked settles in the browser and saves what came of it, based on the draft that was shown: whatever was stored
after that is merged, or asked about, again. So nothing is ever overwritten that was not seen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pipelines import publishing
from pipelines.errors import Conflict, Invalid
from pipelines.formats import native
from pipelines.formats.authorship import Noted
from pipelines.formats.merging import Clash, merge
from pipelines.formats.telling import says
from pipelines.models import Line, User

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
    text: str = "",
) -> Line:
    """Store `document`, which was made from `base`, the draft with the number `based_on`; over a newer draft, what is
    disjoint in both. `text`: what says the document, kept as it is.
    Raises Forbidden, Invalid (path `text`: it does not say the document), DraftClash, TextBehind, DraftConflict (others
    save again and again)."""
    number, wanted = based_on, document
    if text and not says(native.loads(text), document):
        raise Invalid.at("text", "does not say the same as the document", "Load the page again.")
    for _ in range(TRIES - 1):
        try:
            return publishing.save_draft(line, text or wanted, user, number)
        except publishing.DraftConflict as conflict:
            stored = Line.objects.select_related("project__owner", "draft_by", "live").get(pk=line.pk)
            merged = merge(base, document, stored.draft)
            if merged.clashes:
                raise DraftClash(conflict, stored, merged.clashes) from conflict
            number, wanted = stored.draft_number, merged.document
            if text and not says(native.loads(text), wanted):
                raise TextBehind(stored, wanted) from conflict
    return publishing.save_draft(line, text or wanted, user, number)


def told(line: Line, since: int | None = None) -> dict[str, Any]:
    """Whose draft it is: its number, who saved it last and when, `people`: who has changed it since the live version.
    `others`: who has after the draft with the number `since`."""
    last = _last(line.draft_hands)
    names = {str(user.pk): str(user) for user in User.objects.filter(pk__in=[int(each) for each in last])}
    in_order = sorted((number, person) for person, number in last.items() if person in names)
    by = line.draft_by
    return {
        "number": line.draft_number,
        "by": {"id": by.pk, "name": str(by)} if by else None,
        "at": line.draft_at.isoformat() if line.draft_at else None,
        "live": line.live.number if line.live else None,
        "people": [names[person] for _, person in in_order],
        "others": [names[person] for number, person in in_order if since is not None and number > since],
    }


def _last(notes: Noted) -> dict[str, int]:
    """Of each person who is noted, the number of the draft that they changed last."""
    found: dict[str, int] = {}
    for hands in notes.values():
        for person, (number, _at) in hands.items():
            found[person] = max(found.get(person, 0), number)
    return found
