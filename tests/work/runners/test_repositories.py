"""A runner over HTTP in a line that works in a repository: branches that meet, a base that moved, an environment that
is prepared once. As beside the server, and delivered by the server's own worker (law §15, docs/runners.md)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pipelines.models import Job, Repository, Task, Token, VisitCommit
from tests.factories import World, station
from tests.fixtures.site import Site, start_web, stop
from tests.pages.conftest import client_of
from tests.waiting import until
from tests.work import repository_lines
from tests.work.driving import PYTHON, Bench, command, done, drive_token, outcome_of, text_of
from tests.work.remotes import RemoteRepository, connect, remote
from tests.work.repository_lines import GATE, to
from tests.work.runners.far import FarAway
from tests.work.runners.running import RunnerProcess, runner
from tests.work.test_repository_joins import BASE, replaces
from tests.work.test_repository_joins import line as forked

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.moves,
    pytest.mark.usefixtures("artifacts_here"),
]


@pytest.fixture(autouse=True)
def near(settings: Any, tmp_path: Path) -> None:
    """The server's own folders."""
    settings.REPOSITORY_ROOTS = [tmp_path]
    settings.WORKSPACES_DIR = tmp_path / "server"


@pytest.fixture
def origin(tmp_path: Path, world: World) -> RemoteRepository:
    made = remote(tmp_path / "origin.git", {"app.py": BASE, "old.py": b"1\n"})
    connect(world.project, made)
    return made


@pytest.fixture
def far(world: World, tmp_path: Path) -> FarAway:
    return FarAway(tmp_path / "far", world.runner()[1])


def by_runner(task: Task, *stations: str) -> None:
    """All of these were done by a machine of the project."""
    jobs = Job.objects.filter(task=task, station__in=stations, state=Job.State.DONE)
    assert {job.station for job in jobs} == set(stations)
    assert all(job.worker is not None and job.worker.token_id is not None for job in jobs)


def deliver(world: World, bench: Bench, task: Task) -> None:
    """Approve; the server's own worker lands it."""
    world.vote(task)
    token = Token.objects.get(task=task, ended_at=None, forked=False)
    drive_token(bench, token.pk, repository_roots=(str(bench.base.parent),))


@pytest.mark.wide
def test_branches_meet_on_a_runner_and_what_they_made_lands(
    world: World, bench: Bench, far: FarAway, origin: RemoteRepository
) -> None:
    """Other files, and other lines of one file, a file that one branch removed; merged where they join."""
    left = replaces("one", "ONE", "__import__('os').remove('old.py')")
    right = replaces("five", "FIVE", "open('new.py', 'w').write('n')")
    task = world.start(forked(world, left, right))
    far.work()
    assert world.status(task) == "awaiting_review", [job.outcome for job in Job.objects.filter(task=task)]
    by_runner(task, "begin", "left", "right", "meet")
    facts = outcome_of(task, "meet")["facts"]["git"]
    assert facts["paths"] == ["app.py", "new.py", "old.py"]
    assert facts["source"]["observed_by"] == "server"
    heads = [VisitCommit.objects.get(task=task, job__station=key).head for key in ("left", "right")]
    shown = client_of(world.reviewer).get(f"/inbox/{world.visit(task).pk}/").content.decode()
    assert "<ins>FIVE</ins>" in shown and "<ins>ONE</ins>" in shown and "new.py" in shown
    deliver(world, bench, task)
    assert world.status(task) == "completed"
    landed = BASE.replace(b"one", b"ONE").replace(b"five", b"FIVE")
    assert origin.files() == {"app.py": landed, "new.py": b"n"}
    assert set(heads) < origin.history()


@pytest.mark.wide
def test_branches_that_do_not_agree_are_a_conflict_there_too(
    world: World, far: FarAway, origin: RemoteRepository
) -> None:
    line = forked(
        world,
        replaces("one", "ONE"),
        replaces("one", "EINS"),
        meet=command("meet", "pass", to("merge", gates=["review"])),
        policy={"on_failure": "stuck", "no_match": "stuck"},
    )
    task = world.start(line)
    far.work()
    met = outcome_of(task, "meet")
    assert (met["failure_type"], met["output"]) == ("merge_conflict", {"files": ["app.py"]})


@pytest.mark.wide
def test_a_base_that_moved_is_a_new_round_on_a_runner(
    world: World, bench: Bench, far: FarAway, origin: RemoteRepository
) -> None:
    """Another task landed between the approval and the merge."""
    origin.add({"app.py": b"x = 1\n", "doc.md": b"a\n"}, "As the line expects it")
    line = repository_lines.line(world)
    first, second = world.start(line, title="First"), world.start(line, title="Second")
    far.work()
    assert [world.status(each) for each in (first, second)] == ["awaiting_review"] * 2
    theirs = origin.add({"app.py": b"x = 1\n", "doc.md": b"b\n"}, "Another task landed")
    world.vote(first)
    token = Token.objects.get(task=first)
    drive_token(
        bench, token.pk, repository_roots=(str(bench.base.parent),), labels=frozenset(), most_stations=1
    )
    assert outcome_of(first, "merge")["eval"] == "base_moved"
    far.work()
    assert world.status(first) == "awaiting_review", [job.outcome for job in Job.objects.filter(task=first)]
    assert done(first, "fix", 2).worker.token_id is not None  # type: ignore[union-attr]
    facts = outcome_of(first, "check", 2)["facts"]["git"]
    assert facts["base"] == theirs and facts["paths"] == ["app.py", "new.txt"]
    deliver(world, bench, first)
    assert world.status(first) == "completed"
    assert origin.files()["doc.md"] == b"b\n" and origin.files()["app.py"] == b"x = 2\n"


