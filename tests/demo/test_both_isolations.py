"""A repository that knows nothing of Gateline, and each program that the product brings for stations, behind either
isolation: with the places that a worker of this checkout shows."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from pipelines import engine
from pipelines.management.commands.worker import configured_station_places
from pipelines.models import ENDED, GateVisit, Job, Line, Status, Task
from pipelines.models import Repository as ConnectedRepository
from pipelines.work import logs
from pipelines.work.handlers import command
from pipelines.work.processes.installation import PROGRAMS
from pipelines.work.spec.handler_io import Attempt, ProcessLimits, Spec
from tests import waiting
from tests.factories import make_user
from tests.fixtures.site import ROOT, environment, manage, stop
from tests.work.conftest import Collected
from tests.work.isolations import BOTH, isolation_or_skip
from tests.work.remotes import allow, remote

pytestmark = pytest.mark.isolation
FILES = {
    "app/__init__.py": b"",
    "app/prices.py": b"import os\nimport sys\n\n\ndef total(items):\n    return sum(items)\n",
    "tests/test_prices.py": b"from app.prices import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n",
    "pyproject.toml": b'[project]\nname = "prices"\nversion = "1"\n\n[tool.ruff.lint]\nselect = ["F"]\n',
}


@pytest.fixture
def folder() -> Iterator[Path]:
    """A place in which no folder above holds what tools look for upwards; stations do not see /tmp as it is."""
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="gateline-both-") as name:
        yield Path(name)


@pytest.mark.smoke(1)
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("name", BOTH)
def test_a_strangers_repository_is_fixed_tested_and_merged(name: str, folder: Path, settings: Any) -> None:
    admin, log = make_user("admin", is_superuser=True), folder / "worker.log"
    call_command("load_demo", verbosity=0)
    origin = remote(folder / "prices.git", FILES)
    settings.REPOSITORY_ROOTS = [folder]
    ConnectedRepository.objects.filter(name="basket").update(address=str(origin.path))
    process = manage(
        "worker",
        log=log,
        env=environment(
            GATELINE_ISOLATION=name,
            GATELINE_REPOSITORY_ROOTS=str(folder),
            GATELINE_WORKSPACES=str(folder / "workspaces"),
        ),
    )
    try:
        version = Line.objects.get(key="fix-lint-findings", project__key="app").live
        allow(version.line.project.owner, origin.path)
        inputs = {"repository": str(origin.path)}
        task = engine.submit(version, actor=engine.Actor.person(admin), title="Tidy", inputs=inputs)
        rest(task, log, Status.AWAITING_REVIEW)
        tests = Job.objects.get(task=task, station="tests").outcome["facts"]["tests"]
        assert (tests["passed"], tests["failed"]) == (1, 0)
        visit = GateVisit.objects.get(task=task, state=GateVisit.State.OPEN)
        evidence = {"token_version": visit.token_version, "evidence_digest": visit.evidence_digest}
        engine.vote(visit, user=admin, word="approve", **evidence)
        rest(task, log, *ENDED)
        assert (task.status, task.end) == (Status.COMPLETED, "merged")
        assert b"import os" not in origin.files()["app/prices.py"]
    finally:
        stop(process)


def rest(task: Task, log: Path, *states: str) -> None:
    """Wait until it rests, which has to be in one of these states."""

    def resting() -> bool:
        task.refresh_from_db()
        return task.status in (*ENDED, Status.AWAITING_REVIEW, Status.BLOCKED, Status.HELD, Status.STUCK)

    waiting.until(lambda: resting() and (task.status in states or task.status in ENDED), log.read_text)
    texts = [
        "".join(logs.read_log_text(job, job.attempt)) for job in Job.objects.filter(task=task, kind__gt="")
    ]
    assert task.status in states, texts


def programs() -> list[Path]:
    """Every file that a station is started with: those of the demo, and scripts of the product."""
    scripts = [ROOT / name for name in PROGRAMS if name.endswith(".py") and not name.endswith("__init__.py")]
    return [*sorted((ROOT / "pipelines" / "lines" / "demo" / "bin").iterdir()), *scripts]


@pytest.mark.smoke(1)
@pytest.mark.parametrize("name", BOTH)
async def test_every_program_of_the_product_finds_its_modules(name: str, folder: Path, settings: Any) -> None:
    """Where a folder above them may not be listed, Python finds no module in it: each has to do without."""
    settings.DATA_DIR = settings.WORKSPACES_DIR = folder
    isolation = await isolation_or_skip(name, configured_station_places(), folder)
    for program in programs():
        attempt, output = Attempt(folder / program.name), Collected()
        for place in (attempt.workspace, attempt.temporary, attempt.result.parent):
            place.mkdir(parents=True)
        variables = {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "HOME": str(attempt.workspace)}
        made = Spec(
            kind="command",
            attempt=attempt,
            argv=(sys.executable, "-I", str(program)),
            env={**variables, "GATELINE_RESULT": str(attempt.result)},
            limits=ProcessLimits(total=60, grace=1),
            isolation=isolation,
        )
        await command.run(made, output)
        text = (output.out + output.err).decode()
        assert "ModuleNotFoundError" not in text and "ImportError" not in text, (program.name, text)
