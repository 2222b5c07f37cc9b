"""A document is read strictly, and all its problems are told at once, each with its path."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from pipelines.routing.document.line import DocumentError, read_line
from tests.routing.support import document, line

FULL: dict[str, Any] = {
    "gateline": 1,
    "key": "repository-check",
    "name": "Repository check",
    "description": "Text",
    "preset": "alp",
    "policy": {"no_match": "stuck", "failure_rules": "no", "revisit": "limit:2", "self_loop_limit": "none"},
    "flags": {"agentic_conditions": True},
    "start": "lint",
    "inputs": [
        {"key": "repository", "type": "repository", "label": "Repository", "help": "…", "required": True},
        {"key": "depth", "type": "choice", "choices": ["a", "b"], "default": "a"},
    ],
    "stations": [
        {"key": "checkout", "work": {"kind": "noop"}},
        {
            "key": "lint",
            "name": "Lint",
            "work": {
                "kind": "command",
                "argv": ["ruff", "check"],
                "env": {"A": "b"},
                "prompt": "p",
                "cwd": ".",
            },
            "output_keys": ["high", "findings"],
            "result_document": "optional",
            "limits": {
                "idle_timeout": "2m",
                "max_timeout": "1h",
                "expected": 300.5,
                "max_visits": 20,
                "max_retries": 3,
            },
            "labels": ["python"],
            "gate": "lint-checks",
            "join": {"wait_for": ["qa", "checkout"], "aggregation": "any-pass"},
            "rules": [
                {
                    "id": "high-severity",
                    "label": "High severity",
                    "when": {"output": {"path": "$.high", "op": "gt", "value": 0}},
                    "to": ["qa", "triage"],
                    "gates": ["human-review"],
                    "max_retries": 2,
                    "max_visits": 3,
                    "allow_revisit": False,
                    "on_exhausted": {"to": "delivered"},
                    "feedback": True,
                    "compose": [{"var": "finding", "path": "$.findings[0]", "strategy": "override"}],
                    "extra": {"x": 1},
                },
                {
                    "id": "again",
                    "when": {"hook": {"argv": ["x"], "timeout": "5s"}, "answer": "block"},
                    "to": "@origin",
                },
                {"id": "zero", "to": "@blocked", "max_retries": 0, "on_exhausted": "escalate"},
            ],
            "extra": {"color": "red"},
        },
        {
            "key": "qa",
            "work": {"kind": "manual", "form": [{"key": "n", "type": "number"}], "instructions": "Do."},
        },
        {
            "key": "triage",
            "work": {"kind": "chat", "model": "m"},
            "stage": "lint",
            "agent": "fixer",
            "requires": ["handoff", "metadata:AI-Usage"],
            "handoff": {"type": "object", "required": ["why"]},
        },
    ],
    "gates": [
        {
            "key": "human-review",
            "name": "Human review",
            "mode": "manual",
            "requires_approval": False,
            "approval": {
                "who": [{"role": "reviewer", "count": 2}, {"group": "security"}, {"user": "lead"}],
                "requester_may": True,
                "max_rounds": 0,
            },
            "offers": ["approve", "reject"],
            "on_reject": "route:lint",
            "due": {"after": "4h", "then": "reject"},
            "notify": ["lead@example.com"],
        },
        {
            "key": "lint-checks",
            "checks": {
                "all": [
                    {
                        "field": "exit_code",
                        "operator": "equals",
                        "value": 0,
                        "severity": "block",
                        "action": "rework",
                    },
                    {"any": [{"all": [{"field": "eval", "operator": "exists", "value": 5}]}]},
                ]
            },
        },
    ],
    "ends": [{"key": "delivered", "kind": "completed", "label": "DELIVERED"}],
    "forbidden_parallel": [["qa", "triage"]],
    "budgets": [
        {"key": "cross", "kind": "cross_stage", "most": 5, "role": "lead", "on_exhausted": {"to": "qa"}},
        {"key": "pair", "kind": "rules", "rules": ["again", "zero"], "most": 2, "on_exhausted": "stuck"},
        {"key": "way", "kind": "edges", "edges": ["lint->qa", "qa->delivered"], "most": 0},
        {"key": "qa", "kind": "station", "stations": ["qa"], "most": 4, "label": "Rounds of QA"},
        {"key": "types", "kind": "failure_type", "failure_types": ["license"], "most": 1},
        {"key": "same", "kind": "same_stage", "stations": ["lint"], "most": "none", "extra": {"x": 1}},
        {"key": "again", "kind": "restart", "most": 2},
        {"key": "round", "kind": "loop", "stations": ["lint", "triage"], "most": 3},
    ],
    "handoff": {},
    "extra": {"anything": [1, None]},
}


def test_the_complete_document_reads_back_as_an_equal_line() -> None:
    read = read_line(FULL)
    again = read_line(read.to_document())
    assert again == read
    assert again.to_document() == read.to_document()


def test_the_complete_document_says_every_knob_and_durations_in_seconds() -> None:
    complete = read_line(FULL).to_document()
    assert len(complete["policy"]) == 11
    assert complete["policy"]["no_match"] == "stuck"
    assert complete["stations"][1]["limits"]["max_timeout"] == 3600
    assert complete["stations"][1]["limits"]["expected"] == 300.5
    assert complete["stations"][1]["rules"][0]["allow_revisit"] is False
    assert complete["gates"][0]["due"] == {"after": 14400, "then": "reject"}


def test_reading_does_not_change_the_document() -> None:
    before = copy.deepcopy(FULL)
    read_line(FULL)
    assert before == FULL


def test_defaults_that_matter() -> None:
    read = line({}, gates=[{"key": "g"}, {"key": "h", "checks": {"all": []}}])
    station, gate = read.station("a"), read.gate("g")
    assert (station.name, station.kind, station.result_document, read.start) == ("a", "manual", "none", "a")
    assert (gate.mode, gate.requires_approval, gate.approval.max_rounds) == ("manual", True, 3)
    assert [(who.kind, who.name, who.count) for who in gate.approval.who] == [("role", "reviewer", 1)]
    assert (gate.approval.requester_may, gate.approval.producer_may) == (False, False)
    assert read.gate("h").mode == "checks_then_manual"
    assert {key: end.kind for key, end in read.ends_by_key.items()} == {
        "completed": "completed",
        "failed": "failed",
        "cancelled": "cancelled",
    }


def test_the_order_of_the_stations_is_the_next_station_in_order() -> None:
    read = line({}, {}, {})
    following = [read.next_station_or_none(key) for key in "abc"]
    assert [station and station.key for station in following] == ["b", "c", None]


DURATIONS = [
    (90, 90),
    ("90s", 90),
    ("5m", 300),
    ("2h", 7200),
    ("1d", 86400),
    (1.5, 1.5),
    ("0.5m", 30),
    (" 2 h ", 7200),
]


@pytest.mark.parametrize(("written", "seconds"), DURATIONS)
def test_a_duration_is_seconds_or_a_text(written: Any, seconds: float) -> None:
    assert line({"limits": {"expected": written}}).station("a").limits.expected == seconds


def problems(of: Any) -> list[tuple[str, str]]:
    with pytest.raises(DocumentError) as caught:
        read_line(of)
    return [(problem.path, problem.message) for problem in caught.value.problems]


def paths(of: Any) -> list[str]:
    return [path for path, _ in problems(of)]


def rule(**members: Any) -> dict[str, Any]:
    return document({"rules": [{"id": "r1", "to": "b", **members}]}, {}, gates=[{"key": "g"}])


def test_a_missing_key_of_the_line_is_told() -> None:
    without = document({})
    del without["key"]
    assert problems(without) == [("key", "is missing")]


def test_rule_ids_are_unique_in_the_line() -> None:
    twice = document({"rules": [{"id": "r", "to": "b"}]}, {"rules": [{"id": "r", "to": "a"}]})
    assert paths(twice) == ["stations[1].rules[0].id"]


def test_all_problems_are_told_at_once() -> None:
    bad = document(
        {"rules": [{"id": "r", "to": "z", "max_retries": "2"}]}, {"lable": 1}, preset="alps", extra=5
    )
    assert paths(bad) == [
        "preset",
        "stations[0].rules[0].to",
        "stations[0].rules[0].max_retries",
        "stations[1].lable",
        "extra",
    ]


def test_an_unknown_key_hints_at_the_known_one() -> None:
    with pytest.raises(DocumentError) as caught:
        read_line(document({"lables": []}))
    assert caught.value.problems[0].hint == "did you mean labels?"


def test_faulty_rules_may_be_kept_and_are_then_listed() -> None:
    faulty = document(
        {"rules": [{"id": "r1", "to": "z", "when": {"sometimes": True}}, {"id": "r2", "to": "b"}]}, {}
    )
    kept = read_line(faulty, keep_faulty_rules=True)
    assert [problem.path for problem in kept.faults] == ["stations[0].rules[0].when"]
    assert kept.to_document()["stations"][0]["rules"][0] == {
        "id": "r1",
        "when": {"sometimes": True},
        "to": "z",
    }
    assert read_line(kept.to_document(), keep_faulty_rules=True) == kept


def test_a_document_is_refused_for_other_faults_of_a_rule_even_when_faulty_rules_are_kept() -> None:
    with pytest.raises(DocumentError):
        read_line(rule(max_retries="2"), keep_faulty_rules=True)


def test_unknown_work_keeps_its_keys() -> None:
    work = {"kind": "chat", "model": "m", "temperature": 0.5}
    assert line({"work": work}).to_document()["stations"][0]["work"] == work
