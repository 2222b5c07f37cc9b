"""A place in a document, as a problem says it: names and the labels of the form."""

from __future__ import annotations

import re
from typing import Any

import pytest

from pipelines.routing.document.line import DocumentError, read_line
from pipelines.web.lines.findings import place_text, readable_problems
from tests.factories import document, station

LINT = station("lint", {"id": "high", "to": "lint"}, kind="command", name="Lint")


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("policy.no_match", "No rule matches a passed outcome"),
        ("limits.cost_usd", "Most cost of a task (USD)"),
        ("stations[0].limits.max_timeout", "Lint · Timeout"),
        ("stations[0].work.argv", "Lint · Program and arguments"),
        ("stations[0].rules[0].max_retries", "Lint · rule 1 · Most times it is taken"),
        ("gates[0].approval.requester_may", "A look · The requester can decide"),
        ("stations[0].rules[0].when.output", "Lint · rule 1 · Condition"),
        ("stations[0].join.wait_for[1]", "Lint · Joins the branches from"),
        ("gates[0].offers[1]", "A look · What they can say"),
        ("gates[0].approval.who[0].role", "A look · Role"),
        ("ends[0].kind", "Shipped · The task has"),
        ("inputs[0].type", "Request · Type"),
        ("stations[9].made_up", "made_up"),
    ],
)
def test_a_place_is_said_by_names(path: str, words: str) -> None:
    given = document(
        [LINT],
        gates=[{"key": "look", "name": "A look"}],
        ends=[{"key": "shipped", "label": "Shipped", "kind": "completed"}],
        inputs=[{"key": "request", "label": "Request", "type": "text"}],
    )
    assert place_text(given, path) == words


STUCK, ESCALATED, FALLBACK = (
    "“It is stuck, until somebody helps”",
    "“It is escalated”",
    "“It takes the blocked route”",
)


@pytest.mark.parametrize(
    ("wrong", "sentence", "hint"),
    [
        (
            {"policy": {"on_failure": "fail"}},
            "“No rule matches a failure” cannot be “fail”.",
            f"Choose one of: “The task fails”, {STUCK}, {ESCALATED}, {FALLBACK}, “Go to a station”.",
        ),
        (
            {"policy": {"on_failure": "halte"}},
            "“No rule matches a failure” cannot be “halte”.",
            "Did you mean “The task fails”?",
        ),
        (
            {"policy": {"revisit": "never"}},
            "“Coming to a station again” cannot be “never”.",
            "Choose one of: “Allowed”, “Never: the task is stuck”, “At most a number of times again”.",
        ),
        (
            {"gates": [{"key": "look", "name": "A look", "mode": "maybe"}]},
            "A look · “Who decides” cannot be “maybe”.",
            "Choose one of: “Checks alone; a person only where one says hold”, “Always people; checks are only "
            "shown”, “Checks first, then people”, “Nobody decides: it passes, and that is recorded”.",
        ),
        (
            {"gates": [{"key": "look", "name": "A look", "offers": ["approve", "perhaps"]}]},
            "A look · “What they can say” cannot be “perhaps”.",
            None,
        ),
        (
            {"stations": [{**LINT, "join": {"wait_for": ["a", "b"], "aggregation": "most"}}]},
            "Lint · “Continues when” cannot be “most”.",
            None,
        ),
        (
            {"ends": [{"key": "shipped", "label": "Shipped", "kind": "done"}]},
            "Shipped · “The task has” cannot be “done”.",
            "Choose one of: “Completed”, “Failed”, “Cancelled”.",
        ),
        (
            {"stations": [station("lint", {"id": "high", "when": {"result": "good"}, "to": "lint"}, name="Lint")]},
            "Lint · rule 1 · “Condition” cannot be “good”.",
            "Choose one of: “success”, “failure”, “cancelled”, “blocked”, “any”.",
        ),
        (
            {"start": "build"},
            "“A task starts at” cannot be “build”: the line has no such station.",
            "Choose one of: “Lint”.",
        ),
        ({"budgets": [{"key": "most", "most": 2}]}, "Most · “What is counted” is missing.", None),
    ],
)  # fmt: skip
def test_a_choice_that_is_none_is_said_in_the_words_of_its_form(
    wrong: dict[str, Any], sentence: str, hint: str | None
) -> None:
    given = {**document([LINT]), **wrong}
    with pytest.raises(DocumentError) as fault:
        read_line(given)
    said = readable_problems(fault.value.problems, given)
    assert sentence in [each.message for each in said]
    found = next(each for each in said if each.message == sentence)
    assert hint in (None, found.hint)
    assert not re.search(r"\b[a-z]+_[a-z]+\b", found.hint), found.hint


