"""Tasks on the command line: started, watched to their end, their logs."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from django.utils import timezone
from dulwich.repo import Repo

from pipelines import engine
from pipelines.models import Task
from pipelines.work import logs
from pipelines.work.scheduler import timers
from tests.cli.conftest import Gateline
from tests.factories import World, station
from tests.waiting import LONG
from tests.work.remotes import allow

Cli = Callable[..., Gateline]
INPUTS = [
    {"key": "count", "type": "number", "label": "How many"},
    {"key": "notes", "type": "file", "label": "Notes"},
]


def test_it_starts_a_task_and_watches_it_to_its_end(cli: Cli, world: World, tmp_path: Path) -> None:
    world.line(stations=[station("build", name="Build it")], inputs=INPUTS)
    mine = cli(world.operator, token=world.machine()[1])
    (tmp_path / "notes.md").write_text("Mind the gap.\n")
    given = ("count=3", "--file", f"notes=@{tmp_path}/notes.md", "--title", "Release it", "--key", "once")
    name = mine.ok("submit", "line", *given).strip()
    task = Task.objects.get()
    assert (task.name, task.title, task.inputs["count"]) == (name, "Release it", 3)
    assert task.inputs["notes"]["name"] == "notes.md"
    assert mine.ok("submit", "line", *given).strip() == name
    wrong = mine.run("submit", "line", "count=many")
    assert (wrong.returncode, "inputs.count" in wrong.stderr) == (7, True)
    strange = mine.run("submit", "line", "colour=red", "--json")
    assert (strange.returncode, '"path": "inputs.colour"' in strange.stderr) == (7, True)

    watching = mine.popen("watch", name, "--interval", "0.2")
    job = world.started(task)
    logs.Writer(job.pk, job.attempt).append_chunk("0.5\tcompiling \x1b[31m\n1.25\tdone\n", timezone.now())
    world.report(task, {"result": "success", "summary": "All built"})
    said, complaints = watching.communicate(timeout=LONG)
    assert (watching.returncode, complaints) == (0, "")
    assert "✓ Build it (0 s): All built" in said
    assert said.endswith("Completed\n")
    assert mine.ok("logs", name, "--station", "Build it") == "compiling \\x1b[31m\ndone\n"


@pytest.mark.wide
def test_a_folder_that_the_server_may_read_is_a_repository(cli: Cli, world: World, tmp_path: Path) -> None:
    """Named as the shell has it: the server works in another folder."""
    world.line(inputs=[{"key": "repository", "type": "repository", "label": "Repository"}])
    mine = cli(world.operator)
    folder = tmp_path / "shop"
    Repo.init_bare(folder, mkdir=True).close()
    refused = mine.run("submit", "line", "repository=.", cwd=folder)
    assert refused.returncode == 7 and "inputs.repository" in refused.stderr, refused.stderr
    allow(world.project.owner, str(folder))
    mine.ok("submit", "line", "repository=.", cwd=folder)
    mine.ok("submit", "line", "repository=./shop", cwd=tmp_path)
    mine.ok("submit", "line", "repository=~/shop", HOME=str(tmp_path))
    assert {task.inputs["repository"] for task in Task.objects.all()} == {str(folder)}


@pytest.mark.wide
def test_ctrl_c_leaves_the_task_alone(cli: Cli, world: World) -> None:
    task = world.start(world.line())
    watching = cli(world.viewer).popen("watch", task.name)
    assert watching.stdout
    assert watching.stdout.readline() == "Queued\n"
    watching.send_signal(signal.SIGINT)
    _said, complaints = watching.communicate(timeout=LONG)
    assert (watching.returncode, complaints) == (130, "")


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("watch", "WI-none-1"), 5, "There is no task WI-none-1 for you"),
        (("watch", "42"), 2, "Tasks are called WI-app-42"),
        (("submit", "line", "count"), 2, "Write key=value"),
        (("submit", "line"), 4, "permission"),
        (("logs", "{task}", "--station", "nowhere"), 5, "Stations that ran: build."),
        (("review", "{task}"), 5, "waits at no gate"),
        (("rerun", "{task}"), 4, "permission"),
        (("checkout", "{task}"), 6, "No station of this task has worked in a repository yet."),
    ],
)
@pytest.mark.wide
def test_what_cannot_be_is_said_with_its_code(
    cli: Cli, world: World, words: tuple[str, ...], code: int, says: str
) -> None:
    task = world.start(world.line())
    world.started(task)
    said = cli(world.viewer).run(*(each.format(task=task.name) for each in words))
    assert (said.returncode, says in said.stderr) == (code, True), said.stderr
    assert "Traceback" not in said.stderr


@pytest.mark.wide
@pytest.mark.parametrize(("word", "code"), [("failure", 1), ("cancelled", 9), ("gate", 10)])
def test_each_end_has_its_code(cli: Cli, world: World, word: str, code: int) -> None:
    to = {"id": "on", "to": "ship", "gates": ["review"], "when": {"result": "success"}}
    version = world.line(stations=[station("build", to), "ship"], gates=[{"key": "review"}])
    task = world.start(version)
    if word == "cancelled":
        engine.cancel(task.pk, actor=engine.Actor.person(world.operator), reason="no")
    else:
        world.report(task, {"result": "success" if word == "gate" else word})
    said = cli(world.viewer).run("watch", task.name, "--until-waiting")
    assert said.returncode == code, said.stdout


@pytest.mark.wide
def test_a_terminal_gets_a_live_view_and_no_color_is_obeyed(cli: Cli, world: World) -> None:
    task = world.start(world.line(stations=["build"]), title="Draw it [red]")
    world.report(task)
    mine, seen = cli(world.viewer), {}
    for key, more in (("plain", {"NO_COLOR": "1"}), ("coloured", {})):
        environment = mine.environment | {"TERM": "xterm-256color", **more}
        watching = Gateline(mine.config, environment).on_a_terminal("watch", task.name)
        assert watching.code() == 0
        seen[key] = watching.shown
    assert "\x1b[32m" in seen["coloured"]
    assert "\x1b[32m" not in seen["plain"]
    assert "Draw it [red]" in seen["plain"]


def test_it_moves_a_task_by_hand_and_says_first_what_happens(cli: Cli, world: World) -> None:
    promise = {"id": "reviewed", "never": {"reach": "ship", "without": "review"}}
    flow = [station("build", {"id": "on", "to": "ship", "gates": ["review"]}, name="Build it"), "ship"]
    gate = {"key": "review", "name": "Review", "mode": "manual"}
    task = world.start(world.line(stations=flow, gates=[gate], guarantees=[promise]))
    mine, admin = cli(world.operator), cli(world.admin)
    waiting = mine.ok("move", task.name, "--skip", "--plan")
    assert "It will stand at build: awaiting_review.\nAsked there: review.\n" in waiting
    world.report(task)
    world.vote(task, "send_back", reason="Not yet.")
    world.report(task)
    planned = mine.ok("move", task.name, "--to", "ship", "--plan")
    assert "Reviews that are closed: review." in planned
    assert "Breaks: Nothing reaches ship without Review. Confirm with --accept reviewed" in planned
    assert mine.run("move", task.name, "--to", "ship", "--accept", "reviewed", "-r", "Now").returncode != 0
    assert world.at(task) == ["build"]
    assert admin.ok("move", task.name, "--to", "ship", "--accept", "reviewed", "-r", "Now") == (
        f"{task.name} is moved.\n"
    )
    assert world.at(task) == ["ship"]
    assert mine.json("move", task.name, "--plan", "--skip")["end"] == "completed"


@pytest.mark.wide
def test_it_forks_a_task_and_says_first_what_it_has(cli: Cli, world: World) -> None:
    task = world.start(world.line(stations=["build", "ship"]))
    world.report(task)
    mine = cli(world.operator)
    planned = mine.ok("fork", task.name, "--at", "1", "--plan")
    assert planned == "It will begin at build: queued.\nIt has no files yet.\n"
    assert mine.run("fork", task.name, "--at", "999").returncode != 0
    name = mine.json("fork", task.name, "--at", "1", "-r", "Another way")["id"]
    assert name in mine.ok("fork", task.name, "--station", "build").replace("-3", "-2")
    assert world.at(task) == ["ship"]


@pytest.mark.wide
def test_it_pauses_a_task_and_a_line_and_resumes_them(cli: Cli, world: World) -> None:
    task = world.start(world.line(stations=["build", "ship"]))
    mine = cli(world.operator)
    assert mine.ok("pause", task.name, "-r", "Freeze") == f"{task.name} is paused.\n"
    assert mine.json("pause", "line", "--station", "build", "--stop")["stops"] is True
    assert mine.run("pause", task.name).returncode != 0
    timers.run_due_timers_and_triggers()
    assert world.status(task) == "held"
    assert mine.ok("resume", task.name) == f"{task.name} goes on.\n"
    assert mine.ok("resume", "line", "--station", "build") == "line goes on.\n"
    timers.run_due_timers_and_triggers()
    assert world.status(task) == "queued"
