"""`gateline runner`: another process, without a database, does the work of a line over HTTP (law §15, house §5)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from django.utils import timezone

from pipelines.models import Artifact, Job, Task, Worker
from pipelines.people import runners
from tests.factories import World
from tests.fixtures.site import ROOT, Site
from tests.waiting import LONG, until
from tests.work.driving import command, outcome_of, text_of
from tests.work.runners.running import runner

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.moves]

WRITE = """
import json, os
open("report.txt", "w").write("made elsewhere")
print("hello from the runner")
json.dump({"output": {"n": 7}, "artifacts": ["report.txt"]}, open(os.environ["GATELINE_RESULT"], "w"))
"""
READ = """
import os
assert open("report.txt").read() == "made elsewhere"
there = os.path.join(os.environ["GATELINE_ARTIFACTS"], "build", "report.txt")
assert open(there).read() == "made elsewhere"
"""


def on(to: str) -> dict[str, str]:
    return {"id": f"to-{to}", "to": to}


def ended(task: Task) -> bool:
    task.refresh_from_db()
    return task.ended_at is not None


def test_a_runner_claims_runs_stores_and_reports(site: Site, world: World, tmp_path: Path) -> None:
    line = world.line(
        stations=[command("build", WRITE, on("check")), command("check", READ, on("completed"))]
    )
    _token, secret = world.runner()
    task = world.start(line)
    with runner(site.url, secret, tmp_path / "far") as far:
        until(lambda: ended(task) or far.process.poll() is not None, lambda: far.log.read_text()[-3000:])  # type: ignore[union-attr]
        assert world.status(task) == "completed", (far.log.read_text()[-3000:], outcome_of(task, "build"))
        jobs = list(Job.objects.filter(task=task).order_by("pk"))
        assert [job.worker.name for job in jobs if job.worker] == ["far", "far"]
        assert [job.attempt for job in jobs] == [1, 1]
        assert outcome_of(task, "build")["output"] == {"n": 7}
        assert "hello from the runner" in text_of(jobs[0])
        assert Artifact.objects.get(job=jobs[0]).name == "report.txt"
        assert far.end() == 0
    seen = Worker.objects.get(name="far")
    assert seen.stopped_at is not None and seen.project_id == world.project.pk


@pytest.mark.wide
def test_a_revoked_runner_kills_its_work_and_ends(site: Site, world: World, tmp_path: Path) -> None:
    line = world.line(stations=[command("wait", "import time; time.sleep(600)", on("completed"))])
    token, secret = world.runner()
    task = world.start(line)
    with runner(site.url, secret, tmp_path / "far") as far:
        until(lambda: world.status(task) == "running", lambda: far.log.read_text()[-3000:])
        runners.revoke_runner_and_requeue_jobs(token, world.admin, timezone.now())
        until(
            lambda: far.process is not None and far.process.poll() is not None,
            lambda: far.log.read_text()[-3000:],
        )
        assert far.process is not None and far.process.returncode == 3
    job = Job.objects.get(task=task)
    assert (job.state, job.attempt) == ("queued", 1)


def test_a_runner_needs_neither_django_nor_a_database() -> None:
    program = (
        "import sys; import pipelines.work.program.main;"
        "print([name for name in sys.modules if name.split('.')[0] in ('django', 'psycopg', 'procrastinate')])"
    )
    said = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=LONG
    )
    assert said.stdout.strip() == "[]", said.stdout + said.stderr
