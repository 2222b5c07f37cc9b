"""rework-below"""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.routing.decide.decide import decide
from pipelines.routing.decide.situation import read_situation
from tests.routing.lint.support import found, the_page_is_right
from tests.routing.support import line

ON = {"key": "a", "rules": [{"id": "on", "to": "b"}]}
STAGE = {
    "key": "b",
    "rules": [{"id": "good", "when": {"result": "success"}, "to": "c"}, {"id": "bad", "to": "r"}],
}
REWORK = {"key": "r", "stage": "b", "rules": [{"id": "again", "to": "b"}]}
LAST = {"key": "c", "rules": [{"id": "end", "to": "completed"}]}


def test_the_page_is_right() -> None:
    assert the_page_is_right("rework-below").severity == "warning"


@pytest.mark.parametrize(
    ("stations", "told"),
    [
        ([ON, STAGE, LAST, REWORK], ["r"]),
        ([ON, STAGE, REWORK, LAST], ["r"]),
        ([ON, REWORK, STAGE, LAST], []),
        ([REWORK, ON, STAGE, LAST], []),
        ([ON, STAGE, LAST, {**REWORK, "stage": ""}], []),
    ],
)
def test_a_rework_station_stands_above_its_stage(stations: list[dict[str, Any]], told: list[str]) -> None:
    stations = [{key: value for key, value in each.items() if value != ""} for each in stations]
    findings = found("rework-below", line(*stations, start="a"))
    assert [finding.station for finding in findings] == told


def test_what_is_forward_by_it_is_blocked_by_an_escalation() -> None:
    """What the finding says of a move to rework, `decide` does."""
    for stations, held in (([ON, STAGE, LAST, REWORK], True), ([ON, REWORK, STAGE, LAST], False)):
        situation = {"station": "b", "outcome": {"result": "failure"}, "facts": {"open_escalations": 1}}
        answer = decide(line(*stations, start="a"), read_situation(situation)).to_dict()
        assert (answer["decision"] == "wait") is held