NEAR = {
    "stations": [
        station("s-build", {"id": "s-on", "label": "On", "to": "s-test"}, {"id": "s-bad", "to": "done"}, name="Build"),
        station("s-test", {"id": "s-good", "to": "g-done"}, {"id": "s-plain", "to": "completed"}, name="Test"),
    ],
    "gates": [{"key": "k-look", "name": "A look"}],
    "ends": [{"key": "g-done", "label": "ROLLED_BACK", "kind": "failed"}],
}  # fmt: skip
TEST = station("s-test", name="Test")


@pytest.mark.parametrize(
    ("wrong", "hint", "machine"),
    [
        ({"start": "s-tset"}, "Did you mean “Test”?", "did you mean s-test?"),
        ({"start": "elsewhere"}, "Choose one of: “Build”, “Test”.", "known: s-build, s-test"),
        (
            {"stations": [station("s-a", {"id": "r", "to": "g-dnoe"}), TEST]},
            "Did you mean “Rolled back”?",
            "did you mean g-done?",
        ),
        (
            {"stations": [station("s-a", {"id": "r", "to": "compleded"}), TEST]},
            "Did you mean “Completed”?",
            "did you mean completed?",
        ),
        (
            {"stations": [station("s-a", {"id": "r", "to": "@orign"}), TEST]},
            "Did you mean “Back where it came from”?",
            "did you mean @origin?",
        ),
        (
            {"stations": [station("s-a", {"id": "r", "to": "s-test", "gates": ["k-loko"]}), TEST]},
            "Did you mean “A look”?",
            "did you mean k-look?",
        ),
        (
            {"budgets": [{"key": "b", "kind": "rules", "rules": ["s-onn"], "most": 2}]},
            "Did you mean “On”?",
            "did you mean s-on?",
        ),
        (
            {"budgets": [{"key": "b", "kind": "rules", "rules": ["s-plian"], "most": 2}]},
            "Did you mean “Test, rule 2”?",
            "did you mean s-plain?",
        ),
        (
            {"guarantees": [{"id": "p", "never": {"reach": "s-tset"}}]},
            "Did you mean “Test”?",
            "did you mean s-test?",
        ),
        (
            {"policy": {"on_reject": "route:s-tset"}},
            "Did you mean “Test”?",
            "did you mean s-test?",
        ),
    ],
)
def test_what_is_near_a_missing_reference_is_said_by_name_on_pages(
    wrong: dict[str, Any], hint: str, machine: str
) -> None:
    given = {**document([]), **NEAR, **wrong}
    with pytest.raises(DocumentError) as fault:
        read_line(given)
    assert hint in [each.hint for each in readable_problems(fault.value.problems, given)]
    assert machine in [str(each.hint) for each in fault.value.problems]


@pytest.mark.parametrize(
    ("to", "sentence"),
    [
        (["s-test", "s-test"], "Build · rule 1 · “Target” the fork leads to “Test” twice."),
        (
            ["s-test", "g-done"],
            "Build · rule 1 · “Target” a fork leads to stations of the line, not to “Rolled back”.",
        ),
    ],
)
def test_a_faulty_fork_is_said_by_names(to: list[str], sentence: str) -> None:
    stations = [station("s-build", {"id": "r", "to": to}, name="Build"), station("s-test", name="Test")]
    given = {**document([]), **NEAR, "stations": stations}
    with pytest.raises(DocumentError) as fault:
        read_line(given)
    assert [each.message for each in readable_problems(fault.value.problems, given)] == [sentence]
