"""A walk goes where `decide` says, and counts as the engine counts."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.routing.decide.decisions import Finish, Stuck
from pipelines.routing.simulate.coverage import covered_parts
from pipelines.routing.simulate.run import ScenarioResult, run_scenario_until_refused
from pipelines.routing.simulate.scenario import read_scenario
from tests.routing.simulate.support import FAILED, OK, messages, walked
from tests.routing.support import line, ruled

REVIEWED = {
    "gates": [
        {"key": "review", "name": "Review", "offers": ["approve", "send_back", "reject", "rework", "abort"]}
    ]
}
APPROVE: dict[str, Any] = {"gates": {"review": "approve"}}


def gated(**more: Any) -> Any:
    return ruled({"when": {"result": "success"}, "gates": ["review"]}, **{**REVIEWED, **more})


def test_it_walks_from_the_start_to_an_end() -> None:
    result = walked(
        line({}, {}), OK, OK, expect={"path": ["a", "b"], "end": "completed", "status": "completed"}
    )
    assert result.holds
    assert [step.decision.kind for step in result.steps[1:] if step.decision] == ["move", "finish"]


def test_every_step_has_its_trace_and_the_position_after_it() -> None:
    result = walked(ruled({"when": {"result": "failure"}, "to": "c"}), FAILED)
    told = result.to_dict()["steps"][1]
    assert told["decision"]["trace"][0]["rule"] == "r1"
    assert told["positions"] == [{"station": "c", "status": "queued", "origin": "a"}]


def test_it_counts_visits_edges_and_rules() -> None:
    again = {"when": {"result": "failure"}, "to": "a", "max_retries": 5}
    walk = walked(ruled(again, {}), FAILED, FAILED, OK).walk
    assert walk is not None
    assert (walk.visits, walk.edges, walk.rules) == (
        {"a": 3, "b": 1},
        {"a->a": 2, "a->b": 1},
        {"r1": 2, "r2": 1},
    )


def test_a_condition_on_an_edge_sees_what_was_counted() -> None:
    third = {"when": {"edge": {"from": "a", "to": "a", "at_least": 2}}, "to": "c"}
    result = walked(ruled(third, {"to": "a", "max_retries": 9}), OK, OK, OK)
    assert result.path == ("a", "a", "a", "c")


def test_a_spent_budget_takes_no_rule() -> None:
    result = walked(ruled({"to": "a", "max_retries": 1, "on_exhausted": {"to": "b"}}), OK, OK)
    assert result.path == ("a", "a", "b")
    assert result.matched_rules == ("r1",)


def test_an_opened_gate_waits_for_its_words() -> None:
    result = walked(gated(), OK, OK)
    assert messages(result) == ["step 2: a is awaiting_review at review: an outcome cannot come now"]
    assert walked(gated(), OK, APPROVE).matched_rules == ("r1",)


def test_two_gates_wait_for_both_approvals() -> None:
    both = ruled(
        {"gates": ["one", "two"]}, gates=[{"key": "one", "name": "One"}, {"key": "two", "name": "Two"}]
    )
    first, second = ({"gates": {key: "approve"}} for key in ("one", "two"))
    half = walked(both, OK, first, expect={"status": "awaiting_review"})
    assert half.holds
    assert half.steps[-1].decision is None
    assert walked(both, OK, first, second).path == ("a", "b")
    assert walked(both, OK, {"gates": {"one": "approve", "two": "approve"}}).path == ("a", "b")


def test_a_gate_that_is_not_open_takes_no_word() -> None:
    assert (
        "gate other is not open here, but review"
        in messages(walked(gated(), OK, {"gates": {"other": "approve"}}))[0]
    )


def test_a_word_that_is_not_offered_is_refused() -> None:
    plain = ruled({"gates": ["review"]}, gates=[{"key": "review", "name": "Review"}])
    assert "does not offer abort" in messages(walked(plain, OK, {"gates": {"review": "abort"}}))[0]


def test_sending_back_counts_rounds_until_none_is_left() -> None:
    back = {"gates": {"review": {"decision": "send_back", "reason": "shorter"}}}
    twice = walked(gated(), OK, back, OK, back)
    assert twice.walk is not None
    assert twice.walk.rounds == {"review": 2}
    assert twice.walk.positions[0].feedback == "shorter"
    # Three rounds are allowed; the fourth is refused.
    assert "sent back 3 times already" in messages(walked(gated(), *[OK, back] * 4))[0]


def test_a_rejection_is_not_asked_again_while_nothing_changed() -> None:
    reject = {"gates": {"review": {"decision": "reject", "reason": "no"}}}
    of = gated(policy={"on_reject": "rework"})
    assert walked(of, OK, reject, OK, expect={"status": "held"}).holds
    changed = {"outcome": {"result": "success", "output": {"n": 2}}}
    assert walked(of, OK, reject, changed, expect={"status": "awaiting_review"}).holds


def test_rework_by_a_person_takes_the_failure_route() -> None:
    of = gated(
        station={
            "rules": [
                {"id": "on", "when": {"result": "success"}, "to": "b", "gates": ["review"]},
                {"id": "off", "when": {"result": "failure"}, "to": "c"},
            ]
        }
    )
    result = walked(of, OK, {"gates": {"review": {"decision": "rework", "reason": "again"}}})
    assert (result.path, result.matched_rules) == (("a", "c"), ("off",))


def test_what_a_gate_led_to_takes_no_rule() -> None:
    result = walked(gated(), OK, {"gates": {"review": "abort"}}, expect={"end": "failed", "rules": []})
    assert result.holds


def test_a_blocked_station_runs_again_with_the_answer() -> None:
    asks = {
        "outcome": {"result": "blocked", "signals": [{"verdict": "hold", "meta": {"question": "Which?"}}]}
    }
    result = walked(line({}, {}), asks, {"answer": "This one."}, OK)
    assert result.path == ("a", "a", "b")
    assert result.steps[2].walk.positions[0].feedback == "This one."


def test_an_evaluation_waits_for_its_answer() -> None:
    question = {"agentic": {"question": "Good?"}}
    asking = ruled({"when": {**question, "answer": "yes"}}, {"to": "c"}, flags={"agentic_conditions": True})
    assert walked(asking, OK, expect={"status": "blocked"}).holds
    assert walked(asking, OK, {"answers": [{**question, "answer": "yes"}]}).path == ("a", "b")
    assert walked(asking, OK, {"answers": [{**question, "answer": "no"}]}).path == ("a", "c")
    assert walked(asking, {**OK, "answers": [{**question, "answer": "no"}]}).path == ("a", "c")
    assert "say `answers`" in messages(walked(asking, OK, {"answer": "yes"}))[0]


def test_rework_signals_are_counted_in_a_row() -> None:
    rework = {"outcome": {"result": "success", "signals": [{"verdict": "rework"}]}}
    result = walked(line({"limits": {"max_retries": 2}}, {}), rework, rework)
    assert result.walk is not None
    assert result.walk.positions[0].signal_reworks == 2
    assert walked(line({"limits": {"max_retries": 2}}, {}), *[rework] * 3, expect={"status": "failed"}).holds


def test_at_origin_leads_back_where_it_came_from() -> None:
    of = line(
        {"rules": [{"id": "aside", "to": "c"}]},
        {},
        {"rules": [{"id": "back", "to": "@origin"}]},
    )
    assert walked(of, OK, OK).path == ("a", "c", "a")


def test_the_context_is_merged_and_outputs_of_failures_are_not() -> None:
    of = line({}, {"rules": [{"id": "loop", "when": {"result": "failure"}, "to": "b"}]}, {})
    result = walked(
        of,
        {"outcome": {"result": "success", "output": {"x": 1, "y": 1}}},
        {"outcome": {"result": "failure", "output": {"x": 2}}},
        {"outcome": {"result": "success", "output": {"y": 3}}},
    )
    assert result.walk is not None
    assert result.walk.context == {"x": 1, "y": 3}


def test_rules_set_variables() -> None:
    result = walked(
        ruled({"compose": [{"var": "n", "path": "$.n"}]}),
        {"outcome": {"result": "success", "output": {"n": 7}}},
    )
    assert result.walk is not None
    assert result.walk.variables == {"n": 7}


def test_inputs_are_filled_and_unknown_ones_refused() -> None:
    of = line({}, inputs=[{"key": "goal", "default": "g"}, {"key": "other"}])
    walk = walked(of, inputs={"other": "o"}).walk
    assert walk is not None
    assert walk.inputs == {"goal": "g", "other": "o"}
    assert messages(walked(of, inputs={"gaol": "x"})) == ["inputs.gaol: is not an input of this line"]


def test_after_the_end_every_step_is_refused_by_its_number() -> None:
    assert messages(walked(line({}), OK, OK, OK)) == ["step 2: the walk is over: it ended at completed"]


def test_a_stuck_task_can_be_retried_by_hand() -> None:
    of = ruled({"when": {"result": "failure"}}, policy={"no_match": "stuck"})
    assert walked(of, OK, {"retry": True}, FAILED).path == ("a", "a", "b")
    assert "has not reported yet" in messages(walked(of, {"retry": True}))[0]


class TestForks:
    FORK = ({"rules": [{"id": "fork", "to": ["b", "c"]}]}, {"rules": [{"id": "b-on", "to": "d"}]}, {}, {})

    def test_the_first_branch_is_walked_unless_a_step_names_another(self) -> None:
        result = walked(line(*self.FORK), OK, {"at": "c", **OK}, OK)
        assert [step.station for step in result.steps[1:]] == ["a", "c", "b"]
        assert result.path == ("a", "b", "c", "d", "d")

    def test_a_step_at_a_station_where_nothing_stands_is_refused(self) -> None:
        assert messages(walked(line(*self.FORK), OK, {"at": "a", **OK})) == [
            "step 2: no token stands at a, but at b, c"
        ]

    def test_the_task_ends_as_its_worst_branch(self) -> None:
        stations = list(self.FORK)
        stations[1] = {"rules": [{"id": "b-on", "when": {"result": "success"}, "to": "d"}]}
        result = walked(line(*stations), OK, FAILED, OK, OK, expect={"end": "failed", "status": "failed"})
        assert result.holds, messages(result)
        assert result.path == ("a", "b", "c", "d")

    def test_abort_ends_every_branch(self) -> None:
        abort = {"outcome": {"result": "success", "signals": [{"verdict": "abort"}]}}
        result = walked(line(*self.FORK), OK, abort)
        assert result.walk is not None
        assert [each.status for each in result.walk.positions] == ["failed", "failed"]

    def joined(self, *steps: Any, aggregation: str = "all-pass", **more: Any) -> ScenarioResult:
        join = {"wait_for": ["b", "c"], "aggregation": aggregation}
        stations = [
            {"rules": [{"id": "fork", "to": ["b", "c"]}]},
            {"rules": [{"id": "b-on", "to": "d"}]},
            {"rules": [{"id": "c-on", "to": "d"}]},
            {"join": join, "rules": [{"id": "up", "when": {"verdict": "pass"}, "to": "completed"},
                                     {"id": "back", "to": "failed"}]},
        ]  # fmt: skip
        return walked(line(*stations), *steps, **more)

    def test_a_join_waits_for_its_branches_and_goes_on_as_one(self) -> None:
        result = self.joined(OK, OK, OK, OK, expect={"end": "completed", "path": ["a", "b", "c", "d"]})
        assert result.holds, messages(result)
        assert result.matched_rules == ("fork", "b-on", "c-on", "up")
        waiting = result.steps[2].walk.positions[0]
        assert (waiting.station, waiting.status) == ("d", "queued")
        assert waiting.arrival is not None and waiting.arrival.source == "b"
        merged = result.steps[3]
        assert [each.merge.verdict for each in merged.joined] == ["pass"]
        assert [each.within for each in merged.walk.positions] == [()]

    def test_a_join_that_is_no_pass_is_routed_without_running(self) -> None:
        result = self.joined(
            OK, OK, FAILED, expect={"end": "failed", "rules": ["fork", "b-on", "c-on", "back"]}
        )
        assert result.holds, messages(result)
        (joined,) = result.steps[-1].joined
        assert isinstance(joined.decision, Finish)
        assert (joined.merge.verdict, joined.decision.rule) == ("fail", "back")
        assert {"up", "back"} <= covered_parts(result).tested

    def test_nothing_can_be_done_where_a_branch_waits(self) -> None:
        result = self.joined(OK, OK, {"at": "d", "outcome": OK["outcome"]})
        assert messages(result) == ["step 3: no token stands at d, but at c"]


class TestExpectations:
    def test_a_path_that_went_elsewhere_names_step_expected_got_and_why(self) -> None:
        result = walked(
            ruled({"when": {"result": "failure"}, "to": "c"}, {}), FAILED, expect={"path": ["a", "b"]}
        )
        failure = result.failures[0]
        assert (failure.step, failure.expected, failure.got) == (1, ["a", "b"], ["a", "c"])
        assert str(failure) == "step 1: station 2: expected b, got c (rules: r1 true; goes to c (by rule))"

    @pytest.mark.parametrize(
        ("expect", "message"),
        [
            ({"path": ["a", "b", "c"]}, "station 3: expected c, got nothing more"),
            ({"path": ["a"]}, "station 2: expected nothing more, got b"),
            ({"rules": []}, "rule 1: expected nothing more, got r1"),
            ({"end": "completed"}, "end: expected completed, got none"),
            ({"status": "stuck"}, "status: expected stuck, got queued"),
        ],
    )
    def test_each_expectation_is_told_plainly(self, expect: dict[str, Any], message: str) -> None:
        assert message in messages(walked(ruled({}), OK, expect=expect))[0]

    def test_no_expectation_holds(self) -> None:
        assert walked(ruled({}), OK).holds

    def test_all_that_does_not_hold_is_told(self) -> None:
        expect = {"path": [], "rules": [], "end": "completed", "status": "failed"}
        assert [each.what for each in walked(ruled({}), OK, expect=expect).failures] == [
            "path",
            "rules",
            "end",
            "status",
        ]


def test_C25_what_could_not_be_read_stops_who_asks_for_it() -> None:
    asks = {"work": {"kind": "command", "argv": ["x"], "prompt": "{{context.high}}"}}
    result = walked(
        line({"output_keys": ["high"]}, {}, asks),
        {"outcome": {"result": "success", "output_error": "line 1"}},
        {"outcome": {"result": "success"}},
    )
    assert result.walk is not None
    assert (result.walk.status, result.walk.unreadable) == ("stuck", {"high": "a"})


TAKEN = {"when": {"edge": {"from": "c", "to": "d", "at_least": 1}}, "to": "d"}


def overtaken(word: Any, **more: Any) -> ScenarioResult:
    """b asks, then c goes to d, by which another rule of b would be true; then the word is said."""
    behind = {"id": "on", "to": "completed", "gates": ["review"], "max_retries": 1, **more.pop("rule", {})}
    of = line(
        {"rules": [{"id": "fork", "to": ["b", "c"]}]},
        {"rules": [{"id": "late", **TAKEN}, behind]},
        {"rules": [{"id": "c", "to": "d"}]},
        {"rules": [{"id": "d", "to": "completed"}]},
        **{**REVIEWED, **more},
    )
    steps = ({**OK, "at": "a"}, {**OK, "at": "b"}, {**OK, "at": "c"}, {"at": "b", "gates": {"review": word}})
    return walked(of, *steps)


def test_a_word_goes_where_it_was_shown_although_a_sibling_moved() -> None:
    assert overtaken("approve").steps[-1].rules == ("on",)
    refused = overtaken({"decision": "reject", "reason": "No."}).steps[-1].decision
    assert isinstance(refused, Finish)
    assert (refused.end, refused.by) == ("failed", "gate")


def test_but_step_7_reads_what_the_sibling_spent() -> None:
    budget = {
        "key": "few",
        "kind": "edges",
        "edges": ["c->d", "b->completed"],
        "most": 1,
        "on_exhausted": "stuck",
    }
    decision = overtaken("approve", budgets=[budget]).steps[-1].decision
    assert isinstance(decision, Stuck)
    assert decision.error == "RetryLimitExceeded"


def test_a_walk_reads_what_was_observed_at_another_station_until_the_files_change() -> None:
    clean = {"fact": {"path": "$.stations.a.tests.failed", "op": "equals", "value": 0}}
    of = line({}, {"rules": [{"id": "clean", "when": clean, "to": "completed"}, {"id": "back", "to": "a"}]})
    counted = {"outcome": {"exit_code": 0, "facts": {"tests": {"failed": 0}}}}
    changed = {"outcome": {"exit_code": 0, "facts": {"git": {"tree": "t2"}}}}
    same = {"outcome": {"exit_code": 0}}
    for last, taken in ((same, ("clean",)), (changed, ("back",))):
        found = run_scenario_until_refused(of, read_scenario({"key": "walk", "steps": [counted, last]}))
        assert found.matched_rules == taken


def forked_walk(**join: Any) -> ScenarioResult:
    """b observes tests, then c, beside it, decides by them; d, where both meet, does too."""
    clean = {"fact": {"path": "$.stations.b.tests.failed", "op": "equals", "value": 0}}
    of = line(
        {"rules": [{"id": "fork", "to": ["b", "c"]}]},
        {"rules": [{"id": "b", "to": "d"}]},
        {"rules": [{"id": "seen", "when": clean, "to": "d"}, {"id": "unseen", "to": "d"}]},
        {"rules": [{"id": "clean", "when": clean, "to": "completed"}, {"id": "back", "to": "a"}], **join},
    )
    counted = {"exit_code": 0, "facts": {"tests": {"failed": 0}}}
    return walked(
        of, {**OK, "at": "a"}, {"at": "b", "outcome": counted}, {**OK, "at": "c"}, {**OK, "at": "d"}
    )


def test_a_branch_does_not_read_what_its_sibling_observed_but_a_join_does() -> None:
    assert forked_walk(join={"wait_for": ["b", "c"]}).matched_rules == ("fork", "b", "unseen", "clean")
