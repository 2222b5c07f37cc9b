"""`rebase: same_patch` and the queue of deliveries to one branch (law §15): what was approved lands on a base that
moved without people where it is the same change and its checks pass again, and nothing else does."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from dulwich.repo import Repo

from pipelines.formats.receipts import verified_landed_change
from pipelines.models import Decision, Delivery, GateVisit, Job, Task, Token
from pipelines.ports.vault.signing import configured_receipt_key
from pipelines.queries import delivery_queue
from pipelines.work.git import delivery_push
from pipelines.work.git.mirror import Mirror
from tests.factories import World, station
from tests.pages.conftest import client_of
from tests.work.driving import Bench, command, drive_token, outcome_of
from tests.work.remotes import Files, RemoteRepository, connect, remote

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.moves,
    pytest.mark.usefixtures("artifacts_here"),
]
GATE = {"key": "review", "name": "Code review", "offers": ["approve", "reject"], "on_reject": "fail"}
LINES = 400
TEXT = "".join(f"line {number}\n" for number in range(LINES)).encode()
CHANGE = """
import pathlib
at = int('{{input.at}}')
p = pathlib.Path('app.py')
lines = p.read_text().splitlines(True)
lines[at] = f'changed {at}\\n'
p.write_text(''.join(lines))
"""
"""Of the first visit: it changes one line."""
PASS = "assert open('app.py').read().count('line') > 1"


@pytest.fixture
def origin(tmp_path: Path, world: World) -> RemoteRepository:
    made = remote(tmp_path / "origin.git", {"app.py": TEXT})
    connect(world.project, made)
    return made


def to(target: str, **more: Any) -> dict[str, Any]:
    return {"id": f"to-{target}", "to": target, "when": {"result": "success"}, **more}


def line(
    world: World, *, check: str = PASS, again: str = "check", rebase: str = "same_patch", **more: Any
) -> Any:
    moved = {
        "id": "again",
        "to": again,
        "when": {"eval": {"op": "equals", "value": "base_moved"}},
        "max_retries": 2,
    }
    work = {"to": "merge", "gate": "review", "rebase": rebase}
    return world.line(
        stations=[
            command("fix", more.pop("program", CHANGE), to("check")),
            command("check", check, to("lint")),
            command("lint", "pass", to("merge", gates=["review"])),
            station("merge", to("completed"), moved, kind="deliver", work=work),
        ],
        gates=[GATE],
        inputs=[{"key": "at", "label": "At", "type": "text"}],
        workspace={"git": {"repository": "app"}},
        policy={"no_match": "stuck", "on_failure": "stuck"},
        **more,
    )


def run(bench: Bench, *tasks: Task) -> None:
    """Each in turn as far as it goes by itself, until all of them rest."""
    waiting = list(tasks)
    while waiting:
        for task in list(waiting):
            drive_token(
                bench, Token.objects.values_list("pk", flat=True).get(task=task), repository_roots=("/",)
            )
            task.refresh_from_db()
            if not Job.objects.filter(task=task, state__in=["queued", "running"]).exists():
                waiting.remove(task)


def run_together(bench: Bench, tasks: list[Task]) -> None:
    """By four workers with mirrors of their own."""
    with ThreadPoolExecutor(4) as pool:
        each = [pool.submit(partial(_alone, Bench(bench.base / str(task.pk % 4)), task)) for task in tasks]
    for one in each:
        one.result()


def _alone(bench: Bench, task: Task) -> None:
    try:
        run(bench, task)
    finally:
        connection.close()


def asked(task: Task) -> int:
    return GateVisit.objects.filter(task=task).count()


def started(world: World, bench: Bench, version: Any, count: int, step: int) -> list[Task]:
    """Approved tasks that are about to be delivered."""
    tasks = [
        world.start(version, title=f"Change {number}", inputs={"at": str(10 + number * step)})
        for number in range(count)
    ]
    run(bench, *tasks)
    for task in tasks:
        assert world.status(task) == "awaiting_review", outcome_of(task, "fix")
        world.vote(task)
    return tasks


def receipt_of(world: World, task: Task) -> Any:
    found = client_of(world.operator).get(f"/p/acme/{world.project.key}/tasks/{task.name}/receipt/")
    return verified_landed_change(found.content, configured_receipt_key().public_key())


@pytest.mark.parametrize(
    "count", [pytest.param(3, marks=pytest.mark.wide), pytest.param(20, marks=pytest.mark.wide)]
)
def test_approved_tasks_whose_hunks_are_apart_land_without_another_question(
    world: World, bench: Bench, origin: RemoteRepository, count: int
) -> None:
    tasks = started(world, bench, line(world), count, 12)
    run_together(bench, tasks)
    assert [world.status(task) for task in tasks] == ["completed"] * count
    assert [asked(task) for task in tasks] == [1] * count
    lines = origin.files()["app.py"].decode().splitlines()
    assert [each for each in lines if each.startswith("changed")] == [
        f"changed {10 + number * 12}" for number in range(count)
    ]
    history, receipts = origin.history(), {task.pk: receipt_of(world, task) for task in tasks}
    assert sum(each.is_exact for each in receipts.values()) == 1, "the first one"
    for task in tasks:
        change = receipts[task.pk]
        moved = not change.is_exact
        landed = origin.commit(change.commit)
        assert change.commit in history and landed.tree.decode() == change.tree
        assert change.approval is not None and change.is_same_patch is moved
        assert (change.approval.tree != change.tree) is moved
        assert Job.objects.filter(task=task, station="check").count() == 1 + moved
        assert Job.objects.filter(task=task, station="merge").count() == 1 + moved, "one round, not more"
    assert Delivery.objects.filter(landed_at__isnull=False).count() == count
    other = next(task for task in tasks if not receipts[task.pk].is_exact)
    assert "The change that was approved" in page_of(world, other)
    trace = Decision.objects.filter(task=other, station="lint").latest("at").trace
    assert any("same change" in each["why"] for each in trace)


@pytest.mark.wide
def test_a_delivery_waits_for_the_one_before_without_a_worker(
    world: World, bench: Bench, origin: RemoteRepository
) -> None:
    """And not for people."""
    first, second = started(world, bench, line(world), 2, 12)
    origin.add({**origin.files(), "theirs": b""}, "Somebody else")
    step(bench, first)
    assert outcome_of(first, "merge")["eval"] == "base_moved"
    step(bench, second)
    job = Job.objects.get(task=second, station="merge")
    assert (job.state, job.attempt, job.lease_key) == ("queued", 1, None) and job.not_before is not None
    assert "Waits for another delivery to this branch" in page_of(world, second)
    delivery = Delivery.objects.get()
    assert delivery.repository_id is not None and delivery.task_id == first.pk
    Task.objects.filter(pk=first.pk).update(status="awaiting_review")
    assert delivery_queue.seconds_until_delivery_looks_again(job, delivery.repository_id, "main") == 0
    Task.objects.filter(pk=first.pk).update(status="queued")
    run(bench, first)
    run(bench, second)
    assert [world.status(each) for each in (first, second)] == ["completed"] * 2
    assert [asked(each) for each in (first, second)] == [1, 1]
    assert Job.objects.filter(station="merge").count() == 4


def step(bench: Bench, task: Task) -> None:
    """One station."""
    token = Token.objects.values_list("pk", flat=True).get(task=task)
    drive_token(bench, token, repository_roots=("/",), most_stations=1)


def page_of(world: World, task: Task) -> str:
    return client_of(world.operator).get(f"/p/acme/{world.project.key}/tasks/{task.name}/").content.decode()


@pytest.mark.parametrize("count", [2, pytest.param(20, marks=pytest.mark.wide)])
def test_exactly_those_whose_hunks_touch_are_asked_again(
    world: World, bench: Bench, origin: RemoteRepository, count: int
) -> None:
    """Each second task changes a line beside that of the one before."""
    version = line(world)
    tasks = [
        world.start(version, title=f"{number}", inputs={"at": str(10 + number // 2 * 24 + number % 2 * 2)})
        for number in range(count)
    ]
    run(bench, *tasks)
    for task in tasks:
        world.vote(task)
    run(bench, *tasks)
    touching = tasks[1::2]
    assert [world.status(task) for task in tasks[::2]] == ["completed"] * len(tasks[::2])
    assert [(world.status(task), asked(task)) for task in touching] == [("awaiting_review", 2)] * len(
        touching
    )
    for task in touching:
        world.vote(task)
        run(bench, task)
        if world.status(task) == "awaiting_review":  # what landed since moved the base again
            world.vote(task)
            run(bench, task)
    assert [world.status(task) for task in tasks] == ["completed"] * count
    for task in tasks:
        change = receipt_of(world, task)
        assert origin.commit(change.commit).tree.decode() == change.tree


@pytest.mark.wide
@pytest.mark.parametrize(
    ("why", "more"),
    [
        pytest.param(
            "a check fails on the new tree",
            {"check": "import os; assert not os.path.exists('theirs')"},
            marks=pytest.mark.wide,
        ),
        ("a check is left out", {"again": "lint"}),
        pytest.param("people are wanted", {"rebase": "never"}, marks=pytest.mark.wide),
        pytest.param(
            "a station changes more",
            {
                "check": "import os, pathlib; os.path.exists('theirs') and pathlib.Path('more').write_text('x')"
            },
            marks=pytest.mark.wide,
        ),
    ],
)
def test_what_is_not_proved_asks_people(
    world: World, bench: Bench, origin: RemoteRepository, why: str, more: dict[str, Any]
) -> None:
    tasks = started(world, bench, line(world, **more), 1, 12)
    theirs = origin.add({**origin.files(), "theirs": b""}, "Somebody else")
    run(bench, *tasks)
    assert world.status(tasks[0]) in ("awaiting_review", "stuck"), why
    assert origin.head() == theirs
    assert (world.status(tasks[0]) == "stuck") is ("fails" in why)


BASE: Files = {
    "a.py": TEXT,
    "b.py": b"b\n",
    "link": (0o120000, b"a.py"),
    "image": b"\x00\x01",
    "twice": b"x\n" * 40,
}


@pytest.mark.smoke(1)
@pytest.mark.parametrize(
    ("why", "ours", "theirs"),
    [
        ("", {"a.py": TEXT.replace(b"line 9\n", b"nine\n")}, {"a.py": b"first\n" + TEXT}),
        ("", {"new.py": b"x\n"}, {"b.py": b"c\n"}),
        ("not the same files", {"b.py": b"c\n", "new": b""}, {"b.py": b"c\n"}),
        ("both changed a.py", {"a.py": TEXT.replace(b"line 9\n", b"nine\n")}, {"a.py": None}),
        (
            "not the same any more",
            {"a.py": TEXT.replace(b"line 9\n", b"nine\n")},
            {"a.py": TEXT.replace(b"line 11\n", b"eleven\n")},
        ),
        ("no plain file", {"link": (0o120000, b"b.py")}, {"b.py": b"c\n"}),
        ("no text", {"image": b"\x00\x02"}, {"b.py": b"c\n"}),
        ("mode of b.py", {"b.py": (0o100755, b"b\n")}, {"a.py": TEXT + b"more\n"}),
        ("may be renamed", {"b.py": None, "c.py": b"b\n"}, {"a.py": TEXT + b"more\n"}),
        ("kind of a.py", {"a.py": TEXT.replace(b"line 9\n", b"nine\n")}, {"a.py": (0o100755, TEXT)}),
        (
            "more than one place",
            {"twice": b"x\n" * 20 + b"y\n" + b"x\n" * 20},
            {"twice": b"x\n" * 40 + b"end\n"},
        ),
    ],
)
def test_what_is_the_same_change(tmp_path: Path, why: str, ours: Any, theirs: Any) -> None:
    origin = remote(tmp_path / "origin.git", BASE)
    base = origin.head()
    origin.branch("work")
    head = origin.add(_with(BASE, ours), branch="work")
    onto = origin.add(_with(BASE, theirs))
    with Repo(str(origin.path)) as repository:
        mirror = Mirror(repository, 10**9)
        if why:
            with pytest.raises(delivery_push.NotTheSame, match=why):
                delivery_push.same_patch_tree(mirror, base, head, onto)
            return
        tree = delivery_push.same_patch_tree(mirror, base, head, onto)
    both = dict(_with(_with(BASE, theirs), ours))
    if "a.py" in ours:
        both["a.py"] = b"first\n" + ours["a.py"]
    expected = origin.add(both, branch="expected")
    assert tree == origin.commit(expected).tree.decode()


def _with(files: Files, change: Any) -> Files:
    return {path: said for path, said in {**files, **change}.items() if said is not None}
