"""Guarantees of everything that is shipped: each line and each template states some, and each is proved."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from pipelines.formats import native
from pipelines.lines.demo import example
from pipelines.lines.starters import catalogue
from pipelines.lines.starters.commands import StationCommands, template_with_commands
from pipelines.routing.document.line import ParsedLine, read_line
from pipelines.routing.guarantees.guarantee_proofs import prove_guarantees
from pipelines.routing.sentences.names import gate_name

SHIPPED = sorted(
    path for folder in (example.LINES, catalogue.LINES) for path in folder.iterdir() if path.suffix == ".yaml"
)
ASKED_BACK = ("fix-lint-findings", "request-to-merged-change", "review-branch", "repository-check")


def name_of(path: Path) -> str:
    return f"{path.parts[-3]}-{path.stem}"


def is_back(line: ParsedLine) -> bool:
    return any({"send_back", "rework"} & {*gate.offers} for gate in line.gates)


def test_every_line_and_template_is_looked_at() -> None:
    templates = {starter.key for starter in catalogue.STARTERS}
    assert {path.stem for path in SHIPPED} == {*example.KEYS, *templates}
    assert len(SHIPPED) == len(example.KEYS) + len(templates)


@pytest.mark.parametrize("path", SHIPPED, ids=name_of)
def test_what_is_shipped_states_guarantees_that_are_proved(path: Path) -> None:
    line = native.read_text(path.read_text())
    answers = [(answer.sentence, answer.answer) for answer in prove_guarantees(line)]
    assert answers, "a line that is shipped says what it promises"
    assert [answer for answer in answers if answer[1] != "proved"] == []
    guarded = {
        promise.never.reach
        for promise in line.guarantees
        if promise.never and promise.never.without in line.gates_by_key
    }
    assert {station.key for station in line.stations if station.kind == "deliver"} <= guarded


@pytest.mark.parametrize("path", [path for path in SHIPPED if path.stem in ASKED_BACK], ids=name_of)
def test_a_line_that_merges_for_people_offers_to_send_back(path: Path) -> None:
    line = native.read_text(path.read_text())
    assert is_back(line), [gate_name(line, gate.key) for gate in line.gates]


@pytest.mark.smoke(8)
@pytest.mark.parametrize("starter", catalogue.STARTERS, ids=lambda starter: starter.key)
@pytest.mark.parametrize(
    ("tests", "lint", "audit"),
    list(product(("", "make test", "pytest --junit-xml=t.xml"), ("", "make lint"), ("", "make audit"))),
)
def test_a_template_keeps_its_promises_with_the_commands_of_a_repository(
    starter: catalogue.Starter, tests: str, lint: str, audit: str
) -> None:
    commands = StationCommands.from_typed_texts(
        lint=lint, tests=tests, audit=audit, update="make u", version="make v"
    )
    line = read_line(template_with_commands(starter.text, commands))
    answers = [(answer.sentence, answer.answer) for answer in prove_guarantees(line)]
    assert answers and [answer for answer in answers if answer[1] != "proved"] == []
