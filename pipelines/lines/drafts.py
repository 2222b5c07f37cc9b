"""Saving a draft that somebody else changed meanwhile: disjoint edits are merged, clashes are a person's to settle.

Who is asked settles in the browser and saves what came of it, based on the draft that was shown: whatever was stored
after that is merged, or asked about, again. So nothing is ever overwritten that was not seen."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from django.db import transaction

from pipelines.errors import Conflict, Invalid
from pipelines.formats import native
from pipelines.formats.authorship import Noted
from pipelines.formats.line_merge import MergeConflict, is_same_value, merge_documents
from pipelines.lines import comments, publishing, scenarios
from pipelines.models import Line, User

TRIES = 3
"""Somebody who saves without pause does not keep others from saving for ever."""


class DraftClash(Conflict):
    """Conflict of two drafts that changed the same places: `clashes`; the stored draft is `line`."""

    def __init__(
        self, conflict: publishing.DraftConflict, line: Line, clashes: tuple[MergeConflict, ...]
    ) -> None:
        super().__init__(conflict.detail, by=conflict.by, at=conflict.at)
        self.line = line
        self.clashes = clashes


class OutdatedText(Exception):
    """Refusal: somebody else's edit was merged with this one, and the text that was sent does not express
    `document`, the merged draft, or lacks what somebody else typed. Nothing is stored. The sender merges the
    two texts and saves them over the stored `line`."""

    def __init__(self, line: Line, document: dict[str, Any]) -> None:
        super().__init__("the text does not say the merged document")
        self.line = line
        self.document = document


def save_or_merge_draft(
    line: Line,
    document: Mapping[str, Any],
    user: User,
    *,
    based_on: int,
    base: Mapping[str, Any],
    text: str = "",
    renamed: Sequence[tuple[str, str, str]] = (),
) -> Line:
    """Store `document`, which was made from `base`, the draft with the number `based_on`; over a newer draft, what is
    disjoint in both. `text`: what says the document, kept as it is. `renamed`: parts that have another key since
    `base`, (kind, key before, key now): comments on them and scenarios that name them go with them.
    Raises Forbidden, Invalid (path `text`: it does not say the document), DraftClash, OutdatedText, DraftConflict
    (others save again and again)."""
    number, proposed = based_on, document
    if text and not is_same_value(native.loads(text), document):
        raise Invalid.at("text", "does not match the document", "Reload the page.")
    for _ in range(TRIES - 1):
        try:
            return _store_draft(line, text or proposed, user, number, renamed)
        except publishing.DraftConflict as conflict:
            stored = Line.objects.select_related("project__owner", "draft_by", "live").get(pk=line.pk)
            # Always from where this person began: what a try before merged is no edit of theirs.
            merged = merge_documents(base, document, stored.draft)
            if merged.clashes:
                raise DraftClash(conflict, stored, merged.clashes) from conflict
            number, proposed = stored.draft_number, merged.document
            if _would_storing_text_lose_something(text, proposed, stored):
                raise OutdatedText(stored, proposed) from conflict
    # The last try: another conflict is the answer now.
    return _store_draft(line, text or proposed, user, number, renamed)


def _would_storing_text_lose_something(text: str, proposed: Mapping[str, Any], stored: Line) -> bool:
    """Return whether storing `text` would lose something: it does not express `proposed`, or somebody typed
    another text, whose comments no document shows."""
    # The other text may have comments, which no document shows
    if stored.draft_text and stored.draft_text != text:
        return True
    return bool(text) and not is_same_value(native.loads(text), proposed)


def _store_draft(
    line: Line,
    document: str | Mapping[str, Any],
    user: User,
    number: int,
    renamed: Sequence[tuple[str, str, str]],
) -> Line:
    if not renamed:
        return publishing.save_draft(line, document, user, number)
    # Comments and scenarios follow the new names with the draft, or not at all
    with transaction.atomic():
        saved = publishing.save_draft(line, document, user, number)
        keys = _last_key_by_first_key(renamed, set(_kinds_and_keys_of_parts(saved.draft)))
        comments.move_comments_to_new_keys(saved, keys)
        scenarios.rename_parts_in_scenarios(saved, keys)
    return saved


def _last_key_by_first_key(
    renamed: Iterable[tuple[str, str, str]], parts: Collection[tuple[str, str]]
) -> dict[tuple[str, str], str]:
    """Follow one rename after the other: {(kind, first key): last key} of parts that the draft has under the last and
    not under the first."""
    last_keys: dict[tuple[str, str], str] = {}
    for kind, before, after in renamed:
        # A → B and then B → C is A → C.
        first = next((key for (of, key), last in last_keys.items() if (of, last) == (kind, before)), before)
        last_keys[kind, first] = after
    return {
        (kind, first): last
        for (kind, first), last in last_keys.items()
        if (kind, last) in parts and (kind, first) not in parts
    }


def _kinds_and_keys_of_parts(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Kind and key of everything in a draft, which may be no line, that comments or scenarios name."""
    for station in _object_members(document, "stations"):
        yield "station", str(station.get("key"))
        for rule in _object_members(station, "rules"):
            yield "rule", str(rule.get("id"))
    for kind in ("gate", "end", "input"):
        for part in _object_members(document, f"{kind}s"):
            yield kind, str(part.get("key"))


def _object_members(of: Mapping[str, Any], name: str) -> Iterator[Mapping[str, Any]]:
    members = of.get(name)
    return (
        (member for member in members if isinstance(member, Mapping))
        if isinstance(members, list)
        else iter(())
    )


def authorship_dict(line: Line, since: int | None = None) -> dict[str, Any]:
    """Return the authorship of the draft: number, who saved it last and when; `people`: who changed it since
    the live version; `others`: who changed it after the draft with the number `since`."""
    last = _last_draft_by_person(line.draft_hands)
    names = {
        str(user.pk): str(user) for user in User.objects.filter(pk__in=[int(person_id) for person_id in last])
    }
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


def _last_draft_by_person(notes: Noted) -> dict[str, int]:
    """Return, for each person who is noted, the number of the draft that they changed last."""
    numbers: dict[str, int] = {}
    for hands in notes.values():
        for person, (number, _at) in hands.items():
            numbers[person] = max(numbers.get(person, 0), number)
    return numbers
