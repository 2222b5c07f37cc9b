"""A fork has exactly the files of its moment: in a repository by the tree that git names, and without one by its
workspace (law §17)."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from pipelines import engine
from pipelines.engine.commands.fork import ForkPosition
from pipelines.models import Event, LineVersion, Task, VisitCommit
from tests.factories import World
from tests.work.driving import Bench, command, done, drive_token, outcome_of, text_of
from tests.work.remotes import RemoteRepository
from tests.work.repository_lines import origin, run, to
from tests.work.test_lineage import drive_at

__all__ = ["origin"]
pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.moves,
    pytest.mark.usefixtures("artifacts_here"),
]

LOOK = "import os; print(sorted(n for n in os.listdir('.') if n[0] != '.'))"


def writes(name: str) -> str:
    return f"open({name!r}, 'w').write({name!r})"


def in_repository(world: World) -> LineVersion:
    """one → two → three, each with a change of its own; `look` is where a fork may be sent."""
    stations = [
        command("one", writes("a"), to("two")),
        command("two", f"import os; {writes('b')}; os.remove('a')", to("three")),
        command("three", writes("app.py"), to("completed")),
        command("look", LOOK, to("completed", id="look-on")),
    ]
    return world.line(stations=stations, workspace={"git": {"repository": "app"}})


def moments(task: Task) -> list[tuple[int, str]]:
    """The number of each event, with the tree that its branch had by then; "" before anything was committed."""
    commits = list(VisitCommit.objects.filter(task=task).select_related("job").order_by("job_id"))
    found = []
    for event in Event.objects.filter(task=task).order_by("seq"):
        trees = [row.tree for row in commits if row.job.ended_at and row.job.ended_at <= event.at]
        found.append((event.seq, trees[-1] if trees else ""))
    return found


def fork(world: World, task: Task, **more: Any) -> Task:
    return engine.fork(task.pk, user=world.operator, **more)


def git(folder: Path, *arguments: str) -> str:
    run = subprocess.run(["git", "-C", str(folder), *arguments], check=True, capture_output=True, text=True)
    return run.stdout.strip()


@pytest.mark.git
def test_a_fork_has_the_tree_of_each_moment(world: World, bench: Bench, origin: RemoteRepository) -> None:
    task = world.start(in_repository(world), title="Fix it")
    run(bench, task)
    assert world.status(task) == "completed"
    base = git(origin.path, "rev-parse", "main^{tree}")
    trees = moments(task)
    assert len({tree for _number, tree in trees}) == 4
    for number, tree in trees:
        new = fork(world, task, at=number, station="look")
        run(bench, new)
        assert world.status(new) == "completed"
        facts = outcome_of(new, "look")["facts"]["git"]
        assert facts["tree"] == (tree or base), number
    # Nothing of the other task is another than before
    assert moments(task)[: len(trees)] == trees


@pytest.mark.wide
def test_a_fork_goes_on_while_the_other_task_does(
    world: World, bench: Bench, origin: RemoteRepository
) -> None:
    """By what real git says of both branches in the end."""
    task = world.start(in_repository(world), title="Fix it")
    drive_in(bench, task, "one")
    new = fork(world, task)
    drive_in(bench, task, "two")
    run(bench, new)
    run(bench, task)
    listed = {}
    for one in (task, new):
        last = VisitCommit.objects.filter(task=one).order_by("-job_id")[0]
        listed[one.pk] = (last.tree, last.base, last.branch)
    # The same two stations ran on the same files: git names one tree, on two branches
    assert listed[task.pk][:2] == listed[new.pk][:2]
    assert listed[task.pk][2] != listed[new.pk][2]
    assert outcome_of(new, "two")["facts"]["git"]["files_changed"] == 1


@pytest.mark.wide
@pytest.mark.parametrize("which", ["where it moved", "each"])
def test_a_fork_at_a_branch_has_its_files_alone(
    world: World, bench: Bench, origin: RemoteRepository, which: str
) -> None:
    """After each event, or after those alone that changed where it stood."""
    stations = [
        command("begin", writes("a"), {"id": "fork", "to": ["left", "right"]}),
        command("left", writes("l"), {"id": "l", "to": "meet"}),
        command("right", writes("r"), {"id": "r", "to": "meet"}),
        command("meet", LOOK, to("completed"), join={"wait_for": ["left", "right"], "aggregation": "none"}),
        command("look", LOOK, to("completed", id="look-on")),
    ]
    task = world.start(world.line(stations=stations, workspace={"git": {"repository": "app"}}))
    for key in ("begin", "left", "right", "meet"):
        token = task.tokens.get(station=key, ended_at=None, forked=False).pk
        drive_token(bench, token, repository_roots=(str(bench.base.parent),), most_stations=1)
    assert world.status(task) == "completed"
    seen: dict[tuple[int, int], str] = {}
    before: tuple[ForkPosition, ...] = ()
    for event in Event.objects.filter(task=task).order_by("seq"):
        moment = engine.task_moment(task, event.seq)
        if which != "each" and moment.positions == before:
            continue
        before = moment.positions
        for place in moment.positions:
            new = fork(world, task, at=event.seq, position=place.token, station="look")
            run(bench, new)
            seen[event.seq, place.token] = text_of(done(new, "look")).splitlines()[-1]
    assert set(seen.values()) == {
        "['app.py', 'doc', 'tests']",
        "['a', 'app.py', 'doc', 'tests']",
        "['a', 'app.py', 'doc', 'l', 'tests']",
        "['a', 'app.py', 'doc', 'l', 'r', 'tests']",
    }


def test_a_fork_has_the_workspace_of_its_moment(world: World, bench: Bench) -> None:
    """Without a repository; also at the first station, and while the other task goes on."""
    stations = [
        command("one", writes("a"), to("two")),
        command("two", f"import os; {writes('b')}; os.remove('a')", to("look")),
        command("look", LOOK, to("completed")),
    ]
    task = world.start(world.line(stations=stations))
    for key in ("one", "two"):
        drive_at(bench, task, key)
    for kind, files in (("one", "[]"), ("two", "['a']"), ("look", "['b']")):
        entered = Event.objects.filter(task=task, target=kind).earliest("seq")
        new = fork(world, task, at=entered.seq, station="look")
        drive_at(bench, new, "look")
        assert text_of(done(new, "look")) == f"{files}\n"
    drive_at(bench, task, "look")
    assert text_of(done(task, "look")) == "['b']\n"


def drive_in(bench: Bench, task: Task, station: str) -> None:
    """One station of a line that works in a repository."""
    assert world_at(task) == [station]
    run(bench, task, most_stations=1)


def world_at(task: Task) -> list[str]:
    return list(task.tokens.filter(ended_at=None, forked=False).values_list("station", flat=True))
