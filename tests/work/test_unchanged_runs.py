"""A command that failed: whether it failed before the change of its task, as recorded, or as run without it."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Page, expect

from pipelines.models import LineVersion, Membership, StationTrial, Task, User, Worker
from pipelines.work.transport.local.trials import LocalTrial
from tests.factories import World, station
from tests.pages.conftest import at, client_of, text
from tests.work.driving import Bench, command
from tests.work.remotes import RemoteRepository, connect, remote
from tests.work.repository_lines import GATE, run_on, to, together
from tests.work.repository_lines import run as run_line
from tests.work.test_template_lines import begun, run

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.moves,
    pytest.mark.usefixtures("artifacts_here"),
]
FAILS = b"from app import x\n\ndef test_x():\n    assert x == 2\n"
FORMATTED = FAILS.replace(b"\n\n", b"\n\n\n")
PROGRAMS = (str(Path(sys.executable).parent), *os.get_exec_path())
FIX = "import sys; sys.argv[1] == 'break' and open('app.py', 'w').write('x = 2')"


def failed_run(client: Client, task: Task, station_key: str = "tests", **post: Any) -> str:
    """What the page shows below the cause, or after a click there."""
    job = task.jobs.filter(station=station_key).latest("pk")
    address = reverse("task-unchanged", args=[task.project.owner.key, task.project.key, task.name])
    assert f"{address}?job={job.pk}" in client.get(address.removesuffix("unchanged/")).content.decode()
    answer = client.post(f"{address}?job={job.pk}") if post else client.get(f"{address}?job={job.pk}")
    assert answer.status_code == 200, answer.content[-500:]
    return " ".join(text(answer).split())


@pytest.fixture
def origin(tmp_path: Path, world: World) -> RemoteRepository:
    made = remote(
        tmp_path / "origin.git", {"ruff.toml": b"", "app.py": b"import os\nx = 1\n", "test_app.py": FAILS}
    )
    connect(world.project, made)
    return made


def test_the_station_runs_without_the_change_by_one_click(
    world: World, bench: Bench, origin: RemoteRepository
) -> None:
    task = begun(world, origin, "fix-lint-findings")
    run(bench, task, PROGRAMS)
    assert world.status(task) == "failed"
    unknown = failed_run(client_of(world.viewer), task)
    assert "Not known whether it failed before the change too: Tests did not run on main" in unknown
    assert "<form" not in unknown, "who may not run code is offered nothing"
    Membership.objects.filter(user=world.admin).update(execute=True)
    admin = client_of(world.admin)
    assert "Run Tests without the change" in failed_run(admin, task)
    runners = list(Worker.objects.all())
    Worker.objects.update(stopped_at=timezone.now())
    assert "tone-danger" in failed_run(admin, task, click=True) and not StationTrial.objects.exists()
    Worker.objects.bulk_update(runners, ["stopped_at"])
    assert "Tests runs on main without the change" in failed_run(admin, task, click=True)

    trial = LocalTrial(StationTrial.objects.get().pk)

    async def go() -> None:
        async with bench.driver(station_path=PROGRAMS, repository_roots=(str(bench.base.parent),)) as driver:
            await driver.try_station(trial)

    asyncio.run(go())
    shown = failed_run(admin, task)
    assert "<b>Fails without the change too</b> on main: 0 tests passed, 1 failed." in shown
    assert "Not known" in failed_run(client_of(world.viewer), task), "a run is of who started it"
    assert world.status(task) == "failed" and task.jobs.count() == 3, "no task has any part in it"


def test_what_fails_where_nothing_was_changed_says_so(
    world: World, bench: Bench, origin: RemoteRepository
) -> None:
    origin.add({"ruff.toml": b"", "app.py": b"x = 1\n", "test_app.py": FORMATTED}, "Clean")
    task = begun(world, origin, "fix-lint-findings")
    run(bench, task, PROGRAMS)
    assert "<b>Failed without a change:</b> nothing was changed" in failed_run(client_of(world.viewer), task)


def repository_line(world: World, path: Path, before: str, **on_failure: Any) -> LineVersion:
    """Fix breaks what Check looks at, if it is told so."""
    connect(world.project, remote(path / "origin.git", {"app.py": before.encode()}))
    argv = [sys.executable, "-c", FIX, "{{input.way}}"]
    check = "import sys; sys.exit(open('app.py').read() != 'x = 1')"
    failed = [{"id": "bad", "when": {"result": "failure"}, **on_failure}] if on_failure else []
    return world.line(
        stations=[
            station("fix", to("check"), kind="command", work={"argv": argv}),
            command("check", check, to("merge", gates=["review"]), *failed, name="Check"),
            station("merge", to("completed"), kind="deliver", work={"to": "merge", "gate": "review"}),
        ],
        inputs=[{"key": "way"}],
        gates=[GATE],
        workspace={"git": {"repository": "app"}},
    )


@pytest.mark.wide
@pytest.mark.smoke(1)
@pytest.mark.parametrize("before", ["x = 1", "x = 3"])
def test_a_run_on_the_files_of_the_base_says_how_it_was_before(
    world: World, bench: Bench, tmp_path: Path, before: str
) -> None:
    version = repository_line(world, tmp_path, before)
    first, second = (world.start(version, inputs={"way": way}) for way in ("look", "break"))
    run_line(bench, first)
    run_line(bench, second)
    shown = failed_run(client_of(world.viewer), second, "check")
    expected = "Passed before the change" if before == "x = 1" else "Failed before the change too"
    assert f"<b>{expected}</b> on main at" in shown and f">{first.name}</a> ran it." in shown


@pytest.mark.wide
def test_nothing_is_said_of_other_runs(world: World, bench: Bench, origin: RemoteRepository) -> None:
    task = begun(world, origin, "fix-lint-findings")
    run(bench, task, PROGRAMS)
    address = reverse("task-unchanged", args=[task.project.owner.key, task.project.key, task.name])
    client, fix = client_of(world.admin), task.jobs.get(station="fix")
    for job in ("", "x", "9" * 30, str(fix.pk)):
        assert not text(client.get(address, {"job": job})).strip()
        assert not text(client.post(f"{address}?job={job}")).strip()
    assert not StationTrial.objects.exists()


@pytest.mark.wide
@pytest.mark.browser
def test_it_is_started_on_the_page_of_a_task_and_stays_there_when_a_hint_comes(
    page: Page, sign_in: Callable[[Page, User], None], world: World, bench: Bench, tmp_path: Path
) -> None:
    Membership.objects.filter(user=world.admin).update(execute=True)
    task = world.start(repository_line(world, tmp_path, "x = 1"), inputs={"way": "break"})
    # In a thread: Playwright has a loop in this one
    together([lambda: run_on(bench, task)])
    job = task.jobs.get(station="check")
    sign_in(page, world.admin)
    # What is clicked while the first hint renews the page is clicked into nothing
    with page.expect_response(lambda response: "fragment=live" in response.url):
        page.goto(at(world, "task", task.name))
    known = page.locator(f"#unchanged-{job.pk}")
    known.get_by_role("button", name="Run Check without the change").click()
    expect(known).to_contain_text("Check runs on main without the change")
    trial = StationTrial.objects.get()
    outcome = {"result": "success", "exit_code": 0}
    StationTrial.objects.update(state="done", outcome=outcome, ended_at=timezone.now())
    expect(known).to_contain_text("Passes without the change on main.")
    page.evaluate("document.body.dispatchEvent(new CustomEvent('gl:resync'))")
    expect(known).to_contain_text("Passes without the change on main.")
    assert trial.inputs == task.inputs


def test_a_review_says_it_of_each_command_that_failed(world: World, bench: Bench, tmp_path: Path) -> None:
    version = repository_line(world, tmp_path, "x = 1", to="merge", gates=["review"])
    task = world.start(version, inputs={"way": "break"})
    run_line(bench, task)
    review = text(client_of(world.reviewer).get(f"/inbox/{world.visit(task).pk}/"))
    check = task.jobs.get(station="check")
    assert f'id="unchanged-{check.pk}"' in review and review.count('id="unchanged-') == 1
