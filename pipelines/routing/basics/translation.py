"""The language in which the heart speaks: English, until the application hands it a catalogue.

`routing` is pure, so it knows no Django. What runs inside the application says `speak_with(django.utils.translation)`
once, at its start; the decision tool and tests read the English source, and so does what is kept for machines.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
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


_SOURCE: Catalogue = _Source()
_catalogue: Catalogue = _SOURCE
_english: ContextVar[bool] = ContextVar("english", default=False)


def speak_with(catalogue: Catalogue) -> None:
    """Every sentence from now on in the language of whoever reads it, as this catalogue knows."""
    global _catalogue
    _catalogue = catalogue


@contextmanager
def in_english() -> Iterator[None]:
    """Within it the source is spoken, whoever reads: what is remembered, digested or handed to machines."""
    token = _english.set(True)
    try:
        yield
    finally:
        _english.reset(token)


def gettext(message: str) -> str:
    return _spoken().gettext(message)


def ngettext(singular: str, plural: str, number: int) -> str:
    return _spoken().ngettext(singular, plural, number)


def _spoken() -> Catalogue:
    return _SOURCE if _english.get() else _catalogue


def gettext_noop(message: str) -> str:
    """Mark a text of a table for `makemessages`; who shows it translates it."""
    return message
