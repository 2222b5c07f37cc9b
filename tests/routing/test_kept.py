"""The trace as it is stored: nothing is lost that cannot be worked out again, and little is kept that can."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from typing import Any

from pipelines.routing.analysis.redecide.stored_trace import (
    UNTAKEN,
    compact_entries,
    entries_completed_by_retesting,
    is_reproducible,
)
from pipelines.routing.decide.decide import decide
from pipelines.routing.decide.situation import read_situation
from pipelines.routing.document.line import ParsedLine, read_line
from tests.routing.interpreter.generator import case
from tests.routing.support import ruled

SEEDS = 120
SCORE = {"station": "a", "outcome": {"result": "success", "output": {"score": 7}}}


def above(least: int) -> dict[str, Any]:
    return {"when": {"output": {"path": "$.score", "op": "gt", "value": least}}}


def through_json(value: Any) -> Any:
    return json.loads(json.dumps(value, default=float))


def drawn() -> Iterator[tuple[ParsedLine, dict[str, Any]]]:
    for seed in range(SEEDS):
        document, given = case(seed)
        yield read_line(json.loads(json.dumps(document)), keep_faulty_rules=True), given


def test_what_is_kept_tells_the_whole_trace_with_its_times() -> None:
    passed_over = 0
    for line, given in drawn():
        ticks = count()
        decision = decide(line, read_situation(given), clock=lambda ticks=ticks: next(ticks) / 1000)  # type: ignore[misc]
        stored = compact_entries(decision.trace)
        passed_over += sum(UNTAKEN in entry for entry in stored)
        assert entries_completed_by_retesting(line, given, stored) == decision.to_dict()["trace"]
        assert is_reproducible(line, given, through_json(stored))
    assert passed_over > SEEDS / 8


def test_a_trace_that_was_stored_whole_is_read_as_it_is() -> None:
    for line, given in drawn():
        old = decide(line, read_situation(given)).to_dict()["trace"]
        assert entries_completed_by_retesting(line, given, old) == old
        assert is_reproducible(line, given, old)


def test_a_thousand_rules_that_were_not_taken_cost_little() -> None:
    line = ruled(*(above(1_000 + at) for at in range(999)), {})
    stored = compact_entries(decide(line, read_situation(SCORE), clock=count().__next__).trace)
    del stored[0]["took"]
    assert stored[0] == {UNTAKEN: 999}
    assert [entry["rule"] for entry in stored[1:]] == ["r1000", "r1000"]


def test_where_rules_come_out_otherwise_today_nothing_is_said_of_what_they_saw() -> None:
    stored = compact_entries(decide(ruled(above(10), above(20), {}), read_situation(SCORE)).trace)
    other = ruled(above(10), above(5), {})
    shown = entries_completed_by_retesting(other, SCORE, stored)
    assert [(entry["rule"], entry["result"], entry["saw"]) for entry in shown[:2]] == [
        ("r1", False, []),
        ("r2", False, []),
    ]
    assert not is_reproducible(other, SCORE, stored)


def test_a_rule_that_was_left_out_is_told_from_those_that_were_tested() -> None:
    check = {"field": "result", "operator": "equals", "value": "success", "action": "rework"}
    gate = {"key": "g", "checks": {"all": [check]}, "mode": "auto"}
    line = ruled(above(10), {"gates": ["g"], **above(5)}, above(20), {}, gates=[gate])
    failing = {"station": "a", "outcome": {"result": "failure", "output": {"score": 7}}}
    decision = decide(line, read_situation(failing))
    stored = compact_entries(decision.trace)
    assert [(e[UNTAKEN], e.get("without")) for e in stored if UNTAKEN in e] == [(1, None), (3, ["r2"])]
    assert entries_completed_by_retesting(line, failing, stored) == decision.to_dict()["trace"]
