"""Failures that end a command early. Each has an exit code of its own, so that a script can distinguish them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum


class ExitCode(IntEnum):
    """The exit codes of every command (docs/command-line.md)."""

    OK = 0
    NO = 1
    USAGE = 2
    SIGN_IN = 3
    FORBIDDEN = 4
    NOT_FOUND = 5
    CONFLICT = 6
    INVALID = 7
    UNREACHABLE = 8
    CANCELLED = 9
    WAITS = 10
    INTERRUPTED = 130


@dataclass(frozen=True)
class FaultPlace:
    """Place of one fault: where, what, and what to do about it."""

    message: str
    path: str = ""
    hint: str = ""
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        where = f"line {self.line}, column {self.column}: " if self.line else ""
        path = f"{self.path}: " if self.path else ""
        hint = f" · {self.hint}" if self.hint else ""
        return f"{where}{path}{self.message}{hint}"


class CommandFailure(Exception):
    """Ends the command. `remedy`: what to do about it; `places`: where something is wrong."""

    code = ExitCode.NO

    def __init__(self, message: str, remedy: str = "", places: Sequence[FaultPlace] = ()) -> None:
        self.message, self.remedy, self.places = message, remedy, tuple(places)
        super().__init__(message)


class UsageFailure(CommandFailure):
    """Usage failure: the typed command makes no sense."""

    code = ExitCode.USAGE


class SignInFailure(CommandFailure):
    """There is no profile or token, or the server does not know the token (401)."""

    code = ExitCode.SIGN_IN


class ForbiddenFailure(CommandFailure):
    """403"""

    code = ExitCode.FORBIDDEN


class NotFoundFailure(CommandFailure):
    """404, or nothing of what was listed has this name."""

    code = ExitCode.NOT_FOUND


class ConflictFailure(CommandFailure):
    """409: something else happened first. `problem`: the whole answer."""

    code = ExitCode.CONFLICT

    def __init__(
        self,
        message: str,
        remedy: str = "",
        places: Sequence[FaultPlace] = (),
        problem: dict[str, object] | None = None,
    ) -> None:
        super().__init__(message, remedy, places)
        self.problem = problem or {}


class InvalidFailure(CommandFailure):
    """400, 422: what was sent is wrong, at its places."""

    code = ExitCode.INVALID


class UnreachableFailure(CommandFailure):
    """Nobody answers there, it is no Gateline server, or it is busy (429, 5xx)."""

    code = ExitCode.UNREACHABLE
