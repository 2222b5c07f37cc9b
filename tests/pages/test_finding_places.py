"""A place in a document, as a problem says it: names and the labels of the form."""

from __future__ import annotations

import pytest

from pipelines.web.lines.findings import place_words
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
        ("stations[0].rules[0].when.output", "Lint · rule 1 · when.output"),
        ("stations[9].made_up", "made_up"),
    ],
)
def test_a_place_is_said_by_names(path: str, words: str) -> None:
    assert place_words(document([LINT], gates=[{"key": "look", "name": "A look"}]), path) == words
