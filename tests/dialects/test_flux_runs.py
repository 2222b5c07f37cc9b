"""Flux D6, D8, D12 to D14, D20: what a run does with signals. Real engine."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines import engine
from pipelines.models import LineVersion, Task
from tests.factories import World, station

pytestmark = pytest.mark.django_db

QUESTION = {"verdict": "hold", "reason": "needs_human", "meta": {"question": "Which branch?"}}


def signalled(*signals: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"exit_code": 0, "signals": list(signals), **more}


def jump(target: str | None) -> dict[str, Any]:
    return {"verdict": "hold", "reason": "already_complete", "meta": {"targetState": target}}


def stage(key: str, passed: str, failed: str = "@blocked", **more: Any) -> dict[str, Any]:
    ways = {"pass": passed, "fail": failed, "blocked": "@blocked"}
    rules = [
        {"id": f"{key}-{verdict}", "when": {"verdict": verdict}, "to": to} for verdict, to in ways.items()
    ]
    return station(key, *rules, **more)


def playbook(world: World, **more: Any) -> LineVersion:
    """research → implement → review → completed."""
    stages = [stage("research", "implement"), stage("implement", "review"), stage("review", "completed")]
    return world.line(stations=stages, preset="flux", **more)


def runs(task: Task) -> list[str]:
    return list(task.jobs.order_by("pk").values_list("station", flat=True))


def answer(world: World, task: Task, text: str) -> Task:
    token = world.token(task)
    return engine.answer_blocked_token(token.pk, user=world.operator, token_version=token.version, text=text)


def test_D6_complete_ends_the_run_and_blocked_is_no_end(world: World) -> None:
    version = playbook(world)
    done, blocked = world.start(version), world.start(version)
    for _ in range(3):
        world.report(done, {"verdict": "pass"})
    world.report(blocked, {"verdict": "fail"})
    blocked.refresh_from_db()
    assert world.status(done) == "completed"
    assert (blocked.status, blocked.ended_at, world.at(blocked)) == ("blocked", None, ["research"])


def test_D8_later_signals_of_a_job_are_recorded_only(world: World) -> None:
    task = world.start(playbook(world))
    said = [{"verdict": "proceed"}, {"verdict": "abort", "reason": "too late"}]
    world.report(task, signalled(*said, verdict="fail"))
    assert world.at(task) == ["implement"]
    outcome = task.jobs.get(station="research").outcome
    assert outcome is not None
    assert (outcome["signals"], outcome["verdict"]) == (said, "fail")


def test_D12_abort_ends_the_run_with_everything_that_works_in_it(world: World) -> None:
    fork = {"id": "fork", "to": ["left", "right"]}
    task = world.start(
        world.line(stations=[station("start", fork), stage("left", "completed"), stage("right", "completed")])
    )
    world.report(task)
    running = world.started(task, "right")
    world.report(task, signalled({"verdict": "abort", "reason": "out of scope"}), station="left")
    running.refresh_from_db()
    task.refresh_from_db()
    assert (task.status, task.reason) == ("failed", "out of scope")
    assert (running.state, running.result) == ("done", "cancelled")


def test_D13_already_complete_jumps_past_what_lies_between(world: World) -> None:
    task = world.start(playbook(world))
    world.report(task, signalled(jump("review")))
    assert (world.at(task), runs(task)) == (["review"], ["research", "review"])


def test_D13_in_a_line_that_always_asks_a_person_the_jump_itself_is_reviewed(world: World) -> None:
    gate = {"key": "release", "name": "Release", "mode": "manual"}
    task = world.start(playbook(world, gates=[gate]))
    world.report(task, signalled(jump("review")))
    assert (world.status(task), world.at(task)) == ("awaiting_review", ["research"])
    world.vote(task, "approve")
    assert world.at(task) == ["review"]


def test_D13_without_a_known_target_it_needs_a_human(world: World) -> None:
    task = world.start(playbook(world))
    world.report(task, signalled(jump("nowhere")))
    assert (world.status(task), world.at(task)) == ("blocked", ["research"])


def test_D14_the_answer_reaches_the_stage_which_runs_again(world: World) -> None:
    task = world.start(playbook(world))
    world.report(task, signalled(QUESTION))
    assert (world.status(task), world.token(task).wait["question"]) == ("blocked", "Which branch?")
    answer(world, task, "Use main.")
    job = world.job(task)
    assert (job.station, job.visit, job.feedback) == ("research", 2, "Use main.")


def test_D20_an_invalid_verdict_is_kept_in_the_record_and_moves_nothing(world: World) -> None:
    task = world.start(playbook(world))
    world.report(task, signalled({"verdict": "stop", "reason": "?"}, verdict="pass"))
    assert (world.at(task), world.status(task)) == (["implement"], "queued")
    outcome = task.jobs.get(station="research").outcome
    assert outcome is not None
    assert outcome["signals"] == [{"verdict": "stop", "reason": "?"}]
