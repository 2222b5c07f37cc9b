"""The table says something about every pair, and the page says what the table says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.stateful.commands import COMMANDS
from tests.engine.stateful.page import page
from tests.engine.stateful.routes import ROUTES
from tests.engine.stateful.states import STATES
from tests.engine.stateful.table import PAIRS, TABLE

PAGE = Path(__file__).resolve().parents[3] / "docs" / "commands.md"


def test_every_pair_has_an_entry() -> None:
    assert set(TABLE) == set(COMMANDS)
    assert set(PAIRS) == {(state, command) for state in STATES for command in COMMANDS}


@pytest.mark.parametrize("command", list(TABLE))
def test_an_entry_says_what_it_has_to(command: str) -> None:
    for entry in TABLE[command].values():
        match entry.verdict:
            case "moves":
                assert entry.to <= set(STATES)
                assert entry.to
                assert entry.answer
            case "refused":
                assert entry.answer
                assert not entry.to
            case "impossible":
                assert entry.why


def test_only_states_in_which_nothing_is_possible_cannot_be_reached() -> None:
    dead = {state for state in STATES if all(row[state].verdict == "impossible" for row in TABLE.values())}
    assert set(STATES) - set(ROUTES) == dead


def test_the_page_is_the_table() -> None:
    says = {key: command.says for key, command in COMMANDS.items()}
    assert PAGE.read_text("utf-8") == page(STATES, says), "python -m tests.engine.stateful > docs/commands.md"
