"""How a task gets into each state, with everything behind it that a late or repeated word could be about: a lost
attempt, a finished job of a worker and of a person, and a review that is over."""

from __future__ import annotations

from collections.abc import Callable

from pipelines import engine
from pipelines.models import Agent
from tests.engine.stateful.entries import OVER
from tests.engine.stateful.walk import Walk

Route = Callable[[Walk], int]
PAST: list[int] = []


def said(word: str) -> dict[str, object]:
    return {"result": "success", "eval": word}


def _past(walk: Walk, token: int) -> None:
    """From a queued job of a worker, over a manual station and a gate, to the next queued job. It is the same way each
    time: looked at once, and again with all that follows."""
    watched, walk.watched = walk.watched, walk.watched and not PAST
    PAST.append(token)
    _go_past(walk, token)
    walk.watched = watched


def _go_past(walk: Walk, token: int) -> None:
    for key in ("start", "jump", "sweep", "start"):
        walk.do(key, token)
    if walk.migrates:
        walk.do("migrate", token)
    walk.do("report", token, outcome=said("on"))
    walk.do("complete", token, outcome=said("on"))
    walk.do("approve", token)


def queued(walk: Walk) -> int:
    token = walk.submit("crossroads")
    _past(walk, token)
    return token


def running(walk: Walk) -> int:
    token = queued(walk)
    walk.do("start", token)
    return token


def overdue(walk: Walk) -> int:
    token = running(walk)
    walk.do("jump", token)
    return token


def overdue_last(walk: Walk) -> int:
    token = overdue(walk)
    for key in ("sweep", "start", "jump") * 2:
        walk.do(key, token)
    return token


def reporting(word: str) -> Route:
    """The job of `hub` said so."""

    def route(walk: Walk) -> int:
        token = running(walk)
        walk.do("report", token, outcome=said(word))
        return token

    return route


def then(route: Route, *keys: str) -> Route:
    """And what is done after it."""

    def further(walk: Walk) -> int:
        token = route(walk)
        for key in keys:
            walk.do(key, token)
        return token

    return further


def asked_of_a_machine(walk: Walk) -> int:
    token = running(walk)
    with walk.scene.able():
        walk.do("report", token, outcome=said("evaluate"))
    return token


def told_of_its_agent(walk: Walk) -> int:
    """Something about the agent is another than before, and not what is missing."""
    token = reporting("lab")(walk)
    gone = Agent.objects.get(project=walk.scene.world.project, key="gone")
    engine.change_agent(gone.pk, {"name": f"Gone {token}"}, actor=engine.ENGINE)
    walk.look_again()
    return token


LOST_TWICE = ("start", "jump", *("sweep", "start", "jump") * 2)
ASKED = {
    "evaluating": (),
    "evaluating_now": ("start",),
    "evaluating_overdue": ("start", "jump"),
    "evaluating_last": LOST_TWICE,
}


def held_at(station: str) -> Route:
    """Of a station that says what it requires."""

    def route(walk: Walk) -> int:
        token = then(reporting(station), "start")(walk)
        walk.do("report", token, outcome=said("on"))
        return token

    return route


def review_more(word: str) -> Route:
    """Three approvals are needed, about what a person produced, and there is one."""

    def route(walk: Walk) -> int:
        token = reporting("desk")(walk)
        walk.do("complete", token, outcome=said(word))
        walk.do("approve", token)
        return token

    return route


def review_last(word: str) -> Route:
    return then(review_more(word), "approve")


def review_worn(word: str) -> Route:
    def route(walk: Walk) -> int:
        token = review_more(word)(walk)
        walk.do("send_back", token)
        walk.do("complete", token, outcome=said(word))
        walk.do("approve", token)
        return token

    return route


REVIEWS = {"review_more": review_more, "review_last": review_last, "review_worn": review_worn}


def held(walk: Walk) -> int:
    token = running(walk)
    walk.do("report", token, outcome={"result": "failure"})
    return token


def held_rejection(walk: Walk) -> int:
    token = reporting("sure")(walk)
    walk.do("reject", token)
    walk.do("start", token)
    walk.do("report", token, outcome=said("sure"))
    return token


