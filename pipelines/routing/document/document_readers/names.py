"""Keys of a document: their form, and what they may refer to."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from pipelines.routing.basics.wording import PartName, people_text
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.document.document_readers.reader import Reader, expected_hint, quoted_value

KEY = re.compile(r"[a-z0-9][a-z0-9_.-]{0,63}\Z")
KEY_WORDS = "small letters, digits, _ . and -, beginning with a letter or digit, at most 64 characters"
MAX_ID = 128


Called = Mapping[str, object]
"""Keys in the order of the document, each with what people call it (`wording.people_text`)."""


@dataclass(frozen=True, slots=True, eq=False)
class Names:
    """Keys that a document declares, all collected before any reference is read."""

    stations: Called = field(default_factory=dict)
    ends: Called = field(default_factory=dict)
    gates: Called = field(default_factory=dict)
    rules: Called = field(default_factory=dict)
    agents: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Of stations that name one, by their keys."""

    @property
    def places(self) -> Called:
        """Possible targets of `to`."""
        return {**self.stations, **self.ends}

    @property
    def passable(self) -> Called:
        """Stations and gates: what a task can pass before something else."""
        return {**self.stations, **self.gates}

    @property
    def referable(self) -> Called:
        """Parts that a guarantee can refer to."""
        return {**self.places, **self.gates}


def quoted_name(names: Called, key: str) -> PartName:
    """Return the named part in quotes: by its key for machines, by its name for people."""
    return PartName(quoted_value(key), lambda: quoted_value(people_text(names.get(key, key))))


def read_key(reader: Reader, name: str = "key") -> str:
    key = reader.text(name, required=True)
    # An empty key was noted by `text` already.
    if key.strip() and not KEY.match(key):
        reader.note(name, _("%(key)s is not a key", key=quoted_value(key)), KEY_WORDS)
    return key


def read_id(reader: Reader, name: str = "id") -> str:
    """Read the id of a rule: any printable text without spaces, since dialects bring their own."""
    identifier = reader.text(name, required=True, longest=MAX_ID)
    if identifier.strip() and (not identifier.isprintable() or any(c.isspace() for c in identifier)):
        reader.note(name, "an id has no spaces and only printable characters")
    return identifier


def note_unknown_reference(
    reader: Reader, key: str, value: str | None, known: Collection[str], what: str
) -> None:
    """Note a reference to something that the line does not have."""
    if value and value not in known:
        reader.note(key, unknown_reference_message(what, value), expected_hint(value, known))


def unknown_reference_message(what: str, value: str) -> _:
    """Return the message about a field that refers to something that the line does not have. People read it
    after the name of the field."""
    machine = _("the line has no %(what)s %(value)s", what=what, value=quoted_value(value))
    return _.of(
        machine, _("cannot be %(value)s: the line has no such %(what)s", value=quoted_value(value), what=what)
    )


def note_duplicates(
    reader: Reader, key: str, values: Collection[str], what: str, names: Called | None = None
) -> None:
    """Note each value that stands more than once; `values` in the order of the list under `key`, which `names` says by
    name to people."""
    earlier: set[str] = set()
    for index, value in enumerate(values):
        if value and value in earlier:
            reader.problems.note(
                f"{reader.path_of(key)}[{index}]",
                _("%(what)s %(value)s appears twice", what=what, value=quoted_name(names or {}, value)),
            )
        earlier.add(value)
