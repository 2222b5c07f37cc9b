"""Problems of a document or a situation as values, the same for every user interface."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from pipelines.routing.basics import jsontext

_PLAIN_KEY = re.compile(r"[A-Za-z_@][A-Za-z0-9_-]*\Z")


@dataclass(frozen=True, slots=True)
class Problem:
    """Fault: `path` like `stations[2].rules[0].when.output.op`, 1-based `line` and `column` where known."""

    path: str
    message: str
    hint: str = ""
    line: int | None = None
    column: int | None = None

    def to_dict(self) -> dict[str, object]:
        place = {"line": self.line, "column": self.column} if self.line is not None else {}
        return {"path": self.path, "message": self.message, "hint": self.hint, **place}

    def __str__(self) -> str:
        place = f"line {self.line}, column {self.column}: " if self.line is not None else ""
        where = f"{self.path}: " if self.path else ""
        return f"{place}{where}{self.message}" + (f" ({self.hint})" if self.hint else "")


class DocumentError(ValueError):
    """The line document has problems; `problems` holds all of them, in the order of the document."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(map(str, self.problems)))


class Malformed(ValueError):
    """A value handed in from outside is not what it has to be; `path` names the place."""

    def __init__(self, path: str, message: str) -> None:
        self.path = path
        self.message = message
        super().__init__(f"{path}: {message}" if path else message)

    def to_dict(self) -> dict[str, str]:
        return {"path": self.path, "message": self.message}


def member_path(path: str, step: str | int) -> str:
    """The path of a member: `a.b`, `a[3]`, `a["odd key"]`."""
    if isinstance(step, int):
        return f"{path}[{step}]"
    if not _PLAIN_KEY.match(step):
        return f"{path}[{jsontext.quoted(step)}]"
    return f"{path}.{step}" if path else step
