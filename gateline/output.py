"""Output of commands: for people with colours where there is a terminal, for programs as JSON.

Results go to standard output, everything else to standard error: a result can be piped. NO_COLOR,
TERM=dumb and a pipe take the colours away (rich sees to it), and without a terminal nothing is drawn anew.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from gateline.failures import CommandFailure, ConflictFailure, ExitCode, UsageFailure

WIDEST = 10_000
console = Console(
    highlight=False, soft_wrap=not sys.stdout.isatty(), width=None if sys.stdout.isatty() else WIDEST
)
"""Without a terminal nothing is cut to its width."""
errors = Console(stderr=True, highlight=False, soft_wrap=not sys.stderr.isatty())


class OutputState:
    """State for the whole run of one command."""

    json: bool = False


def _switch_json_output_on(value: bool) -> bool:
    OutputState.json = OutputState.json or value
    return value


Json = Annotated[
    bool,
    typer.Option("--json", callback=_switch_json_output_on, is_eager=True, help="Print JSON, for programs."),
]
"""The option that every command has."""


def print_json(value: object) -> None:
    """Print one JSON value, indented for a person who looks and readable for every program."""
    sys.stdout.write(_escaped_json(json.dumps(value, indent=2, ensure_ascii=False)) + "\n")


def print_json_line(value: object) -> None:
    """Print one of several JSON values, each on a line of its own, at once."""
    sys.stdout.write(_escaped_json(json.dumps(value, ensure_ascii=False)) + "\n")
    sys.stdout.flush()


def _escaped_json(text: str) -> str:
    """JSON in which nothing steers a terminal or hides: the same value, with such signs spelt out."""
    # [1:-1]: without the quotes that JSON puts around a text
    return "".join(sign if sign.isprintable() or sign == "\n" else json.dumps(sign)[1:-1] for sign in text)


def print_text(text: str = "", **more: Any) -> None:
    """A line of the result. `text` may be styled: what a server said goes through `escaped`."""
    console.print(text, **more)


def counted(number: int, singular: str, plural: str) -> str:
    """`1 task`, `1,204 tasks`."""
    return f"{number:,} {singular if number == 1 else plural}"


def print_raw(text: str) -> None:
    """A line of somebody's log, as it is: without markup, never folded."""
    sys.stdout.write("".join(map(visible_or_escaped_sign, text)) + "\n")
    sys.stdout.flush()


def print_note(text: str) -> None:
    """Print a text that is no result: progress, a hint. Silent where a program reads."""
    if not OutputState.json:
        errors.print(text)


def can_ask_person() -> bool:
    """Return whether a person can answer questions here."""
    return sys.stdin.isatty() and sys.stderr.isatty() and not OutputState.json


def confirm_or_exit(question: str, to: str, otherwise: str, remedy: str = "Add --yes.") -> None:
    """Ask before something is done. Raises Usage without a terminal, Exit where the answer is no."""
    if not can_ask_person():
        raise UsageFailure(f"There is no terminal to ask whether to {to}.", remedy)
    if not typer.confirm(question, err=True):
        print_note(otherwise)
        raise typer.Exit(ExitCode.NO)


def unstyled(text: object) -> str:
    """Text of others within styled text. What would steer the terminal, or hide, is spelt out."""
    return escape("".join(map(visible_or_escaped_sign, str(text))))


def visible_or_escaped_sign(sign: str) -> str:
    """Return one sign in a form that is safe for a terminal."""
    if sign.isprintable() or sign in "\n\t":
        return sign
    return " " if sign.isspace() else f"\\u{ord(sign):04x}"


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Columns without lines around them. Of each row the cells are texts as `say` takes them."""
    grid = Table(*columns, box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for row in rows:
        grid.add_row(*(str(cell) for cell in row))
    console.print(grid, crop=console.is_terminal)


def print_failure(failure: CommandFailure) -> None:
    """Says why a command ended early, where, and what to do."""
    if OutputState.json:
        body: dict[str, object] = {
            "message": failure.message,
            "remedy": failure.remedy,
            "code": int(failure.code),
        }
        body["places"] = [
            {"path": p.path, "message": p.message, "hint": p.hint, "line": p.line, "column": p.column}
            for p in failure.places
        ]
        if isinstance(failure, ConflictFailure):
            body["problem"] = failure.problem
        sys.stderr.write(json.dumps({"error": body}, ensure_ascii=False) + "\n")
        return
    errors.print(f"[red]Error:[/red] {unstyled(failure.message)}")
    for place in failure.places:
        errors.print(f"  {unstyled(place)}")
    if failure.remedy:
        errors.print(unstyled(failure.remedy))


def age_text_or_empty(at: str | int | None) -> str:
    """Return the age of an ISO instant or of Unix milliseconds: “3 min ago”."""
    if at is None:
        return ""
    then = datetime.fromtimestamp(at / 1000, UTC) if isinstance(at, int) else datetime.fromisoformat(at)
    return f"{duration_text((datetime.now(UTC) - then).total_seconds())} ago"


def in_or_ago_text(at: str) -> str:
    """“in 3 h”, or how long ago."""
    left = (datetime.fromisoformat(at) - datetime.now(UTC)).total_seconds()
    return f"in {duration_text(left)}" if left > 0 else age_text_or_empty(at)


def duration_between(start: str | None, end: str | None) -> str:
    """Return the duration from one instant to the other, or until now."""
    if start is None:
        return ""
    until = datetime.fromisoformat(end) if end else datetime.now(UTC)
    return duration_text((until - datetime.fromisoformat(start)).total_seconds())


def duration_text(seconds: float) -> str:
    """“42 s”, “8 min 5 s”, “3 h 10 min”, “5 d”."""
    total_seconds = max(0, int(seconds))
    if total_seconds < 60:
        return f"{total_seconds} s"
    if total_seconds < 3600:
        return f"{total_seconds // 60} min" + (
            f" {total_seconds % 60} s" if total_seconds % 60 and total_seconds < 600 else ""
        )
    if total_seconds < 86400:
        return f"{total_seconds // 3600} h" + (
            f" {total_seconds % 3600 // 60} min" if total_seconds % 3600 // 60 else ""
        )
    return f"{total_seconds // 86400} d"
