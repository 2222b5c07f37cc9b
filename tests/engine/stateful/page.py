"""The table as a page of the documentation: `python -m tests.engine.stateful > docs/commands.md`."""

from __future__ import annotations

from collections.abc import Iterable

from tests.engine.stateful.entries import DECIDED, Entry, Row
from tests.engine.stateful.table import TABLE

TOP = """# What may happen when

Everything that can be done to a task, in every state that a position of it (a token) can be in: whether it moves, is
refused, or is impossible, and why. What is late, repeated, stale or foreign moves nothing.

This page is written from `tests/engine/stateful/table.py` (`python -m tests.engine.stateful`), and the table is held
against the engine on the real database: in `make test` a third of the pairs, some of every state and command, in
`make soak` all of them and thousands of steps in any order, with the invariants after each. How often that reached
what: [Proof](../proof/proof.md).

## States
"""
WHAT = """
## Commands

*All others*: every state that the command's other lines do not name. *Wherever the decision leads*: {}.

| command | in the state | what happens |
|---|---|---|
"""


def page(states: dict[str, str], says: dict[str, str]) -> str:
    """`states` {key: sentence}, `says` {command: sentence}."""
    listed = "\n".join(
        ["", "| state | |", "|---|---|", *(f"| `{key}` | {what} |" for key, what in states.items())]
    )
    rows = [line for key, row in TABLE.items() for line in _rows(key, says[key], row)]
    return TOP + listed + "\n" + WHAT.format(", ".join(_ticked(DECIDED))) + "\n".join(rows) + "\n"


def _rows(key: str, says: str, row: Row) -> list[str]:
    groups: dict[tuple[str, str], list[str]] = {}
    for state, entry in row.items():
        groups.setdefault((entry.verdict, _happens(state, entry)), []).append(state)
    many = max(groups, key=lambda group: len(groups[group]))
    ordered = sorted(
        groups, key=lambda group: (group == many, ["moves", "refused", "impossible"].index(group[0]))
    )
    lines = []
    for n, group in enumerate(ordered):
        name = f"`{key}`: {says}" if n == 0 else ""
        states = "all others" if group == many and len(groups) > 1 else _named(groups[group])
        lines.append(f"| {name} | {states} | {group[1]} |")
    return lines


def _named(states: list[str]) -> str:
    return "every state" if len(states) > 15 else ", ".join(f"`{state}`" for state in states)


def _happens(state: str, entry: Entry) -> str:
    if entry.verdict == "impossible":
        return f"impossible: {entry.why}"
    if entry.verdict == "refused":
        return f"refused, “{entry.answer}”" + (f": {entry.why}" if entry.why else "")
    if entry.to == {state}:
        return "moves, and the token stays in its state"
    if entry.to >= set(DECIDED):
        return ", or to ".join(["moves wherever the decision leads", *_ticked(entry.to - set(DECIDED))])
    return "moves to " + ", ".join(_ticked(entry.to))


def _ticked(states: Iterable[str]) -> list[str]:
    return [f"`{state}`" for state in sorted(states)]
