"""The keys of what a station is expected to leave, and of what it may cost: read, written, refused with their place."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.routing.basics.problems import DocumentError
from pipelines.routing.document.expected_results import FAILURES
from pipelines.routing.document.kinds import expected_result
from pipelines.routing.document.line import read_line
from tests.routing.support import document, line

WHOLE: dict[str, Any] = {
    "expects": "output",
    "outcome_of": {"denied": "review", "output_missing": "blocked"},
    "artifacts": [
        {"path": "tests.xml", "kind": "junit"},
        {"path": "notes.md", "kind": "markdown", "required": False},
    ],
    "limits": {"cost_usd": 0.5},
    "gate": "g",
}
GATE = {"key": "g", "mode": "auto"}

REFUSED = [
    ({"expects": "miracles"}, "expects", "“miracles” is not known"),
    ({"outcome_of": {"flaky": "success"}}, "outcome_of.flaky", "unknown key"),
    ({"outcome_of": {"denied": "fine"}}, "outcome_of.denied", "“fine” is not known"),
    ({"outcome_of": {"denied": "review"}}, "outcome_of.denied", "has no gate"),
    ({"artifacts": [{"kind": "junit"}]}, "artifacts[0].path", "is missing"),
    ({"artifacts": [{"path": "a", "kind": "movie"}]}, "artifacts[0].kind", "“movie” is not known"),
    ({"artifacts": [{"path": "a"}, {"path": "a"}]}, "artifacts[1]", "twice"),
    ({"limits": {"cost_usd": -1}}, "limits.cost_usd", "0 or more"),
    ({"limits": {"cost_usd": "1"}}, "limits.cost_usd", "a number"),
]


def test_they_are_read_and_written_back() -> None:
    given = document(WHOLE, gates=[GATE], limits={"cost_usd": 5}, sensitive=["tests/**"])
    read = read_line(given)
    written = read.to_document()
    filled = {**WHOLE["artifacts"][0], "required": True}
    assert written["stations"][0]["artifacts"] == [filled, WHOLE["artifacts"][1]]
    for key in ("expects", "outcome_of", "limits"):
        assert written["stations"][0][key] == WHOLE[key]
    assert (written["limits"], written["sensitive"]) == ({"cost_usd": 5}, ["tests/**"])
    assert read_line(written) == read


def test_what_is_not_said_is_not_written() -> None:
    written = line({}).to_document()
    assert not {"limits", "sensitive"} & written.keys()
    assert not {"expects", "outcome_of", "artifacts", "limits"} & written["stations"][0].keys()


@pytest.mark.parametrize(("station", "path", "message"), REFUSED)
def test_a_fault_is_told_with_its_place(station: dict[str, Any], path: str, message: str) -> None:
    with pytest.raises(DocumentError) as refused:
        read_line(document(station))
    [problem] = refused.value.problems
    assert (problem.path, message in problem.message) == (f"stations[0].{path}", True), problem


def test_work_of_which_nothing_is_said_is_expected_to_leave_nothing() -> None:
    stations = line({}, {"expects": "change"}).stations
    assert [expected_result(each) for each in stations] == ["", "change"]
    assert [usual for _label, usual in FAILURES.values()].count("blocked") == 1
