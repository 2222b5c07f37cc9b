"""Ends: the terminals of a line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.basics.wording import people_text
from pipelines.routing.document.document_readers.reader import Reader, quoted_value
from pipelines.routing.document.fields.field import ReadContext, declared_field
from pipelines.routing.document.fields.plain_fields import Choice, Key, Text, extra_members
from pipelines.routing.document.fields.record import Record

BUILT_IN_ENDS: Final = {"completed": "completed", "failed": "failed", "cancelled": "cancelled"}
"""Those that exist in every line, with their kinds."""
KINDS: Final = {"completed": "Completed", "failed": "Failed", "cancelled": "Cancelled"}


ALWAYS, FEEDBACK = "always", "feedback"
FOLLOW_UPS: Final = {
    "": "Nothing: a person starts what follows",
    ALWAYS: "A follow-up task, always",
    FEEDBACK: "A follow-up task, if the last station left feedback",
}
"""What a task that ends there starts by itself: a new task of the line, linked to it."""


def end_label(key: str, label: str) -> str:
    """Labels are kept in capitals in documents and logs; people read them as words."""
    label = label or key
    if key == label.lower() and key in KINDS:
        return people_text(KINDS[key])
    return label.replace("_", " ").capitalize() if label.isupper() or label == key else label


@dataclass(frozen=True)
class End:
    key: str = declared_field(
        Key(label="Key", help="Rules name the end so. What leads here follows a new key."), required=True
    )
    kind: str = declared_field(
        Choice(KINDS, required=True, default="completed", label="The task has"), required=True
    )
    label: str = declared_field(
        Text(label="Label", help="What a task is called that ends here, like DEPLOYED or ROLLED_BACK.")
    )
    follow_up: str = declared_field(
        Choice(
            FOLLOW_UPS,
            default="",
            label="Starts then",
            help="The new task begins at the first station, with the inputs of this one and its feedback.",
        )
    )
    extra: Mapping[str, Any] = declared_field(extra_members())


def _note_end_problems(reader: Reader, context: ReadContext) -> None:
    key, kind = reader.values["key"], reader.values["kind"]
    if reader.values["follow_up"] and kind == "cancelled":
        reader.note("follow_up", "nothing follows what was cancelled", "leave the key out")
    # A rule may lead there without its declaration: the kind is that of the law
    if reader.has("kind") and BUILT_IN_ENDS.get(key, kind) != kind:
        reader.note(
            "kind",
            _(
                "the end %(key)s exists always and is %(kind)s",
                key=quoted_value(key),
                kind=BUILT_IN_ENDS[key],
            ),
        )


END: Final = Record.of(End, name="end", check=_note_end_problems)
