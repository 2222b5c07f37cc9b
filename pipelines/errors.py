"""Refusals. Small classes that have their message; `pipelines/api/problems.py` maps them to HTTP."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, TypeVar

from django.db.models import QuerySet

from pipelines.routing.basics.problems import Problem

Row = TypeVar("Row")


class Refused(Exception):
    """`says` is the message, unless a better one is given."""

    says: str = "This is not allowed."

    def __init__(self, detail: str = "") -> None:
        self.detail = detail or str(self.says)
        super().__init__(self.detail)


class NotFound(Refused):
    says = "Not found here."


def first_row_or_raise_not_found(rows: QuerySet[Any, Row], message: str = "") -> Row:
    """Return the first of these rows. Raises NotFound, with this message, where there is none."""
    row = rows.first()
    if row is None:
        raise NotFound(message)
    return row


class Forbidden(Refused):
    says = "You don’t have permission to do this."


class Conflict(Refused):
    """Conflict: something else changed first. `by` and `at` name who was first, where somebody was."""

    says = "Something else changed first. Check the current state."

    def __init__(self, detail: str = "", *, by: str = "", at: datetime | None = None) -> None:
        super().__init__(detail)
        self.by, self.at = by, at


class Purged(Conflict):
    says = "The retention of the project purged this."


class NotThisVisit(Conflict):
    """The vote names another gate visit than the one that is open now.

    `visit` and `evidence`: id and evidence digest of that visit; empty where none is open."""

    def __init__(
        self, detail: str, *, visit: str, evidence: str, by: str = "", at: datetime | None = None
    ) -> None:
        super().__init__(detail, by=by, at=at)
        self.visit, self.evidence = visit, evidence


class Invalid(Refused):
    """Refusal of malformed input. `problems` says where, and what to do."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(f"{p.path}: {p.message}" if p.path else p.message for p in self.problems))

    @classmethod
    def at(cls, path: str, message: str, hint: str = "") -> Invalid:
        return cls([Problem(path, message, hint)])

    @property
    def path(self) -> str:
        return self.problems[0].path

    @property
    def message(self) -> str:
        return self.problems[0].message


class InputError(Invalid):
    """The inputs do not fit the start form of the line."""
