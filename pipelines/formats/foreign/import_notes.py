"""ImportNotes of one import, into which every reader of another system's document writes: keys, losses and
faults."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from typing import Any

from pipelines.routing.basics import jsontext
from pipelines.routing.basics.problems import Problem
from pipelines.routing.basics.values import whole_number_or_none
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.document import templates

Json = dict[str, Any]
# The built-in ends, whose names no station may take
RESERVED = ("completed", "failed", "cancelled")
_UNFIT = re.compile(r"[^a-z0-9_.]+")
_PLACE = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
MOST_LOSSES = 500
"""Nobody reads more; each is compared with those before."""
MAX_KEY = 48
"""Shorter than a key may be: a number is added where two are alike."""


@dataclass
class KeyPool:
    """Keys that are used, each once."""

    used_keys: set[str]
    _numbers: dict[str, int] = field(default_factory=dict)

    def claim(self, stem: str) -> str:
        """Return `stem`, else `stem-2`, `stem-3` …: the first that is free, which is used then."""
        key, number = stem, self._numbers.get(stem, 2)
        while key in self.used_keys:
            key, number = f"{stem}-{number}", number + 1
        # Numbers below were used already: thousands of one name would be tried again and again
        self._numbers[stem] = number
        self.used_keys.add(key)
        return key


@dataclass
class ImportNotes:
    """Collector of what one import finds, into which every reader of another system's document writes.
    `losses`: what the native document cannot say, or says differently; with `faults` there is no line. Both
    have their paths in the document that is read."""

    losses: list[Problem] = field(default_factory=list)
    faults: list[Problem] = field(default_factory=list)
    _keys: KeyPool = field(default_factory=lambda: KeyPool(set(RESERVED)))
    _rule_ids: KeyPool = field(default_factory=lambda: KeyPool(set()))
    _gate_keys: KeyPool = field(default_factory=lambda: KeyPool(set()))

    def note_loss(self, path: str, message: Any, hint: Any = "") -> None:
        lost = Problem(path, message, hint)
        if len(self.losses) < MOST_LOSSES and lost not in self.losses:
            self.losses.append(lost)
            if len(self.losses) == MOST_LOSSES:
                self.losses.append(Problem("", "more is different than is told here"))

    def note_fault(self, path: str, message: Any, hint: Any = "") -> None:
        self.faults.append(Problem(path, message, hint))

    def whole_number_or_loss(self, value: Any, path: str, least: int = 1, most: int = 10**9) -> int | None:
        """Return a whole number, None where nothing is said. Whatever else is said counts for nothing, which is
        listed."""
        number = whole_number_or_none(value)
        if number is not None and least <= number <= most:
            return number
        if value not in (None, ""):
            self.note_loss(
                path,
                _(
                    "%(value)s counts for nothing here: it has to be a whole number from %(least)s to %(most)s",
                    value=shortened_json(value),
                    least=least,
                    most=most,
                ),
            )
        return None

    def texts_or_loss(self, value: Any, path: str) -> list[str]:
        """Return a list of texts. A text alone is a list of one; what is no list of texts is listed."""
        members = value if isinstance(value, list) else [value] if isinstance(value, str) and value else []
        texts = [str(member) for member in members if isinstance(member, str | int)]
        if len(texts) < len(members) or (value and not members):
            self.note_loss(path, _("%(value)s is no list of texts", value=shortened_json(value)))
        return texts

    def object_or_loss(self, value: Any, path: str) -> Mapping[str, Any]:
        """Return an object. Whatever else is said counts for nothing, which is listed."""
        if isinstance(value, Mapping):
            return value
        if value:
            self.note_loss(
                path, _("%(value)s is no object, so nothing of it is read", value=shortened_json(value))
            )
        return {}

    def claim_key(self, name: Any, otherwise: str) -> str:
        """A free key for a station or an end, from its name or id."""
        return self._keys.claim(key_slug(name, otherwise))

    def claim_rule_id(self, name: Any, otherwise: str) -> str:
        return self._rule_ids.claim(key_slug(name, otherwise))

    def claim_gate_key(self, name: Any, otherwise: str) -> str:
        return self._gate_keys.claim(key_slug(name, otherwise))

    def escaped_template(self, path: str, text: Any) -> str:
        """`text` as a template; places that this system would not understand stay as they are written."""
        if not isinstance(text, str):
            if text:
                self.note_loss(path, _("%(value)s is no text, so it is left out", value=shortened_json(text)))
            return ""

        def escaped_placeholder(match: re.Match[str]) -> str:
            try:
                templates.placeholder_names(match[0])
            except ValueError:
                self.note_loss(
                    path,
                    _(
                        "Gateline does not fill in “%(place)s”: it stays as text",
                        place=match[0][:80],
                    ),
                )
                # A template that gives two braces; what follows them is text then.
                return '{{"{{"}}' + match[1] + "}}"
            return match[0]

        # Behind the last end of a place none is looked for: each beginning would look through all of the rest.
        end = text.rfind("}}") + 2
        return _PLACE.sub(escaped_placeholder, text[:end]) + text[end:]


def key_slug(name: Any, otherwise: str) -> str:
    """`name` as a key; `otherwise` where nothing of it can be in one."""
    text = _UNFIT.sub("-", str(name).lower() if isinstance(name, str | int) else "")
    # Stripped once more: the cut may leave a hyphen or a dot at the end.
    return text.strip("-._")[:MAX_KEY].rstrip("-._") or otherwise


def shortened_json(value: Any) -> str:
    """Return the value as it stands in the document, cut."""
    return jsontext.dumps(value)[:80]


def text_or_none(value: Any) -> str | None:
    """Return the value if it may be a word of a closed list."""
    return value if isinstance(value, str) else None


def note_repeated_ids(parts: list[tuple[str, Mapping[str, Any]]], import_notes: ImportNotes) -> None:
    """Refuse parts whose id another one has: nothing that names it could be told apart."""
    identities: set[str] = set()
    for place, part in parts:
        identity = str(part.get("id"))
        if identity in identities:
            message = _("%(id)s is there twice", id=shortened_json(part.get("id")))
            import_notes.note_fault(f"{place}.id", message, "give each an id of its own")
        identities.add(identity)


def unread_parts(part: Mapping[str, Any], read: Container[str]) -> Json:
    """Return the parts that a reader does not read, under `extra`: an export writes them back."""
    rest = {key: value for key, value in part.items() if key not in read and value not in (None, "", [], {})}
    return {"extra": rest} if rest else {}


def objects_in_list(import_notes: ImportNotes, value: Any, path: str) -> list[tuple[str, Mapping[str, Any]]]:
    """The objects of a list with their places; anything else is refused."""
    if value is None:
        return []
    if not isinstance(value, list):
        import_notes.note_fault(path, "has to be a list")
        return []
    members = []
    for index, member in enumerate(value):
        if isinstance(member, Mapping):
            members.append((f"{path}[{index}]", member))
        else:
            import_notes.note_fault(f"{path}[{index}]", "has to be an object")
    return members


def manual_work(import_notes: ImportNotes, path: str, name: str, by: Any, instructions: str) -> Json:
    """Imported work runs nothing until somebody chooses what does it."""
    if by:
        import_notes.note_loss(
            path,
            _(
                "%(name)s is a manual station until you choose an agent or a command; the original uses %(by)s",
                name=name,
                by=str(by)[:80],
            ),
        )
    return {"kind": "manual", **({"instructions": instructions} if instructions else {})}
