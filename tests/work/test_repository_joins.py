"""Branches that run side by side in one repository: apart until their join, merged there, and what they cannot agree on
told with its files (law §15)."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from pipelines import engine
from pipelines.formats.evidence.trees.line_diff import StepBudget
from pipelines.lines.publishing import PublishRefused
from pipelines.models import Job, Task, Token, VisitCommit
from pipelines.work.git.tree_merge import merged_lines_and_is_clean
from tests.factories import World, station
from tests.pages.conftest import client_of
from tests.work.driving import Bench, command, done, drive_token, outcome_of, text_of
from tests.work.remotes import RemoteRepository, connect, remote
from tests.work.repository_lines import GATE, to

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.moves,
    pytest.mark.usefixtures("artifacts_here"),
]
LIST = "import os; print(sorted(os.listdir('.')), open('app.py').read())"
BASE = b"v = one\nv = two\nv = three\nv = four\nv = five\n"


@pytest.fixture
def origin(tmp_path: Path, world: World) -> RemoteRepository:
    made = remote(tmp_path / "origin.git", {"app.py": BASE, "old.py": b"1\n"})
    connect(world.project, made)
    return made


def replaces(old: str, new: str, more: str = "pass") -> str:
    return f"t = open('app.py').read(); open('app.py', 'w').write(t.replace({old!r}, {new!r})); {more}"


def line(
    world: World,
    left: str,
    right: str,
    *,
    meet: Any = None,
    begin: str = "pass",
    join: Any = None,
    **more: Any,
) -> Any:
    """Two branches, their join, the review, the merge."""
    meets = meet or station("meet", to("merge", gates=["review"]), kind="noop")
    joins = {"wait_for": ["left", "right"], **(join or {})}
    stations = [
        command("begin", begin, {"id": "fork", "to": ["left", "right"]}),
        command("left", left, {"id": "l", "to": "meet"}, name="Left"),
        command("right", right, {"id": "r", "to": "meet"}, name="Right"),
        {**meets, "join": joins},
        *more.pop("stations", ()),
        station("merge", to("completed"), kind="deliver", work={"to": "merge", "gate": "review"}),
    ]
    return world.line(stations=stations, gates=[GATE], workspace={"git": {"repository": "app"}}, **more)


def run(bench: Bench, task: Task) -> None:
    """Until everything rests."""
    while True:
        waiting = Job.objects.filter(task=task, state=Job.State.QUEUED).values_list("token_id", flat=True)
        tokens = list(Token.objects.filter(pk__in=waiting, ended_at=None, status="queued"))
        if not tokens:
            return
        for token in tokens:
            drive_token(bench, token.pk, repository_roots=(str(bench.base.parent),))


def test_what_branches_changed_is_merged_at_their_join_and_lands(
    world: World, bench: Bench, origin: RemoteRepository
) -> None:
    """Other files, and other lines of one file; a file that one branch removed; nothing of one in the other."""
    base = origin.head()
    left = replaces("one", "ONE", "__import__('os').remove('old.py')")
    right = f"{LIST}; " + replaces("five", "FIVE", "open('new.py', 'w').write('n')")
    task = world.start(line(world, left, right))
    run(bench, task)
    assert world.status(task) == "awaiting_review", [job.outcome for job in Job.objects.filter(task=task)]
    assert f"['.git', 'app.py', 'old.py'] {BASE.decode()}" in text_of(done(task, "right"))
    facts = outcome_of(task, "meet")["facts"]["git"]
    assert facts["paths"] == ["app.py", "new.py", "old.py"] and facts["source"]["before"] == facts["tree"]
    heads = {job: VisitCommit.objects.get(task=task, job__station=job).head for job in ("left", "right")}
    joined = origin_commit(world, bench, task, origin, base, heads)
    assert joined == [heads["left"], heads["right"]]
    assert origin.files() == {
        "app.py": BASE.replace(b"one", b"ONE").replace(b"five", b"FIVE"),
        "new.py": b"n",
    }


def origin_commit(
    world: World, bench: Bench, task: Task, origin: RemoteRepository, base: str, heads: dict[str, str]
) -> list[str]:
    """Approve, and the parents of the merge below what landed; another worker, which has no mirror, delivers."""
    shown = client_of(world.reviewer).get(f"/inbox/{world.visit(task).pk}/").content.decode()
    assert "<ins>FIVE</ins>" in shown and "<ins>ONE</ins>" in shown and "new.py" in shown
    shutil.rmtree(bench.base)
    world.vote(task)
    run(bench, task)
    assert world.status(task) == "completed"
    landed = origin.commit()
    assert landed.parents[0].decode() == base
    return [parent.decode() for parent in origin.commit(landed.parents[1].decode()).parents]


@pytest.mark.wide
def test_checks_that_change_nothing_need_no_merge(
    world: World, bench: Bench, origin: RemoteRepository
) -> None:
    """What the one branch that changed something made of what stood before the fork goes on; all of it is shown."""
    task = world.start(line(world, replaces("one", "ONE"), "pass", begin=replaces("two", "TWO")))
    run(bench, task)
    head = outcome_of(task, "left")["facts"]["git"]["head"]
    assert not VisitCommit.objects.filter(task=task, job__station="meet").exists()
    shown = client_of(world.reviewer).get(f"/inbox/{world.visit(task).pk}/").content.decode()
    assert "<ins>ONE</ins>" in shown and "<ins>TWO</ins>" in shown
    world.vote(task)
    run(bench, task)
    assert world.status(task) == "completed"
    assert origin.commit().parents[1].decode() == head and b"TWO" in origin.files()["app.py"]
    page = client_of(world.operator).get(f"/p/acme/{world.project.key}/tasks/{task.name}/").content.decode()
    assert "Exactly what was approved" in page


def test_a_join_needs_a_worker(world: World, origin: RemoteRepository) -> None:
    with pytest.raises(PublishRefused, match="meet joins branches of a repository, and no worker does"):
        line(world, "pass", "pass", meet=station("meet", to("merge"), kind="manual"))


@pytest.mark.wide
def test_a_conflict_is_the_outcome_of_the_join_and_a_station_settles_it(
    world: World, bench: Bench, origin: RemoteRepository
) -> None:
    """The work of the join does not run. Who comes after it finds both sides between marks and takes them out."""
    settle = (
        "import os; text = open('app.py').read(); print(text)\n"
        "keep = 'two by both' if os.environ['GATELINE_VISIT'] == '2' else text\n"
        "open('app.py', 'w').write(keep)"
    )
    meet = command(
        "meet",
        "print('never')",
        to("merge", gates=["review"]),
        {"id": "no", "to": "settle", "when": {"failure_type": "merge_conflict"}},
    )
    again = {"id": "again", "to": "settle", "when": {"result": "failure"}, "max_retries": 3}
    task = world.start(
        line(
            world,
            replaces("two", "TWO"),
            replaces("two", "zwei"),
            meet=meet,
            stations=[command("settle", settle, to("merge", id="settled", gates=["review"]), again)],
        )
    )
    run(bench, task)
    conflict = outcome_of(task, "meet")
    assert (conflict["result"], conflict["failure_type"]) == ("failure", "merge_conflict")
    assert conflict["output"] == {"files": ["app.py"]}
    assert conflict["summary"].startswith("Left, Right changed the same lines: app.py.")
    assert "never" not in text_of(done(task, "meet"))
    text = text_of(done(task, "settle"))
    assert "one\n<<<<<<< Left\nv = TWO\n=======\nv = zwei\n>>>>>>> Right\nv = three\n" in text
    first = outcome_of(task, "settle")
    assert first["failure_type"] == "merge_conflict" and "Still in conflict: app.py" in first["summary"]
    settled = VisitCommit.objects.get(task=task, job__station="settle")
    assert settled.job.visit == 2 and world.status(task) == "awaiting_review"
    world.vote(task)
    run(bench, task)
    assert origin.files()["app.py"] == b"two by both"
    heads = [VisitCommit.objects.get(task=task, job__station=key).head for key in ("left", "right")]
    assert [parent.decode() for parent in origin.commit(settled.head).parents] == heads


@pytest.mark.wide
def test_what_a_branch_that_failed_changed_does_not_come_along(
    world: World, bench: Bench, origin: RemoteRepository
) -> None:
    task = world.start(
        line(
            world,
            replaces("one", "ONE"),
            replaces("five", "FIVE", "open('bad.py', 'w'); exit(1)"),
            join={"aggregation": "any-pass"},
        )
    )
    run(bench, task)
    assert world.status(task) == "awaiting_review"
    shown = client_of(world.reviewer).get(f"/inbox/{world.visit(task).pk}/").content.decode()
    assert "<ins>ONE</ins>" in shown and "bad.py" not in shown
    world.vote(task)
    run(bench, task)
    assert origin.files() == {"app.py": BASE.replace(b"one", b"ONE"), "old.py": b"1\n"}


@pytest.mark.wide
def test_a_fork_in_a_branch_and_a_second_fork_after_the_join(
    world: World, bench: Bench, origin: RemoteRepository
) -> None:
    def write(name: str) -> str:
        return f"import os; print(sorted(os.listdir('.'))); open('{name}', 'w').write('{name}')"

    def fork(key: str, *targets: str) -> dict[str, Any]:
        return {"id": f"{key}-on", "to": list(targets)}

    stations = [
        station("start", fork("start", "a", "b"), kind="noop"),
        command("a", write("a"), fork("a", "a1", "a2")),
        command("a1", write("a1"), to("am")),
        command("a2", write("a2"), to("am", id="a2")),
        command("am", write("am"), to("m"), join={"wait_for": ["a1", "a2"]}),
        command("b", write("b"), to("m", id="b")),
        {**station("m", fork("m", "c", "d"), kind="noop"), "join": {"wait_for": ["am", "b"]}},
        command("c", write("c"), to("n")),
        command("d", "pass", to("n", id="d")),
        command("n", write("n"), to("push"), join={"wait_for": ["c", "d"]}),
        station("push", to("completed"), kind="deliver", work={"to": "push"}),
    ]
    task = world.start(world.line(stations=stations, workspace={"git": {"repository": "app"}}), title="x")
    run(bench, task)
    assert world.status(task) == "completed"
    assert "['.git', 'a', 'a1', 'a2', 'app.py', 'old.py']" in text_of(done(task, "am"))
    assert "'a', 'a1', 'a2', 'am', 'app.py', 'b', 'old.py'" in text_of(done(task, "c"))
    branch = VisitCommit.objects.filter(task=task).order_by("-job_id")[0].branch
    assert origin.files(branch).keys() == {"a", "a1", "a2", "am", "app.py", "b", "c", "n", "old.py"}


@pytest.mark.wide
def test_a_retry_begins_with_what_the_join_merged(
    world: World, bench: Bench, origin: RemoteRepository
) -> None:
    stations = [
        command("begin", "pass", {"id": "fork", "to": ["left", "right"]}),
        command("left", replaces("one", "ONE"), {"id": "l", "to": "meet"}),
        command("right", replaces("five", "FIVE"), {"id": "r", "to": "meet"}),
        command(
            "meet", f"{LIST}; exit(1)", {"id": "no", "to": "failed"}, join={"wait_for": ["left", "right"]}
        ),
    ]
    version = world.line(stations=stations, workspace={"git": {"repository": "app"}})
    task = world.start(version)
    run(bench, task)
    assert world.status(task) == "failed"
    again = engine.start_retry_task(task.pk, station="meet", actor=engine.ENGINE)
    run(bench, again)
    shown = BASE.replace(b"one", b"ONE").replace(b"five", b"FIVE").decode()
    assert shown in text_of(done(task, "meet")) and shown in text_of(done(again, "meet"))


def text(lines: str) -> list[bytes]:
    return [each.encode() + b"\n" for each in lines]


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "merged"),
    [
        ("abcde", "Xbcde", "abcdY", "XbcdY"),
        ("abcde", "Xbcde", "Xbcde", "Xbcde"),
        ("abcde", "bcde", "abcd", "bcd"),
        ("abcde", "abcde12", "0abcde", "0abcde12"),
        ("abcde", "aXcde", "abYde", None),
        ("abcde", "aXcde", "aYcde", None),
        ("abcde", "acde", "aXcde", None),
        ("", "a", "b", None),
        ("abcdefg", "aXcdeYg", "abcZefg", "aXcZeYg"),
        ("abcdefg", "aXcdefg", "aXcdeZg", "aXcdeZg"),
    ],
)
def test_lines_of_both(base: str, ours: str, theirs: str, merged: str | None) -> None:
    found, clean = merged_lines_and_is_clean(text(base), text(ours), text(theirs), ("o", "t"), StepBudget())
    assert clean == (merged is not None)
    assert found == text(merged) if merged is not None else b"=======\n" in found
