"""The language in which the heart speaks: English, until the application hands it a catalogue.

`routing` is pure, so it knows no Django. What runs inside the application says `speak_with(django.utils.translation)`
once, at its start; the decision tool and tests read the English source.
"""

from __future__ import annotations

from typing import Protocol


class Catalogue(Protocol):
    def gettext(self, message: str, /) -> str: ...

    def ngettext(self, singular: str, plural: str, number: int, /) -> str: ...


class _Source:
    """The texts as they stand in the source."""

    def gettext(self, message: str, /) -> str:
        return message

    def ngettext(self, singular: str, plural: str, number: int, /) -> str:
        return singular if number == 1 else plural


_catalogue: Catalogue = _Source()


def speak_with(catalogue: Catalogue) -> None:
    """Every sentence from now on in the language of whoever reads it, as this catalogue knows."""
    global _catalogue
    _catalogue = catalogue


def gettext(message: str) -> str:
    return _catalogue.gettext(message)


def ngettext(singular: str, plural: str, number: int) -> str:
    return _catalogue.ngettext(singular, plural, number)


def gettext_noop(message: str) -> str:
    """Mark a text of a table for `makemessages`; who shows it translates it."""
    return message
