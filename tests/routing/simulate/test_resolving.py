"""A walk stops where something is escalated or missing, shows it, and goes on as a step says. That it does so as the
engine does is held by tests/engine/test_simulated.py."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.routing.basics.problems import Malformed
from pipelines.routing.document.line import ParsedLine
from pipelines.routing.simulate.choices import RESOLVE, THERE, simulation_choices
from pipelines.routing.simulate.run import ScenarioResult
from pipelines.routing.simulate.scenario import read_scenario
from tests.routing.simulate.support import FAILED, OK, messages, said, walked
from tests.routing.support import line, ruled

LEAD = {"escalations": [{"trigger": "no_match", "role": "Lead", "sla": "4h", "on_breach": ["block"]}]}
ESCALATES = {"policy": {"no_match": "escalate", "on_failure": "escalate"}, **LEAD}
HANDOFF: dict[str, Any] = {"requires": ["handoff"]}


def stops(**more: Any) -> ParsedLine:
    """Success is taken by no rule of the first station."""
    return ruled(
        {"when": {"result": "failure"}}, {"when": {"result": "blocked"}, "to": "c"}, **ESCALATES, **more
    )


def resolve(word: str, **more: str) -> dict[str, Any]:
    return {"resolve": {"word": word, **more} if more else word}


def standing(result: ScenarioResult) -> tuple[str, str]:
    assert result.walk is not None
    return result.walk.status, result.walk.positions[0].station


def test_what_is_escalated_is_held_for_its_role() -> None:
    result = walked(stops(), OK)
    assert standing(result) == ("held", "a")
    (opened,) = result.to_dict()["steps"][-1]["escalations"]
    assert opened == {"trigger": "no_match", "role": "Lead", "station": "a"}


@pytest.mark.parametrize(
    ("step", "path", "status"),
    [
        (resolve("retry", reason="once more"), ("a", "a"), "queued"),
        (resolve("route", route="c"), ("a", "c"), "queued"),
        (resolve("cancel"), ("a",), "cancelled"),
    ],
)
def test_it_goes_on_as_the_answer_says(step: dict[str, Any], path: tuple[str, ...], status: str) -> None:
    result = walked(stops(), OK, step, expect={"status": status})
    assert result.holds, messages(result)
    assert result.path == path
    assert result.walk is not None and result.walk.escalations == ()


@pytest.mark.parametrize(
    ("step", "why"),
    [
        (resolve("go_on"), "the same would be escalated again"),
        (resolve("route", route="nowhere"), "may be sent: b, c"),
        (resolve("choose", route="b"), "nothing is contradicted here"),
        (resolve("retry", trigger="security"), "no escalation security is open; open: no_match"),
    ],
)
def test_an_answer_that_the_engine_would_refuse_is_refused(step: dict[str, Any], why: str) -> None:
    assert why in messages(walked(stops(), OK, step))[0]


def test_a_retry_by_hand_resolves_nothing_and_no_forward_move_is_made_meanwhile() -> None:
    of = stops()
    held = walked(of, OK, {"retry": True}, FAILED)
    assert standing(held) == ("held", "a")
    assert held.walk is not None and held.walk.positions[0].wait["missing"] == ["no_open_escalation"]
    on = walked(of, OK, {"retry": True}, FAILED, resolve("go_on"))
    # What had only waited for the answer is decided again with it.
    assert (standing(on), on.matched_rules) == (("queued", "b"), ("r1",))
    assert [at for at, _ in on.steps[-1].also] == ["a"]


def test_a_task_that_is_escalated_by_hand_does_not_go_forward() -> None:
    of = line({}, {})
    assert standing(walked(of, {"escalate": "security"}, OK)) == ("held", "a")
    assert standing(walked(of, {"escalate": "security"}, OK, resolve("go_on"))) == ("queued", "b")


def test_what_is_done_at_once_holds_the_other_branches_too() -> None:
    fork = {"rules": [{"id": "fork", "to": ["b", "c"]}]}
    only = {"rules": [{"id": "f", "when": {"result": "failure"}, "to": "d"}]}
    at_once = {
        "escalations": [{"trigger": "no_match", "role": "Lead", "at_once": ["block", "convene_review"]}]
    }
    of = line(fork, only, {}, {}, **{**ESCALATES, **at_once})
    result = walked(of, OK, OK)
    assert result.walk is not None
    assert [each.status for each in result.walk.positions] == ["held", "held"]
    assert [each.trigger for each in result.walk.escalations] == ["no_match", "review"]
    on = walked(of, OK, OK, resolve("retry", trigger="no_match"))
    assert on.walk is not None and [each.status for each in on.walk.positions] == ["queued", "queued"]


def test_what_begins_while_something_blocks_the_task_waits_until_the_last_of_it_is_resolved() -> None:
    blocking = [{"trigger": word, "role": "Lead", "at_once": ["block"]} for word in ("no_match", "security")]
    of = ruled({"when": {"result": "failure"}}, **{**ESCALATES, "escalations": blocking})
    retried = (OK, {"escalate": "security"}, {"retry": True})
    held = walked(of, *retried).walk
    assert held is not None and held.status == "held"
    wait = held.positions[0].wait
    assert (wait["trigger"], [each["trigger"] for each in wait["then"]]) == ("no_match", ["security"])
    one, other = (resolve("go_on", trigger=word) for word in ("no_match", "security"))
    assert standing(walked(of, *retried, one)) == ("held", "a")
    assert standing(walked(of, *retried, one, other)) == ("queued", "a")


def test_the_values_of_one_branch_are_chosen_where_they_contradict_each_other() -> None:
    of = line(
        {"rules": [{"id": "fork", "to": ["b", "c"]}]},
        {"rules": [{"id": "b-on", "to": "d"}]},
        {"rules": [{"id": "c-on", "to": "d"}]},
        {"join": {"wait_for": ["b", "c"]}},
        policy={"contradiction": "escalate"},
    )
    one, other = ({"outcome": {"result": "success", "output": {"n": n}}} for n in (1, 2))
    assert standing(walked(of, OK, one, other)) == ("held", "d")
    chosen = walked(of, OK, one, other, resolve("choose", route="b"))
    assert chosen.walk is not None
    assert (standing(chosen), chosen.walk.context) == (("queued", "d"), {"n": 1})


def test_what_was_missing_is_said_to_be_there_one_by_one() -> None:
    of = line({"requires": ["handoff", "metadata:model"]}, {})
    held = {**OK, "missing": ["handoff", "metadata:model"]}
    assert standing(walked(of, held)) == ("held", "a")
    half = walked(of, held, {"reconsider": True, "missing": ["handoff"]})
    assert half.walk is not None and half.walk.positions[0].wait["missing"] == ["handoff"]
    assert standing(walked(of, held, {"reconsider": True})) == ("queued", "b")
    assert "nothing is missing at a" in messages(walked(of, {"reconsider": True}))[0]


def test_that_the_gate_was_not_passed_only_another_run_mends() -> None:
    gate = {
        "key": "g",
        "mode": "auto",
        "checks": {"all": [{"field": "exit_code", "operator": "equals", "value": 0}]},
    }
    of = line({"requires": ["station_gate"], "gate": "g"}, {}, gates=[gate])
    past = {"outcome": {"result": "success", "signals": [{"verdict": "proceed"}]}}
    assert "station_gate is still missing at a" in messages(walked(of, past, {"reconsider": True}))[0]


def test_a_scenario_with_these_steps_is_written_as_it_is_read() -> None:
    steps = [
        {"escalate": "security"},
        {"escalate": {"trigger": "security", "reason": "why"}},
        {"resolve": "go_on"},
        {"at": "a", "resolve": {"word": "route", "route": "b", "reason": "so", "trigger": "no_match"}},
        {"missing": ["handoff"], "reconsider": True},
    ]
    assert read_scenario(said(*steps)).to_dict()["steps"] == steps


@pytest.mark.parametrize(
    ("step", "why"),
    [
        ({"resolve": "undo"}, "steps[0].resolve.word: has to be one of go_on, choose"),
        ({"resolve": {"route": "b"}}, "steps[0].resolve.word: is missing"),
        ({"resolve": "route"}, "steps[0].resolve.route: names a station"),
        (
            {"resolve": {"word": "retry", "route": "b"}},
            "steps[0].resolve.route: stands only with route or choose",
        ),
        ({"escalate": {"reason": "x"}}, "steps[0].escalate.trigger: is missing"),
        ({"reconsider": False}, "steps[0].reconsider: has to be true"),
        ({"retry": True, "missing": ["x"]}, "steps[0].missing: stands beside an outcome or reconsider"),
    ],
)
def test_a_step_that_is_none_is_refused_at_its_place(step: dict[str, Any], why: str) -> None:
    with pytest.raises(Malformed) as refused:
        read_scenario(said(step))
    assert why in str(refused.value)


class TestChoices:
    def words(self, of: ParsedLine, *steps: dict[str, Any]) -> list[tuple[str, dict[str, str]]]:
        walk = walked(of, *steps).walk
        assert walk is not None
        found = simulation_choices(of, walk, walk.positions[walk.first_active_index])
        return [
            (each.kind, dict(each.step.details))
            for each in found
            if each.kind in (RESOLVE, THERE) and each.step
        ]

    def test_every_answer_that_is_possible_is_offered(self) -> None:
        found = self.words(stops(), OK)
        assert [(said["word"], said.get("route")) for kind, said in found if kind == RESOLVE] == [
            ("retry", None),
            ("route", "b"),
            ("route", "c"),
            ("cancel", None),
        ]

    def test_an_escalation_that_holds_no_station_is_offered_where_the_task_stands(self) -> None:
        found = self.words(line({}, {}), {"escalate": "security"})
        assert [said for _, said in found] == [
            {"word": "go_on", "trigger": "security"},
            {"word": "cancel", "trigger": "security"},
        ]

    def test_what_is_missing_can_be_said_to_be_there(self) -> None:
        held = {**OK, "missing": ["handoff"]}
        assert [kind for kind, _ in self.words(line(HANDOFF, {}), held)] == [THERE]


def test_a_task_that_is_cancelled_is_cancelled_also_behind_a_branch_that_failed() -> None:
    """As the engine ends it (law §7): of branches that ended apart the worst would count."""
    fork, lost = (
        {"rules": [{"id": key, "to": to}]} for key, to in (("fork", ["b", "c"]), ("lost", "failed"))
    )
    of = line(fork, lost, {}, escalations=[{"trigger": "odd", "role": "Lead"}])
    steps = [OK, {"at": "b", **OK}, {"at": "c", "escalate": "odd"}, resolve("cancel", trigger="odd")]
    result = walked(of, *steps)
    assert result.walk is not None
    assert (result.walk.status, result.walk.end) == ("cancelled", "cancelled")


def test_nothing_is_run_again_beside_what_it_must_never_run_with() -> None:
    """As the engine refuses it (law §17)."""
    forked = line(
        {"rules": [{"id": "fork", "to": ["b", "c", "d"]}]},
        {"rules": [{"id": "b-on", "to": "e"}]},
        {"rules": [{"id": "c-on", "to": "e"}]},
        {"rules": [{"id": "d-on", "to": "completed"}]},
        {"join": {"wait_for": ["b", "c"]}, "rules": [{"id": "e-on", "to": "completed"}]},
        forbidden_parallel=[["d", "e"]],
    )
    joined, again = (OK, {"at": "b", **OK}, {"at": "c", **OK}), {"at": "e", "retry": True}
    refused = walked(forked, *joined, again)
    assert "e and d must never run in parallel." in messages(refused)[0]
    gone = walked(forked, *joined, {"at": "d", **OK}, again, OK, expect={"end": "completed"})
    assert gone.holds, messages(gone)