def branch_that_says(word: str) -> Route:
    def route(walk: Walk) -> int:
        fork = reporting("fork")(walk)
        left = _branch(walk, fork, "left")
        _past(walk, left)
        walk.do("start", left)
        walk.do("report", left, outcome={**said(word), "output": {"n": 1}})
        return left

    return route


def review_overtaken(walk: Walk) -> int:
    """The left branch is asked about, for the second time; then the right one moves."""
    fork = reporting("fork")(walk)
    left, right = (_branch(walk, fork, side) for side in ("left", "right"))
    for key in ("start", "jump", "sweep", "start"):
        walk.do(key, left)
    walk.do("report", left, outcome=said("on"))
    walk.do("complete", left, outcome=said("on"))
    for key in ("rework", "resolve"):
        walk.do(key, left)
    walk.do("complete", left, outcome=said("on"))
    walk.do("start", right)
    walk.do("report", right, outcome=said("on"))
    assert walk.model[left] == "review_overtaken"
    return left


def held_contradiction(walk: Walk) -> int:
    """The forked token itself: no branch lives any more."""
    left = branch_that_says("meet")(walk)
    fork = int(walk.sight.subjects[left].token["parent_id"])
    right = _branch(walk, fork, "right")
    for word in ("on", "meet"):
        walk.do("start", right)
        walk.do("report", right, outcome={**said(word), "output": {"n": 2}})
    return fork


def _branch(walk: Walk, fork: int, station: str) -> int:
    here = (each for each in walk.sight.subjects.values() if each.token["parent_id"] == fork)
    return next(each.id for each in here if each.token["station"] == station)


def cancelled(walk: Walk) -> int:
    token = running(walk)
    walk.do("cancel", token)
    return token


ROUTES: dict[str, Route] = {
    "queued": queued,
    "running": running,
    "overdue": overdue,
    "overdue_last": overdue_last,
    "by_hand": reporting("desk"),
    "by_the_clock": reporting("rest"),
    **{state: then(reporting("hook"), *keys) for state, keys in ASKED.items()},
    **{state: review("three") for state, review in REVIEWS.items()},
    "review_overtaken": review_overtaken,
    "held_by_person": then(queued, "hold"),
    "held_by_pause": then(queued, "pause_line"),
    "held": held,
    "held_rejection": held_rejection,
    "held_missing": reporting("lab"),
    "held_handoff": held_at("give"),
    "held_contradiction": held_contradiction,
    "held_dependency": then(queued, "depend"),
    "paused": then(running, "breach"),
    "deadlock_late": then(running, "late"),
    "deadlock_circle": then(running, "depend_in_a_circle"),
    "blocked_question": reporting("question"),
    "blocked_evaluation": reporting("evaluate"),
    "stuck": reporting("odd"),
    "joining": branch_that_says("meet"),
    "forked": reporting("fork"),
    "ended_branch": branch_that_says("done"),
    "completed": reporting("done"),
    "failed": reporting("lost"),
    "cancelled": cancelled,
}

# What is possible only on another way into the state.
WAYS: dict[tuple[str, str], Route] = {
    ("queued", "start_suspended"): reporting("bench"),
    **{(state, "answer_machine"): then(asked_of_a_machine, *keys) for state, keys in ASKED.items()},
    **{(state, "gate_rejects"): review("strict") for state, review in REVIEWS.items()},
    **{(state, "gate_escalates"): review("urgent") for state, review in REVIEWS.items()},
    # By another pause than that of its line, which is in force already on the way into the state
    **{("held_by_pause", key): then(queued, "pause_task") for key in ("pause_line", "pause_twice")},
    ("held_missing", "facts"): told_of_its_agent,
    ("held_missing", "supply"): held_at("paper"),
    **{
        (state, f"resume_{scope}"): then(route, f"pause_{scope}")
        for state, route in {**ROUTES, "held_by_pause": queued}.items()
        for scope in ("task", "station", "line", "project")
        if state not in ("queued", *OVER)
    },
}


def route_to(state: str, command: str) -> Route:
    return WAYS.get((state, command), ROUTES[state])
