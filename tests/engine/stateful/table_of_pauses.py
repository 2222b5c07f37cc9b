"""State × command, of pauses of a task, a station, a line and the project, and of resuming them."""

from __future__ import annotations

from tests.engine.stateful.entries import (
    LEASED,
    OVER,
    RUNS_AGAIN,
    Entry,
    Row,
    impossible,
    moves,
    refused,
    row,
    stays,
)

ENDED = refused("Conflict", "its task has ended")
NOT_REACHED = impossible("its task has ended: others alone are paused, and go on")
WAITS_UNDER_IT = impossible("under a pause it would be held by it")
PAUSED = "held_by_pause"


def _paused(over: Entry, answer: str = "done") -> Row:
    """Work that has not begun is held. All else is told, and stays."""
    return {**stays(answer), "queued": moves(answer, PAUSED), **dict.fromkeys(OVER, over)}


def _resumed(over: Entry) -> Row:
    return {
        **stays("done"),
        PAUSED: moves("done", *RUNS_AGAIN),
        "queued": WAITS_UNDER_IT,
        **dict.fromkeys(OVER, over),
    }


PAUSES: dict[str, Row] = {
    "pause_task": _paused(ENDED),
    **{f"pause_{scope}": _paused(NOT_REACHED) for scope in ("station", "line", "project")},
    "resume_task": _resumed(impossible("no task is paused that has ended")),
    **{f"resume_{scope}": _resumed(NOT_REACHED) for scope in ("station", "line", "project")},
    "pause_stopping": {**_paused(ENDED), **dict.fromkeys(LEASED, moves("done", PAUSED))},
    "pause_twice": _paused(NOT_REACHED, "done, Conflict"),
    "resume_unpaused": row(refused("Conflict", "it is not paused, or was resumed by somebody else")),
}
