"""Waiting for the checks of a host: read of the pushed commit, by a worker that does other work meanwhile (law §13)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from django.utils import timezone

from pipelines.models import Job
from pipelines.queries.task_branch import last_landed_or_pushed_commit_and_tree
from pipelines.work.handlers import wait_for_checks
from tests.factories import World, station
from tests.pages.conftest import client_of
from tests.work.driving import Bench, command, done, outcome_of, text_of
from tests.work.hosts.conftest import repository, run, to
from tests.work.hosts.servers import BY_KEY

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.moves,
    pytest.mark.usefixtures("artifacts_here"),
]
one_then_every = pytest.mark.parametrize(
    "hosted",
    ["github", *(pytest.param(key, marks=pytest.mark.wide) for key in BY_KEY if key != "github")],
    indirect=True,
)
NAMES = {"github": ["unit", "ci/lint"], "gitlab": ["pipeline", "lint"], "gitea": ["ci/unit", "ci/lint"]}
FAILED = {"github": "failure", "gitlab": "failed", "gitea": "failure"}


def started(world: World, **work: Any) -> Any:
    """A change is pushed, and its checks are waited for."""
    ok = {
        "id": "good",
        "to": "completed",
        "when": {"fact": {"path": "ci.passed", "op": "equals", "value": 2}},
    }
    version = world.line(
        stations=[
            command("fix", "open('app.py', 'a').write('y = 2\\n')", to("push")),
            station("push", to("checks"), kind="deliver", work={"to": "push"}),
            station("checks", ok, kind="wait_for_checks", work=work),
        ],
        workspace={"git": {"repository": "app"}},
        policy={"no_match": "stuck", "on_failure": "stuck"},
    )
    return world.start(version)


def waits(world: World, bench: Bench, task: Any) -> Job:
    """Looked at, and put off: nobody holds a lease, and no ticket is due."""
    run(bench, task)
    job = done(task, "checks")
    assert (job.state, job.lease_key, job.attempt) == ("queued", None, 1)
    assert job.not_before is not None and job.not_before > timezone.now()
    return job


@pytest.mark.smoke(1)
@one_then_every
def test_checks_are_waited_for_without_a_worker(world: World, bench: Bench, hosted: Any) -> None:
    first, second = names = NAMES[hosted.key]
    task = started(world, contexts=names)
    hosted.checks = {first: "success", "other": FAILED[hosted.key]}
    waits(world, bench, task)
    page = client_of(world.operator).get(f"/p/acme/{world.project.key}/tasks/{task.name}/").content.decode()
    assert "Waits for checks" in page
    hosted.checks[second] = "pending"
    waits(world, bench, task)
    hosted.checks[second] = "success"
    run(bench, task)
    assert world.status(task) == "completed"
    said, commit = outcome_of(task, "checks"), last_landed_or_pushed_commit_and_tree(task.pk, 10**9)[0]
    assert (said["eval"], said["facts"]["ci"]["passed"], said["facts"]["ci"]["failed"]) == (
        "checks_passed",
        2,
        0,
    )
    assert said["facts"]["ci"]["source"]["tree"] == outcome_of(task, "fix")["facts"]["git"]["tree"]
    assert said["output"]["commit"] == commit and said["output"]["missing"] == []
    log = text_of(done(task, "checks"))
    assert "1 passed, 0 failed, 0 pending, 1 missing" in log and "1 passed, 0 failed, 1 pending" in log


@pytest.mark.smoke(1)
@one_then_every
def test_a_failed_check_is_said_at_once(world: World, bench: Bench, hosted: Any) -> None:
    first, second = names = NAMES[hosted.key]
    task = started(world, contexts=names)
    hosted.checks = {first: FAILED[hosted.key], second: "pending"}
    run(bench, task)
    said = outcome_of(task, "checks")
    assert (said["result"], said["failure_type"], said["output"]["failed"]) == (
        "failure",
        "checks_failed",
        [first],
    )
    assert said["facts"]["ci"]["failed"] == 1 and first in said["summary"]


def test_a_missing_required_check_is_no_success(
    world: World, bench: Bench, hosted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By what the host requires; and what it requires nothing of is said, not passed."""
    hosted.requires = ["unit", "ci/lint"]
    hosted.checks = {"unit": "success"}
    task = started(world, timeout="1h")
    waits(world, bench, task)
    late = SimpleNamespace(time=lambda: timezone.now().timestamp() + 2 * 3600)
    with monkeypatch.context() as later:
        later.setattr(wait_for_checks, "time", late)
        run(bench, task)
    said = outcome_of(task, "checks")
    assert (said["eval"], said["output"]["missing"]) == ("checks_timed_out", ["ci/lint"])
    assert "ci/lint did not come in time" in said["summary"]
    hosted.requires = []
    other = started(world)
    run(bench, other)
    assert outcome_of(other, "checks")["eval"] == "none_required"


def test_without_a_push_or_a_token_nothing_is_read(world: World, bench: Bench, hosted: Any) -> None:
    version = world.line(
        stations=[
            command("fix", "open('app.py', 'a').write('y = 2\\n')", to("checks")),
            station("checks", to("completed"), kind="wait_for_checks"),
        ],
        workspace={"git": {"repository": "app"}},
        policy={"on_failure": "stuck"},
    )
    task = world.start(version)
    run(bench, task)
    assert outcome_of(task, "checks")["failure_type"] == "not_pushed"
    found = repository()
    found.host_credential = ""
    found.save()
    task = started(world, contexts=["unit"])
    run(bench, task)
    assert "Checks need a token" in outcome_of(task, "checks")["summary"]
