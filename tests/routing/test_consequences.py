"""What follows from a decision: what is counted, kept and shown (law §5 step 9), value by value."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.routing.basics.outcome import read_outcome
from pipelines.routing.decide.decisions import Ask, Escalate, Finish, Move, Stuck, Wait
from pipelines.routing.decide.effects import (
    DecisionSubject,
    counter_changes,
    counts_with_added,
    decided_targets,
    does_decision_abort_task,
    enterable_stations,
    facts_for_deciding_anew,
    facts_of_waiting_token_now,
    facts_with_answer,
    facts_with_votes,
    gate_question,
    origin_after_or_none,
    reworks_in_a_row_after,
    stay_of_decision,
    variables_and_context_to_store,
    was_rule_taken,
)
from tests.routing.support import line, ruled

LINE = ruled(
    {"to": "b", "label": "On"},
    {"to": ["b", "c"]},
    {"to": "@origin"},
    {"to": "completed"},
    {"to": "@blocked"},
    gates=[{"key": "look"}],
)
STATIONS = LINE.stations_by_key


def about(outcome: dict[str, Any] | None = None, **more: Any) -> DecisionSubject:
    known = {"line": LINE, "station": "a", "origin": None}
    return DecisionSubject(**{**known, "outcome": read_outcome(outcome or {"result": "success"}), **more})


def move(*to: str, rule: str | None = "r1", by: str = "rule", **more: Any) -> Move:
    return Move(tuple(to), rule, by, **more)


def finish(end: str = "completed", rule: str | None = "r4", by: str = "rule") -> Finish:
    return Finish(end, "completed", rule, by)


def test_only_a_move_elsewhere_changes_the_origin() -> None:
    assert origin_after_or_none("a", "z", "b") == "a"
    assert origin_after_or_none("a", "z", "a") == "z"
    assert origin_after_or_none("a", None, "a") is None


def test_who_waits_at_a_join_has_not_entered_it() -> None:
    of = line({}, {}, {"join": {"wait_for": ["a", "c"]}})
    assert [enterable_stations(of, key) for key in "abc"] == [{"a", "b"}, {"a", "b", "c"}, {"a", "b", "c"}]


# Where it stays


@pytest.mark.parametrize(
    ("answer", "status", "wait", "error"),
    [
        (
            Wait("awaiting_review", gates=("look",), to=("b",), rule="r1", question="Why?"),
            "awaiting_review",
            {
                "gates": ["look"],
                "to": ["b"],
                "rule": "r1",
                "question": "Why?",
                "missing": [],
                "evaluation": None,
            },
            "",
        ),
        (Ask({"hook": {"argv": ["x"]}}), "blocked", {"evaluation": {"hook": {"argv": ["x"]}}}, ""),
        (Escalate("no_match", "r1"), "held", {"trigger": "no_match", "rule": "r1"}, ""),
        (
            Stuck("NoOrigin", "There is none.", "r3"),
            "stuck",
            {"message": "There is none.", "rule": "r3"},
            "NoOrigin",
        ),
    ],
)
def test_where_no_way_leads_on_it_shows_what_would_free_it(
    answer: Any, status: str, wait: dict[str, Any], error: str
) -> None:
    found = stay_of_decision(answer)
    assert (found.status, found.wait, found.error) == (status, wait, error)


# Abort


SIGNALS_ABORT = {"result": "success", "signals": [{"verdict": "abort"}]}
SIGNALS_HOLD = {"result": "success", "signals": [{"verdict": "hold"}, {"verdict": "abort"}]}


def test_abort_ends_the_task_whoever_says_it_and_nothing_else_does() -> None:
    end = finish(rule=None, by="signal")
    assert does_decision_abort_task(about(SIGNALS_ABORT), end)
    assert not does_decision_abort_task(about(SIGNALS_HOLD), end)
    assert not does_decision_abort_task(about(), end)
    assert does_decision_abort_task(about(word="abort"), finish())
    assert not does_decision_abort_task(about(SIGNALS_ABORT, word="reject"), end)
    assert not does_decision_abort_task(about(), finish())
    assert does_decision_abort_task(about(), finish("failed", by="gate"))
    assert not does_decision_abort_task(about(), finish("completed", by="gate"))


# Counting


def test_a_move_counts_its_target_its_edge_and_its_rule_once() -> None:
    assert counter_changes(about(), move("b"), STATIONS) == {
        "visits": {"b": 1},
        "edges": {"a->b": 1},
        "rules": {"r1": 1},
    }
    assert counter_changes(about(), move("b", "c", rule="r2"), STATIONS) == {
        "visits": {"b": 1, "c": 1},
        "edges": {"a->b": 1, "a->c": 1},
        "rules": {"r2": 1},
    }


def test_a_station_that_is_left_with_a_type_of_failure_counts_it_once_whatever_it_forks_into() -> None:
    failed = about({"result": "failure", "failure_type": "license"})
    assert counter_changes(failed, move("b", "c", rule="r2"), STATIONS)["failures"] == {"a:license": 1}
    assert "failures" not in counter_changes(failed, finish(), STATIONS)
    assert "failures" not in counter_changes(about(), move("b"), STATIONS)


def test_an_end_is_an_edge_and_no_visit() -> None:
    assert counter_changes(about(), finish(), STATIONS) == {
        "visits": {},
        "edges": {"a->completed": 1},
        "rules": {"r4": 1},
    }


def test_blocked_counts_its_rule_alone_and_another_wait_nothing() -> None:
    empty: dict[str, dict[str, int]] = {"visits": {}, "edges": {}, "rules": {}}
    assert counter_changes(about(), Wait("blocked", rule="r5"), STATIONS) == {**empty, "rules": {"r5": 1}}
    assert counter_changes(about(), Wait("blocked"), STATIONS) == empty
    assert counter_changes(about(), Wait("held", rule="r5"), STATIONS) == empty
    assert decided_targets(Wait("blocked")) == ("@blocked",)
    assert decided_targets(Wait("held", to=("b",))) == ()


def test_what_was_migrated_is_counted_where_it_lands_and_by_its_own_rule() -> None:
    assert counter_changes(about(), move("b"), {"a", "z"}, ("z",)) == {
        "visits": {"z": 1},
        "edges": {"a->z": 1},
        "rules": {"r1": 1},
    }
    assert counter_changes(about(), Wait("blocked", rule="r5"), STATIONS, ("z",))["edges"] == {}


@pytest.mark.parametrize(
    ("known", "answer", "targets", "taken"),
    [
        ({}, move("b"), ("b",), True),
        ({}, move("c"), ("c",), False),
        ({}, move("b", by="policy"), ("b",), False),
        ({}, move("b", rule="gone"), ("b",), False),
        ({}, move("b", rule=None), ("b",), False),
        ({"origin": "c"}, move("c", rule="r3"), ("c",), True),
        ({"origin": "b"}, move("c", rule="r3"), ("c",), False),
        ({"origin": None}, move("", rule="r3"), ("",), True),
        ({"word": "send_back", "asked_rule": "r1"}, move("b"), ("b",), False),
        ({"word": "send_back", "asked_rule": "r2"}, move("b"), ("b",), True),
        ({"asked_rule": "r1"}, move("b"), ("b",), True),
    ],
)
def test_whether_the_rule_was_taken_or_only_led_there(
    known: dict[str, Any], answer: Move, targets: tuple[str, ...], taken: bool
) -> None:
    assert was_rule_taken(about(**known), answer, targets) is taken


def test_counts_are_added_to_what_was_counted() -> None:
    assert counts_with_added({"a": 1, "b": 2}, {"b": 1, "c": 3}) == {"a": 1, "b": 3, "c": 3}


def test_reworks_by_signal_are_counted_while_they_follow_each_other() -> None:
    reworked = {"result": "success", "signals": [{"verdict": "rework"}]}
    assert reworks_in_a_row_after(about(reworked), move("a", rule=None, by="signal"), 2) == 3
    assert reworks_in_a_row_after(about(reworked), move("a"), 2) == 0
    assert reworks_in_a_row_after(about(), move("a", rule=None, by="signal"), 2) == 0


# What is kept and told


def test_objects_of_stations_that_passed_are_gathered_and_variables_of_moves() -> None:
    passed = about({"result": "success", "output": {"x": 1}})
    assert variables_and_context_to_store(passed, move("b", variables={"v": 1})) == {
        "context": {"x": 1},
        "variables": {"v": 1},
    }
    assert variables_and_context_to_store(passed, finish()) == {"context": {"x": 1}, "variables": {}}
    assert (
        variables_and_context_to_store(about({"result": "success", "output": [1]}), move("b"))["context"]
        == {}
    )
    assert (
        variables_and_context_to_store(about({"result": "failure", "output": {"x": 1}}), move("b"))["context"]
        == {}
    )


def test_a_word_stands_beside_the_facts_of_the_question_and_of_this_moment() -> None:
    facts = {
        "gates": {"g": {"decision": "approve"}, "h": {"decision": "approve"}},
        "rules": {"r": 1},
        "origin": "a",
    }
    now = {"rules": {"r": 2}, "visits": {"a": 1}, "rounds": {"g": 3}}
    words = {"gates": {"g": {"decision": "approve"}, "h": {"decision": "reject"}}}
    found = facts_with_votes(facts, now, {"h": {"decision": "reject"}})
    assert found == {**facts, **words, "now": {"rules": {"r": 2}, "visits": {"a": 1}}}
    assert facts_with_votes(found, {"rules": {"r": 1}, "visits": {"a": 2}}, {})["now"] == {"visits": {"a": 2}}
    assert facts_with_votes({}, {}, {}) == {"gates": {}}


def test_an_answer_comes_after_those_before_it() -> None:
    assert facts_with_answer({"answers": [1], "x": 2}, {}, {"a": 3}) == {"answers": [1, {"a": 3}], "x": 2}
    assert facts_with_answer({}, {"edges": {"a->b": 1}}, {"a": 3}) == {
        "answers": [{"a": 3}],
        "now": {"edges": {"a->b": 1}},
    }


def test_what_is_held_is_decided_by_the_facts_of_this_moment_unless_somebody_was_asked() -> None:
    now = {"edges": {"a->b": 2}, "words": {"g": "approve"}}
    assert facts_of_waiting_token_now({"edges": {}}, now) == now
    for asked in ({"gates": {"g": {"decision": "approve"}}}, {"answers": [1]}):
        assert facts_of_waiting_token_now({"edges": {}, **asked}, now) == {
            "edges": {},
            **asked,
            "now": {"edges": {"a->b": 2}},
        }
    assert facts_for_deciding_anew(
        {"edges": {}, "now": {"edges": {"a->b": 2}, "rules": {"r": 1}}}, {"rules": {"r": 2}}
    ) == {
        "edges": {"a->b": 2},
        "rules": {"r": 2},
    }


def test_a_gate_shows_the_rule_the_targets_and_what_was_said() -> None:
    outcome = {"result": "success", "eval": "ok", "summary": None, "usage": {"s": 1}, "output": {"x": 1}}
    asks = Wait("awaiting_review", gates=("look",), to=("b", "c"), rule="r1")
    assert gate_question(LINE, "a", asks, "look", outcome, "digest") == {
        "gate": "look",
        "station": "a",
        "rule": {"id": "r1", "label": "On"},
        "to": ["b", "c"],
        "outcome": {"result": "success", "eval": "ok", "output_digest": "digest"},
    }
    shown = gate_question(
        LINE, "a", Wait("awaiting_review"), "look", {"exit_code": 0, "verdict": "v", "comment": "c"}, ""
    )
    assert (shown["rule"], shown["to"]) == (None, [])
    assert shown["outcome"] == {"exit_code": 0, "verdict": "v", "comment": "c", "output_digest": ""}
