"""The table for readers, and how often each of its pairs was reached."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from tests.engine.stateful.table import POSSIBLE, TABLE

Pair = tuple[str, str]


def report(steps: int, reached: Mapping[Pair, int]) -> str:
    """One line per command: how often it moved and was refused, and how often in the state where that was rarest."""
    rows = [_row(command, reached) for command in TABLE]
    missing = [f"{command} in {state}" for state, command in POSSIBLE if not reached.get((state, command))]
    said = f"{len(POSSIBLE) - len(missing)} of {len(POSSIBLE)} pairs reached"
    return "\n".join(
        [
            f"{steps} steps, {sum(reached.values())} times a token met a command, {said}",
            "",
            "| command | states | moved | refused | rarest |",
            "|---|---|---|---|---|",
            *rows,
            *(["", "not reached: " + "; ".join(missing)] if missing else []),
        ]
    )


def _row(command: str, reached: Mapping[Pair, int]) -> str:
    said: Counter[str] = Counter()
    states = [state for state, key in POSSIBLE if key == command]
    for state in states:
        said[TABLE[command][state].verdict] += reached.get((state, command), 0)
    rarest = min(states, key=lambda state: reached.get((state, command), 0))
    least = f"{rarest} {reached.get((rarest, command), 0)}"
    return f"| {command} | {len(states)} | {said['moves'] or '–'} | {said['refused'] or '–'} | {least} |"
