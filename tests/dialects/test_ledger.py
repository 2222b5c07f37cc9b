"""docs/dialects.md: every behaviour of the dialects has one line, and what is built has a test of its name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BEHAVIOURS = [
    f"{dialect}{number}"
    for dialect, last in {"A": 31, "B": 20, "C": 33, "D": 21, "E": 30}.items()
    for number in range(1, last + 1)
]
BUILT, READING, NOT, LATER = "built", "another reading", "does not apply", "later"


@dataclass(frozen=True)
class Entry:
    id: str
    clause: str
    state: str
    why: str
    tests: tuple[str, ...]
    missing: str


@cache
def ledger() -> list[Entry]:
    found = []
    for line in (ROOT / "docs" / "dialects.md").read_text().splitlines():
        if re.match(r"\| [A-E]\d+ \|", line):
            key, clause, state, named = (cell.strip() for cell in line.strip("|").split("|"))
            # What of it is missing stands behind a semicolon.
            whole, _semicolon, missing = (
                state.rpartition(";") if state.endswith(": later") else (state, "", "")
            )
            word, _colon, why = whole.partition(":")
            found.append(
                Entry(key, clause, word, why.strip(), tuple(re.findall(r"`(\w+)`", named)), missing.strip())
            )
    return found


@cache
def named_tests() -> frozenset[str]:
    """Every test that is named after a behaviour."""
    name = re.compile(r"^ *(?:async )?def (test_[A-E]\d+_\w+)", re.MULTILINE)
    files = (ROOT / "tests").rglob("test_*.py")
    return frozenset(found for file in files for found in name.findall(file.read_text()))


def test_every_behaviour_has_exactly_one_line_in_order() -> None:
    assert [entry.id for entry in ledger()] == BEHAVIOURS


@pytest.mark.smoke(1000)  # each by itself is quick
@pytest.mark.parametrize("entry", ledger(), ids=lambda entry: entry.id)
def test_a_line_says_what_became_of_it_and_names_its_tests(entry: Entry) -> None:
    assert entry.clause
    assert entry.state in (BUILT, READING, NOT, LATER)
    assert bool(entry.why) == (entry.state != BUILT), "another reading and none at all say why"
    assert bool(entry.tests) == (entry.state in (BUILT, READING))
    assert set(entry.tests) <= named_tests()
    assert all(name.startswith(f"test_{entry.id}_") for name in entry.tests)


def test_no_test_is_named_after_a_behaviour_that_does_not_exist() -> None:
    behaviours = {name.split("_")[1] for name in named_tests()}
    assert behaviours <= set(BEHAVIOURS)


def test_nothing_is_to_come_later() -> None:
    assert not [entry.id for entry in ledger() if entry.state == LATER or entry.missing]
    assert not [entry.id for entry in ledger() if entry.state == NOT and "later" in entry.why]


def test_the_ledger_claims_no_more_of_its_tests_than_was_tried() -> None:
    tried = re.search(r"for (\d+) behaviours", (ROOT / "proof" / "proof.md").read_text())
    claim = (ROOT / "docs" / "dialects.md").read_text()
    assert tried
    assert f"For {tried[1]} of these behaviours" in claim
    assert "Of the others it was not tried" in claim