# A process of its own, behind an isolation

INSTALL = b"""
import pathlib, sys
folder = pathlib.Path("packages/modules")
folder.mkdir(parents=True)
for name in pathlib.Path("deps.lock").read_text().split():
    (folder / f"{name}.py").write_text("VALUE = 42")
print("installed", file=sys.stderr)
"""
SUITE = (
    "import sys; sys.path.insert(0, 'packages/modules'); import answer; "
    "open('result.txt', 'w').write(str(answer.VALUE)); print('suite passed')"
)
FILES = {"deps.lock": b"answer\n", "install.py": INSTALL, ".gitignore": b"packages/\n", "app.py": b"x = 1\n"}


@pytest.fixture
def server(tmp_path: Path, transactional_db: None) -> Iterator[Site]:
    """One that reads repositories of this test."""
    folder = tmp_path / "web"
    folder.mkdir()
    made = start_web(folder, GATELINE_REPOSITORY_ROOTS=str(tmp_path))
    yield made
    stop(made.process)


@pytest.fixture
def process(server: Site, world: World, tmp_path: Path) -> Iterator[RunnerProcess]:
    env = {"GATELINE_REPOSITORY_ROOTS": str(tmp_path)}
    words = ("--isolation", "auto", "--concurrency", "2")
    with runner(server.url, world.runner("far")[1], tmp_path / "far", *words, env=env) as found:
        yield found


def rests(world: World, task: Task, far: RunnerProcess, status: str) -> None:
    def there() -> bool:
        assert far.process is not None and far.process.poll() is None, far.log.read_text()[-3000:]
        return world.status(task) in (status, "failed", "stuck", "completed")

    until(there, lambda: far.log.read_text()[-3000:])
    jobs = [(job.station, job.outcome) for job in Job.objects.filter(task=task)]
    assert world.status(task) == status, (jobs, far.log.read_text()[-3000:])


@pytest.mark.wide
@pytest.mark.isolation
def test_a_lock_file_is_prepared_once_and_from_the_cache_afterwards(
    world: World, tmp_path: Path, process: RunnerProcess
) -> None:
    connect(world.project, remote(tmp_path / "origin.git", FILES))
    Repository.objects.update(prepare={"argv": [PYTHON, "install.py"], "cache": "deps.lock"})
    line = world.line(
        stations=[command("first", SUITE, to("second")), command("second", SUITE, to("completed"))],
        workspace={"git": {"repository": "app"}},
    )
    first = world.start(line)
    rests(world, first, process, "completed")
    texts = text_of(done(first, "first")), text_of(done(first, "second"))
    assert "Prepare: " in texts[0] and "installed" in texts[0] and "Prepared (" in texts[0]
    assert "Prepared from the cache (" in texts[1] and "installed" not in texts[1]
    facts = outcome_of(first, "first")["facts"]
    assert facts["git"]["paths"] == ["result.txt"], "what was prepared is no part of the change"
    second = world.start(line)
    rests(world, second, process, "completed")
    assert "Prepared from the cache (" in text_of(done(second, "first")), "another task of it, too"
    by_runner(second, "first", "second")


@pytest.mark.wide
@pytest.mark.isolation
def test_two_branches_of_a_process_elsewhere_meet(
    world: World, tmp_path: Path, process: RunnerProcess
) -> None:
    origin = remote(tmp_path / "origin.git", {"app.py": BASE})
    connect(world.project, origin)
    # Work that takes no time has a queue of its own, and a label that only this runner has.
    meet = station("meet", to("merge", gates=["review"]), kind="noop", labels=["far"])
    line = forked(world, replaces("one", "ONE"), replaces("five", "FIVE"), meet=meet)
    task = world.start(line)
    rests(world, task, process, "awaiting_review")
    by_runner(task, "begin", "left", "right", "meet")
    facts = outcome_of(task, "meet")["facts"]["git"]
    assert (facts["paths"], facts["insertions"], facts["deletions"]) == (["app.py"], 2, 2)
    assert facts["source"]["observed_by"] == "server"


def test_a_runner_gets_no_delivery(world: World, far: FarAway, origin: RemoteRepository) -> None:
    """It would take the credential that pushes."""
    line = world.line(
        stations=[
            command("fix", replaces("one", "ONE"), to("merge", gates=["review"])),
            station("merge", to("completed"), kind="deliver", work={"to": "merge", "gate": "review"}),
        ],
        gates=[GATE],
        workspace={"git": {"repository": "app"}},
    )
    task = world.start(line)
    far.work()
    world.vote(task)
    far.work()
    assert world.status(task) == "queued" and world.job(task).station == "merge"
