"""A sentence that machines read with keys and people with names: findings and differences are made of these.

What is found is remembered, digested and handed out by the API, so it is a string with the keys of the document. A page
says the same by `people_text`, with names in place of keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass


class Wording(str):
    """A template and the values that fill it. Its text has the keys of parts."""

    __slots__ = ("template", "values")

    template: str
    values: dict[str, object]

    def __new__(cls, template: str, /, **values: object) -> Wording:
        # Without values a percent sign stands for itself.
        text = super().__new__(cls, template % values if values else template)
        text.template, text.values = template, values
        return text

    @classmethod
    def of(cls, machine: str, people: str) -> Wording:
        """Return a text with one sentence for machines and another for people."""
        text = super().__new__(cls, machine)
        filled = people if isinstance(people, Wording) else cls(people)
        text.template, text.values = filled.template, filled.values
        return text

    def __str__(self) -> str:
        """Itself, so that it stays one as the message of an exception."""
        return self

    def people_text(self) -> str:
        values = {key: people_text(value) for key, value in self.values.items()}
        return self.template % values if values else self.template


@dataclass(frozen=True, slots=True)
class PartName:
    """A value that people know by another name than the document: `key` for machines, `name_for_people` for people."""

    key: str
    name_for_people: Callable[[], str]

    def __str__(self) -> str:
        return self.key

    def people_text(self) -> str:
        return self.name_for_people()


def people_text(value: object) -> str:
    """Return the text of a value for people; a value without one as it is."""
    return value.people_text() if isinstance(value, Wording | PartName) else str(value)


def joined_wording(values: Iterable[object], between: str) -> PartName:
    """Join the values in order. `between`: a separator, or a Wording."""
    parts = list(values)
    return PartName(between.join(map(str, parts)), lambda: people_text(between).join(map(people_text, parts)))


def percent_text(percent: float, places: int = 1) -> str:
    """Write a share of a hundred as `85%` or `66.7%`."""
    return f"{round(percent, places):g}%"


def as_sentence(value: object) -> str:
    """Return the text for people with a capital at the start and a full stop at the end."""
    sentence = as_heading(value)
    return sentence if not sentence or sentence[-1] in ".!?…:" else f"{sentence}."


def as_heading(value: object) -> str:
    """Return the text for people with a capital at the start."""
    heading = people_text(value).strip()
    return heading[:1].upper() + heading[1:]
