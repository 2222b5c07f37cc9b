"""`GATELINE_RUN_PROGRAMS=no`: the server's own workers leave programs to runners, do all else, and say so."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.test import override_settings
from django.urls import reverse

from pipelines.management.commands.worker import worker_config
from pipelines.models import Job, Token, Worker
from pipelines.queries.unclaimable_jobs import unclaimed_sentence_by_token_id
from pipelines.routing.document.kinds import KINDS
from pipelines.work.processes.isolation import Isolation
from pipelines.work.processes.isolation_choice import ChosenIsolation
from tests.factories import World, station
from tests.fixtures.site import ROOT
from tests.pages.conftest import client_of
from tests.waiting import LONG
from tests.work.driving import Bench, command, done, drive
from tests.work.runners.far import FarAway

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.moves,
    pytest.mark.usefixtures("artifacts_here"),
]
TO_END = {"id": "end", "to": "completed"}


def runners_page(world: World) -> str:
    return " ".join(
        client_of(world.viewer)
        .get(reverse("project-runners", args=["acme", world.project.key]))
        .content.decode()
        .split()
    )


def test_commands_wait_for_a_runner_and_all_else_goes_on(world: World, bench: Bench, tmp_path: Path) -> None:
    Worker.objects.all().delete()
    begin = station("begin", {"id": "on", "to": "build"}, kind="noop")
    task = world.start(world.line(stations=[begin, command("build", "pass", TO_END)]))
    drive(bench, task, programs=False)
    assert done(task, "begin").state == "done" and world.job(task).state == "queued"
    last = {job.token_id: job for job in Job.objects.filter(task=task).order_by("pk")}
    why = unclaimed_sentence_by_token_id(task, last)[Token.objects.get(task=task).pk]
    assert "No active runner runs programs" in str(why.text) and "Add a runner" in str(why.remedy)
    page = runners_page(world)
    assert "Runs no programs" in page and "The server runs no programs itself." in page
    assert "Nothing isolates" not in page
    FarAway(tmp_path / "far", world.runner()[1]).work()
    assert world.status(task) == "completed"
    worker = done(task, "build").worker
    assert worker is not None and worker.token_id is not None


def test_the_hook_of_a_rule_is_a_program_too(world: World, bench: Bench, tmp_path: Path) -> None:
    # A path would have to lie in the workspace.
    when = {"hook": {"argv": ["true"]}, "answer": "pass"}
    stations = [station("begin", {"id": "on", "to": "completed", "when": when}, kind="noop")]
    task = world.start(
        world.line(stations=stations, policy={"no_match": "stuck"}, flags={"agentic_conditions": True})
    )
    drive(bench, task, programs=False)
    assert world.status(task) == "evaluating"
    FarAway(tmp_path / "far", world.runner()[1]).work()
    asked = Job.objects.get(task=task, purpose="evaluation")
    assert asked.state == "done" and asked.worker is not None and asked.worker.token_id is not None
    assert world.status(task) == "completed"


@pytest.mark.parametrize("runs", [True, False])
def test_the_setting_reaches_the_worker(runs: bool) -> None:
    said: dict[str, Any] = {"owner": [], "label": [], "drain": None, "concurrency": None}
    with override_settings(RUN_PROGRAMS=runs, SIGNED_IN=[]):
        made = worker_config(said, ChosenIsolation(Isolation("none"), frozenset()))
    programs = {f"kind:{kind.key}" for kind in KINDS.values() if kind.executes}
    assert (programs <= made.offers, programs.isdisjoint(made.offers)) == (runs, not runs)
    assert {"kind:deliver", "kind:noop", "kind:wait_for_checks", "kind:http"} <= made.offers


@pytest.mark.wide
def test_the_doctor_names_it() -> None:
    words = [sys.executable, "-m", "pipelines.work.program.doctor"]
    env = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "GATELINE_RUN_PROGRAMS": "no"}
    said = subprocess.run(words, cwd=ROOT, env=env, capture_output=True, text=True, timeout=LONG, check=False)
    assert "programs: a server that is started here runs none itself" in said.stdout, said.stderr
