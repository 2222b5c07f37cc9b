"""How a task gets into each state, with everything behind it that a late or repeated word could be about: a lost
attempt, a finished job of a worker and of a person, and a review that is over."""

from __future__ import annotations

from collections.abc import Callable

from tests.engine.stateful.walk import Walk

Route = Callable[[Walk], int]


def said(word: str) -> dict[str, object]:
    return {"result": "success", "eval": word}


def _past(walk: Walk, token: int) -> None:
    """From a queued job of a worker, over a manual station and a gate, to the next queued job."""
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


def evaluating_now(walk: Walk) -> int:
    token = reporting("hook")(walk)
    walk.do("start", token)
    return token


def evaluating_overdue(walk: Walk) -> int:
    token = evaluating_now(walk)
    walk.do("jump", token)
    return token


def evaluating_last(walk: Walk) -> int:
    token = evaluating_overdue(walk)
    for key in ("sweep", "start", "jump") * 2:
        walk.do(key, token)
    return token


def review_more(walk: Walk) -> int:
    """Three approvals are needed, about what a person produced, and there is one."""
    token = reporting("desk")(walk)
    walk.do("complete", token, outcome=said("three"))
    walk.do("approve", token)
    return token


def review_last(walk: Walk) -> int:
    token = review_more(walk)
    walk.do("approve", token)
    return token


def review_worn(walk: Walk) -> int:
    token = review_more(walk)
    walk.do("send_back", token)
    walk.do("complete", token, outcome=said("three"))
    walk.do("approve", token)
    return token


def held_by_person(walk: Walk) -> int:
    token = queued(walk)
    walk.do("hold", token)
    return token


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
        left = next(
            each.id
            for each in walk.sight.subjects.values()
            if each.token["parent_id"] == fork and each.token["station"] == "left"
        )
        _past(walk, left)
        walk.do("start", left)
        walk.do("report", left, outcome=said(word))
        return left

    return route


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
    "evaluating": reporting("hook"),
    "evaluating_now": evaluating_now,
    "evaluating_overdue": evaluating_overdue,
    "evaluating_last": evaluating_last,
    "review_more": review_more,
    "review_last": review_last,
    "review_worn": review_worn,
    "held_by_person": held_by_person,
    "held": held,
    "held_rejection": held_rejection,
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
