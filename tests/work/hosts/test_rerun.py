"""Running the checks of a host again: asked by a person where they failed, then read anew at the same station."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connections
from django.test import Client
from django.urls import reverse

from pipelines import engine
from pipelines.errors import Conflict
from pipelines.models import Event, Job
from tests.factories import World
from tests.pages.conftest import client_of
from tests.work.driving import Bench, done, outcome_of, text_of
from tests.work.hosts.conftest import run
from tests.work.hosts.test_checks import FAILED, NAMES, started

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.moves,
    pytest.mark.usefixtures("artifacts_here"),
]
both = pytest.mark.parametrize("hosted", ["github", "gitlab"], indirect=True)
AGAIN = "> Run checks again <"


def failed(world: World, bench: Bench, hosted: Any) -> Any:
    """The first check failed, the second passed, and the task is stuck with that."""
    first, second = names = NAMES[hosted.key]
    hosted.checks = {first: FAILED[hosted.key], second: "success"}
    task = started(world, contexts=names)
    run(bench, task)
    assert (world.status(task), outcome_of(task, "checks")["eval"]) == ("stuck", "checks_failed")
    return task


def address(world: World, task: Any, named: str = "task-rerun-checks") -> str:
    more = [world.token(task).pk] if named != "task" else []
    return reverse(named, args=["acme", world.project.key, task.name, *more])


def page(client: Client, world: World, task: Any) -> str:
    return " ".join(client.get(address(world, task, "task")).content.decode().split())


@pytest.mark.wide
@both
def test_a_person_has_failed_checks_run_again_and_the_rules_read_them_anew(
    world: World, bench: Bench, hosted: Any
) -> None:
    task, client = failed(world, bench, hosted), client_of(world.operator)
    assert AGAIN in page(client, world, task)
    assert AGAIN not in page(client_of(world.viewer), world, task)
    given = {"token_version": world.token(task).version}
    assert client.post(address(world, task), given).status_code == 302
    assert client.post(address(world, task), given).status_code == 409, "asked twice is asked once"
    run(bench, task)
    job = done(task, "checks", 2)
    assert (job.state, hosted.reran) == (
        "queued",
        [{"github": "run 21", "gitlab": "pipeline 2"}[hosted.key]],
    )
    assert "runs again what failed" in text_of(job)
    first, _second = NAMES[hosted.key]
    assert hosted.checks[first] not in ("success", FAILED[hosted.key])
    hosted.checks[first] = "success"
    run(bench, task)
    assert (world.status(task), len(hosted.reran)) == ("completed", 1)
    said = outcome_of(task, "checks", 2)
    assert (said["eval"], said["facts"]["ci"]["passed"], said["facts"]["ci"]["failed"]) == (
        "checks_passed",
        2,
        0,
    )
    event = Event.objects.get(task=task, trigger="checks_rerun")
    assert (event.actor, event.source, event.target) == (f"person:{world.operator.pk}", "checks", "checks")
    assert "The host was to run its checks again" in page(client, world, task)


@pytest.mark.wide
def test_what_fails_anew_is_not_run_again_by_itself(world: World, bench: Bench, hosted: Any) -> None:
    task = failed(world, bench, hosted)
    engine.rerun_checks(world.token(task).pk, user=world.operator, token_version=world.token(task).version)
    run(bench, task)
    hosted.checks["unit"] = "failure"
    run(bench, task)
    assert (outcome_of(task, "checks", 2)["eval"], len(hosted.reran)) == ("checks_failed", 1)


@pytest.mark.smoke(1)
@both
def test_what_the_host_says_to_it_is_the_outcome(world: World, bench: Bench, hosted: Any) -> None:
    task, client = failed(world, bench, hosted), client_of(world.operator)
    hosted.no_rerun = "Resource not accessible by this token"
    client.post(address(world, task), {"token_version": world.token(task).version})
    run(bench, task)
    said = outcome_of(task, "checks", 2)
    assert (said["failure_type"], hosted.reran) == ("host_refused", [])
    assert "Resource not accessible by this token" in said["summary"]
    assert AGAIN in page(client, world, task), "it can be asked again once that is mended"


@pytest.mark.wide
def test_another_service_is_asked_too_and_a_status_of_it_cannot_be(
    world: World, bench: Bench, hosted: Any
) -> None:
    hosted.foreign = ["unit"]
    task = failed(world, bench, hosted)
    engine.rerun_checks(world.token(task).pk, user=world.operator, token_version=world.token(task).version)
    run(bench, task)
    assert hosted.reran == ["suite 12"]
    hosted.checks = {"unit": "success", "ci/lint": "failure"}
    run(bench, task)
    engine.rerun_checks(world.token(task).pk, user=world.operator, token_version=world.token(task).version)
    run(bench, task)
    said = outcome_of(task, "checks", 3)
    assert (said["failure_type"], len(hosted.reran)) == ("host_refused", 1)
    assert "GitHub cannot run ci/lint again: another service reports it." in said["summary"]


@pytest.mark.wide
def test_two_at_the_same_moment_are_one(world: World, bench: Bench, hosted: Any) -> None:
    task = failed(world, bench, hosted)
    token = world.token(task)

    def ask(_n: int) -> bool:
        try:
            engine.rerun_checks(token.pk, user=world.operator, token_version=token.version)
        except Conflict:
            return False
        finally:
            connections.close_all()
        return True

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(ask, range(4))) == [False, False, False, True]
    run(bench, task)
    assert (Job.objects.filter(task=task, station="checks").count(), len(hosted.reran)) == (2, 1)


def test_it_is_an_operation_of_the_api_and_only_of_checks(world: World, bench: Bench, hosted: Any) -> None:
    task = failed(world, bench, hosted)
    _machine, secret = world.machine()
    client = Client(headers={"authorization": f"Bearer {secret}"})
    at = f"/api/v1/owners/acme/projects/{world.project.key}/stages/{task.line.key}/tasks/{task.name}"
    said = client.post(f"{at}/rerun-checks", {"reason": "Flaky"}, content_type="application/json")
    assert (said.status_code, said.json()["status"]) == (200, "queued")
    event = Event.objects.get(task=task, trigger="checks_rerun")
    assert event.actor.startswith("machine:") and event.data["reason"] == "Flaky"
    assert client.post(f"{at}/rerun-checks", {}, content_type="application/json").status_code == 409, "once"
    other = world.start(world.line(stations=["build"], policy={"on_failure": "stuck"}))
    world.report(other, {"result": "failure", "failure_type": "host_refused"})
    token = world.token(other)
    with pytest.raises(Conflict, match="No checks of a host failed"):
        engine.rerun_checks(token.pk, user=world.operator, token_version=token.version)
