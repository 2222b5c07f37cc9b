"""Test mode through its door: the state after every step is the one of `simulate`, in words; whatever is sent, it is
answered."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.http import HttpResponse

from pipelines.lines.publishing import create_line
from pipelines.models import Line, Scenario
from pipelines.routing.document.line import read_line
from pipelines.routing.simulate.run import run_scenario_until_refused
from pipelines.routing.simulate.scenario import read_scenario
from tests.factories import World, document, station
from tests.pages.conftest import As, door

pytestmark = pytest.mark.django_db

RULES = [
    {"id": "again", "label": "Try again", "when": {"result": "failure"}, "to": "build", "max_retries": 1},
    {
        "id": "high",
        "label": "Something high",
        "when": {"output": {"path": "$.high", "op": "gt", "value": 0}},
        "to": "fix",
    },
    {"id": "on", "label": "Built", "when": {"result": "success"}, "to": "ship", "gates": ["look"]},
    {"id": "dead", "when": {"result": "failure"}, "to": "ship"},
]
GATES = [{"key": "look", "name": "A look"}]
DOCUMENT = document(
    key="drawn", stations=[station("build", *RULES), station("fix"), station("ship")], gates=GATES
)
FAILURE = {"outcome": {"result": "failure"}}
SUCCESS = {"outcome": {"result": "success"}}
APPROVE = {"gates": {"look": "approve"}}


@pytest.fixture
def line(world: World) -> Line:
    return create_line(world.project, "drawn", "Drawn", DOCUMENT, world.designer)


@pytest.fixture
def walk(world: World, signed_in: As, line: Line) -> Any:
    client = signed_in(world.viewer)

    def sent(*steps: Any, given: Any = None, **more: Any) -> HttpResponse:
        body = {"document": DOCUMENT if given is None else given, "steps": list(steps), **more}
        return client.post(door(world, "/walk"), json.dumps(body), content_type="application/json")

    return sent


def choices(state: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    (token,) = [each for each in state["tokens"] if each["groups"]]
    return [c for group in token["groups"] if group["kind"] == kind for c in group["choices"]]


def test_every_state_is_the_one_of_simulate_step_by_step(walk: Any) -> None:
    steps = [
        FAILURE,
        SUCCESS,
        {"gates": {"look": {"decision": "send_back", "reason": "Shorter"}}},
        SUCCESS,
        APPROVE,
    ]
    steps += [SUCCESS]
    told = run_scenario_until_refused(
        read_line(DOCUMENT), read_scenario({"key": "walk", "steps": steps})
    ).steps
    assert len(told) == len(steps) + 1
    for cursor, expected in enumerate(told):
        state = walk(*steps, cursor=cursor).json()
        assert state["cursor"] == cursor
        assert state["status"] == expected.walk.status
        assert [each["station"] for each in state["tokens"]] == [p.station for p in expected.walk.positions]
        assert state["visits"] == expected.walk.visits
        taken = {(each["rule"], each["target"]): each["count"] for each in state["ways"] if each["rule"]}
        assert sum(taken.values()) == sum(expected.walk.rules.values())
        assert [each["mark"] for each in state["timeline"]] == [
            each["mark"] for each in walk(*steps).json()["timeline"]
        ]


def test_a_choice_does_what_it_said_it_would(walk: Any) -> None:
    state = walk().json()
    rules = {each["rule"]: each for each in choices(state, "rule")}
    assert rules["high"]["then"] == "Fix starts."
    assert rules["on"]["then"] == "A look is asked next."
    assert walk(rules["high"]["step"]).json()["tokens"][0]["station"] == "fix"
    assert walk(rules["on"]["step"]).json()["tokens"][0]["status"] == "awaiting_review"
    assert rules["dead"]["step"] is None
    assert "again" in rules["dead"]["then"]


def test_a_rule_whose_budget_is_used_up_says_what_would_come_of_it(walk: Any) -> None:
    state = walk(FAILURE).json()
    again = next(each for each in choices(state, "rule") if each["rule"] == "again")
    assert again["then"] == "The task fails."
    assert not again["leads"]
    ended = walk(FAILURE, FAILURE).json()
    assert ended["over"]
    assert ended["tokens"][0]["error"] == "RetryLimitExceeded"
    assert "“Try again” was taken 1 of at most 1 times" in state["tokens"][0]["facts"]


def test_a_gate_offers_its_words_with_their_consequences(walk: Any) -> None:
    words = {each["word"]: each for each in choices(walk(SUCCESS).json(), "word")}
    assert words["approve"]["then"] == "Ship starts."
    assert words["send_back"]["then"] == "Build runs again."
    assert words["reject"]["then"] == "The task fails."


def test_the_decision_of_a_step_is_explained_rule_by_rule(walk: Any) -> None:
    why = walk(SUCCESS).json()["why"]
    assert "Something high" in why
    assert "no value" in why
    assert "Matched" in why
    assert "Try again" in walk(SUCCESS, FAILURE, cursor=1).json()["why"]


def test_an_outcome_is_filled_in_field_by_field(walk: Any) -> None:
    form = walk().json()["tokens"][0]["form"]
    assert [field["path"] for field in form["fields"]] == ["$.high"]
    state = walk(form={"values": {"result": "success", "output": {"$.high": "2"}}}).json()
    assert state["asked"] == [{"outcome": {"result": "success", "output": {"high": 2}}}]
    assert state["tokens"][0]["station"] == "fix"


@pytest.mark.parametrize(
    ("values", "place"),
    [
        ({}, "form.result"),
        ({"result": "done"}, "form.result"),
        ({"exit_code": "two"}, "form.exit_code"),
        ({"result": "success", "output": {"$..high": "1"}}, "form.output[$..high]"),
        ({"result": "success", "output": {"a": "1", "a.b": "2"}}, "form.output[a.b]"),
        ({"json": "{"}, "form.json"),
        ({"json": '{"result": "success", "outptu": 1}'}, "form.json"),
        ({"json": "[]"}, "form.json"),
        ({"result": 3}, "form.result"),
        ({"result": "success", "output": {"$[101]": "1"}}, "form.output[$[101]]"),
        ({"result": "success", "strange": "1"}, "form.strange"),
    ],
)
def test_a_field_that_is_wrong_is_named(walk: Any, values: dict[str, Any], place: str) -> None:
    answer = walk(form={"values": values})
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["path"] == place


def test_a_step_that_no_longer_fits_is_named_and_what_came_before_it_stands(walk: Any) -> None:
    state = walk(FAILURE, APPROVE).json()
    assert state["cursor"] == 1
    assert state["refused"] == {
        "step": 2,
        "message": "build has not reported yet: words at gates cannot come now",
    }


def test_an_evaluation_that_is_asked_is_answered_by_choice(walk: Any) -> None:
    asks = {"all": [{"result": "success"}, {"agentic": {"question": "Good?"}, "answer": "yes"}]}
    rules = [{"id": "good", "when": asks, "to": "completed"}, {"id": "bad", "to": "failed"}]
    given = document(key="drawn", stations=[station("build", *rules)], flags={"agentic_conditions": True})
    state = walk(SUCCESS, given=given).json()
    assert state["tokens"][0]["text"] == "Good?"
    answers = {each["label"]: each["then"] for each in choices(state, "answer")}
    assert answers == {"yes": "The task is done: Completed.", "no": "The task fails."}


def test_branches_wait_at_a_join_and_go_on_as_one(walk: Any) -> None:
    stations = [
        station("build", {"id": "both", "to": ["left", "right"]}),
        station("left", {"id": "l", "to": "meet"}),
        station("right", {"id": "r", "to": "meet"}),
        station("meet", {"id": "m", "to": "completed"}, join={"wait_for": ["left", "right"]}),
    ]
    given = document(key="drawn", stations=stations)
    state = walk(SUCCESS, SUCCESS, given=given).json()
    waiting, other = state["tokens"]
    assert (waiting["station"], waiting["text"], waiting["groups"]) == ("meet", "Waits for right.", [])
    assert other["groups"]
    state = walk(SUCCESS, SUCCESS, SUCCESS, given=given).json()
    assert [each["station"] for each in state["tokens"]] == ["meet"]
    assert state["timeline"][-1]["went"].endswith("The branches meet at meet: left passed, right passed.")


def test_branches_are_walked_one_by_one(walk: Any) -> None:
    stations = [station("build", {"id": "both", "to": ["left", "right"]}), "left", station("right")]
    state = walk(SUCCESS, given=document(key="drawn", stations=stations)).json()
    step = state["tokens"][1]["groups"][0]["choices"][0]["step"]
    assert step["at"] == "right"
    after = walk(SUCCESS, step, given=document(key="drawn", stations=stations)).json()
    assert [each["over"] for each in after["tokens"]] == [False, True]


def test_a_document_that_is_no_line_has_its_problems(walk: Any) -> None:
    answer = walk(given={"gateline": 1, "key": "drawn", "stations": []})
    assert answer.status_code == 400
    assert answer.json()["errors"]


def test_a_faulty_rule_is_stuck_when_it_is_reached(walk: Any) -> None:
    rules = [{"id": "broken", "when": {"resutl": "success"}, "to": "completed"}]
    state = walk(SUCCESS, given=document(key="drawn", stations=[station("build", *rules)])).json()
    assert state["tokens"][0]["error"] == "InvalidTransitionSyntax"
    assert state["tokens"][0]["remedy"]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xff",
        "[]",
        "null",
        "{}",
        '{"document": []}',
        '{"document": {}, "steps": {}}',
        '{"document": {}, "steps": [3]}',
        '{"document": {}, "steps": [{"outcome": {}}]}',
        '{"document": {}, "steps": [{"outcome": {"result": "success", "output": "\\u0000"}}]}',
        '{"document": {}, "steps": [{"outcome": {"result": "success", "output": 1e999}}]}',
        '{"document": {}, "steps": [{"gates": {"a": {"decision": []}}}]}',
        '{"document": {}, "steps": [{"answers": [{"agentic": 3, "answer": "yes"}]}]}',
        '{"document": {}, "cursor": -1}',
        '{"document": {}, "cursor": 99999999999999999999}',
        '{"document": {"name": "\\ud800"}}',
        '{"document": {}, "inputs": {"a": ' + "[" * 200 + "]" * 200 + "}}",
        '{"document": {}, "form": {"values": {"output": {"$[": "1"}}}}',
        '{"document": {}, "form": {"values": 3}}',
        '{"document": {}, "expect": {"path": 3}}',
        '{"document": {}, "steps": [' + ",".join(["{}"] * 1001) + "]}",
    ],
)
def test_whatever_is_sent_is_answered_with_its_place(
    world: World, signed_in: As, line: Line, body: Any
) -> None:
    client = signed_in(world.viewer)
    answer = client.post(door(world, "/walk"), body, content_type="application/json")
    assert answer.status_code == 400
    assert answer.json()["detail"]
    assert not Scenario.objects.exists()
