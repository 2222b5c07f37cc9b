"""The host's checks of a commit that a runner over HTTP made: read, and run again, by the server's own worker, which
alone has the host's token (law §15)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from pipelines.models import Job
from tests.factories import World
from tests.work.driving import Bench, done, outcome_of, text_of
from tests.work.hosts.conftest import hosted, origin, run
from tests.work.hosts.servers import TOKEN
from tests.work.hosts.test_checks import FAILED, NAMES, started
from tests.work.runners.far import FarAway

__all__ = ["hosted", "origin"]
pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.moves,
    pytest.mark.usefixtures("artifacts_here"),
]


@pytest.fixture
def far(world: World, settings: Any, tmp_path: Path) -> Iterator[FarAway]:
    settings.REPOSITORY_ROOTS = [tmp_path]
    settings.WORKSPACES_DIR = tmp_path / "server"
    yield FarAway(tmp_path / "far", world.runner()[1])


@pytest.mark.parametrize("hosted", ["github", pytest.param("gitlab", marks=pytest.mark.wide)], indirect=True)
def test_checks_of_what_a_runner_made_are_run_again_and_read_anew(
    world: World, bench: Bench, far: FarAway, hosted: Any
) -> None:
    first, second = names = NAMES[hosted.key]
    hosted.checks = {first: FAILED[hosted.key], second: "success"}
    task = started(world, contexts=names)
    far.work()
    assert world.job(task).station == "push", "a runner takes no delivery"
    run(bench, task)
    assert (world.status(task), outcome_of(task, "checks")["eval"]) == ("stuck", "checks_failed")

    client = Client(headers={"authorization": f"Bearer {world.machine()[1]}"})
    at = f"/api/v1/owners/acme/projects/{world.project.key}/stages/{task.line.key}/tasks/{task.name}"
    said = client.post(f"{at}/rerun-checks", {"reason": "Flaky"}, content_type="application/json")
    assert said.status_code == 200, said.content
    far.work()
    assert done(task, "checks", 2).state == "queued", "nor the checks of a host"
    assert far.call(f"/jobs/{done(task, 'checks', 2).pk}/claim").json() == {"started": None}
    run(bench, task)
    assert len(hosted.reran) == 1 and "runs again what failed" in text_of(done(task, "checks", 2))
    hosted.checks[first] = "success"
    run(bench, task)
    assert world.status(task) == "completed"
    facts = outcome_of(task, "checks", 2)["facts"]
    assert (facts["ci"]["passed"], facts["ci"]["failed"]) == (2, 0)
    made = outcome_of(task, "fix")["facts"]["git"]
    assert facts["ci"]["source"]["tree"] == made["tree"] and made["source"]["observed_by"] == "server"
    by = {job.station: job.worker.token_id is not None for job in Job.objects.filter(task=task) if job.worker}
    assert by == {"fix": True, "push": False, "checks": False}
    assert TOKEN not in text_of(done(task, "fix"))
