"""A place in a document, as a problem says it: names and the labels of the form."""

from __future__ import annotations

import re
from typing import Any

import pytest

from pipelines.routing.document.line import DocumentError, read_line
from pipelines.web.lines.findings import by_name, place_words
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
    assert place_words(given, path) == words


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
            "shown”, “Checks first, then people”, “Nobody: passed, and recorded”.",
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
        ({"start": "build"}, "“A task starts at” cannot be “build”: the line has no such station.", "Known: lint."),
        ({"budgets": [{"key": "most", "most": 2}]}, "Most · “What is counted” is missing.", None),
    ],
)  # fmt: skip
def test_a_choice_that_is_none_is_said_in_the_words_of_its_form(
    wrong: dict[str, Any], sentence: str, hint: str | None
) -> None:
    given = {**document([LINT]), **wrong}
    with pytest.raises(DocumentError) as fault:
        read_line(given)
    said = by_name(fault.value.problems, given)
    assert sentence in [each.message for each in said]
    found = next(each for each in said if each.message == sentence)
    assert hint in (None, found.hint)
    assert not re.search(r"\b[a-z]+_[a-z]+\b", found.hint), found.hint
