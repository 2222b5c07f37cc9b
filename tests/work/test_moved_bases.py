"""Bases that move while a task is at work or approved: looked at anew, settled between marks, merged or asked."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import pytest

from pipelines.models import Delivery, Job
from pipelines.work.transport.local.transport import LocalTransport
from tests.factories import World, station
from tests.work.driving import Bench, command, outcome_of
from tests.work.remotes import RemoteRepository
from tests.work.repository_lines import FIX, GATE, line, origin, run, run_on, to, together

__all__ = ["origin"]

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.moves,
    pytest.mark.usefixtures("artifacts_here"),
]


def test_a_moved_base_is_a_new_round(world: World, bench: Bench, origin: RemoteRepository) -> None:
    task = world.start(line(world))
    run(bench, task)
    theirs = origin.add({"app.py": b"x = 1\n", "tests/test_app.py": b"", "doc/a.md": b"b\n"}, "Somebody else")
    world.vote(task)
    run(bench, task)
    assert outcome_of(task, "merge")["eval"] == "base_moved"
    assert "main moved from" in outcome_of(task, "merge")["summary"]
    assert world.status(task) == "awaiting_review" and origin.head() == theirs
    facts = outcome_of(task, "check", 2)["facts"]["git"]
    assert facts["base"] == theirs and facts["paths"] == ["app.py", "new.txt"]
    world.vote(task)
    run(bench, task)
    assert world.status(task) == "completed"
    assert origin.files()["doc/a.md"] == b"b\n" and origin.files()["app.py"] == b"x = 2\n"
    assert origin.commit().parents[0].decode() == theirs


@pytest.mark.wide
def test_other_lines_of_one_file_are_merged(world: World, bench: Bench, origin: RemoteRepository) -> None:
    text = b"a = 1\nb = 1\nc = 1\nd = 1\n"
    origin.add({"app.py": text}, "Longer")
    program = "t = open('app.py').read(); open('app.py', 'w').write(t.replace('a = 1', 'a = 2'))"
    task = world.start(line(world, program, again="check"))
    run(bench, task)
    origin.add({"app.py": text.replace(b"d = 1", b"d = 3")}, "Somebody else")
    world.vote(task)
    run(bench, task)
    world.vote(task)
    run(bench, task)
    assert world.status(task) == "completed"
    assert origin.files()["app.py"] == b"a = 2\nb = 1\nc = 1\nd = 3\n"


@pytest.mark.wide
def test_the_same_file_changed_by_both_is_a_conflict(
    world: World, bench: Bench, origin: RemoteRepository
) -> None:
    task = world.start(line(world, policy={"no_match": "stuck", "on_failure": "stuck"}))
    run(bench, task)
    origin.add({"app.py": b"x = 3\n"}, "Somebody else")
    world.vote(task)
    run(bench, task)
    conflict = outcome_of(task, "fix", 2)
    assert conflict["failure_type"] == "merge_conflict" and conflict["output"] == {"files": ["app.py"]}
    assert Job.objects.filter(task=task, station="check").count() == 1


@pytest.mark.wide
@pytest.mark.parametrize("settled", [True, False])
def test_a_conflict_with_a_moved_base_is_settled_between_marks(
    world: World, bench: Bench, origin: RemoteRepository, settled: bool
) -> None:
    """The visit that meets it does not run; the one that its rule leads to gets both sides, and people are asked."""
    program = "import pathlib; p = pathlib.Path('app.py'); pathlib.Path('seen').write_text(p.read_text())"
    settle = command(
        "settle", f"{program}; p.write_text('x = 4\\n')" if settled else "pass", to("check", id="settled")
    )
    led = {"id": "both", "to": "settle", "when": {"failure_type": "merge_conflict"}}
    back = {"id": "again", "to": "check", "when": {"eval": {"op": "equals", "value": "base_moved"}}}
    version = world.line(
        stations=[
            command("fix", FIX, to("check")),
            command("check", "pass", to("merge", gates=["review"]), led),
            station("merge", to("completed"), back, kind="deliver", work={"to": "merge", "gate": "review"}),
            settle,
        ],
        gates=[GATE],
        workspace={"git": {"repository": "app"}},
        policy={"no_match": "stuck", "on_failure": "stuck"},
    )
    task = world.start(version)
    run(bench, task)
    theirs = origin.add({**origin.files(), "app.py": b"x = 3\n"}, "Somebody else")
    world.vote(task)
    run(bench, task)
    assert outcome_of(task, "check", 2)["output"] == {"files": ["app.py"]}
    if not settled:
        left = outcome_of(task, "settle")
        assert left["failure_type"] == "merge_conflict" and "Still in conflict: app.py" in left["summary"]
        return
    assert world.status(task) == "awaiting_review"
    world.vote(task)
    run(bench, task)
    assert world.status(task) == "completed" and origin.files()["app.py"] == b"x = 4\n"
    seen = origin.files()["seen"].decode()
    assert seen.startswith("<<<<<<< this task\nx = 2\n") and "x = 3\n>>>>>>> main" in seen
    assert theirs in origin.history()


@pytest.mark.wide
@pytest.mark.parametrize(
    "change", ["rewritten", *(pytest.param(each, marks=pytest.mark.wide) for each in ("reset", "the same"))]
)
def test_a_base_that_was_rewritten_is_a_new_round_on_top_of_it(
    world: World, bench: Bench, origin: RemoteRepository, change: str
) -> None:
    """What was taken out of its history does not come back by the task."""
    before = origin.head()
    gone = origin.add({"app.py": b"x = 1\n", "secret.txt": b"1\n"}, "A secret")
    task = world.start(line(world, again="check"))
    run(bench, task)
    origin.point("main", before)
    if change == "rewritten":
        origin.add({"app.py": b"x = 1\n", "other.txt": b"1\n"}, "Another history")
    if change == "the same":
        origin.add({"app.py": b"x = 2\n", "new.txt": b"new\n"}, "Somebody did it")
    theirs = origin.head()
    world.vote(task)
    run(bench, task)
    assert outcome_of(task, "merge")["failure_type"] == "base_moved" and origin.head() == theirs
    assert world.status(task) == "awaiting_review"
    facts = outcome_of(task, "check", 2)["facts"]["git"]
    assert facts["base"] == theirs and "secret.txt" not in facts["paths"]
    world.vote(task)
    run(bench, task)
    if change == "the same":
        refused = outcome_of(task, "merge", 2)
        assert refused["failure_type"] == "nothing_done" and origin.head() == theirs
        return
    assert world.status(task) == "completed"
    assert origin.files()["app.py"] == b"x = 2\n" and "secret.txt" not in origin.files()
    history = origin.history()
    assert theirs in history and gone not in history and facts["head"] in history


@pytest.mark.wide
def test_a_base_that_was_deleted_is_not_made_again(
    world: World, bench: Bench, origin: RemoteRepository
) -> None:
    task = world.start(line(world, again="check", policy={"no_match": "stuck", "on_failure": "stuck"}))
    run(bench, task)
    origin.add(origin.files(), "Aside", branch="trunk")
    origin.point("main", "")
    world.vote(task)
    run(bench, task)
    assert outcome_of(task, "merge")["summary"].startswith("main was deleted on the remote")
    refused = outcome_of(task, "check", 2)
    assert refused["failure_type"] == "prepare_failed"
    assert refused["summary"] == "The repository has no branch main. It has: trunk."
    assert origin.head() == ""


@pytest.mark.wide
def test_of_two_approved_tasks_the_second_takes_in_what_the_first_landed(
    world: World, bench: Bench, origin: RemoteRepository
) -> None:
    """Both deliver at once, with workers of their own: one lands, the other is asked about again, on top of it."""
    first, second = (f"open('{name}.txt', 'w').write('1')" for name in ("first", "second"))
    tasks = [
        world.start(line(world, program, again="check", key=f"l{n}"))
        for n, program in enumerate((first, second))
    ]
    for task in tasks:
        run(bench, task)
        world.vote(task)
    benches = [Bench(bench.base.parent / f"machine{n}") for n in range(2)]
    together([partial(run_on, each, task) for each, task in zip(benches, tasks, strict=True)])
    states = {world.status(task): task for task in tasks}
    assert states.keys() == {"completed", "awaiting_review"}
    late = states["awaiting_review"]
    assert outcome_of(late, "merge")["failure_type"] == "base_moved"
    landed = Delivery.objects.get(task=states["completed"]).commit
    assert outcome_of(late, "check", 2)["facts"]["git"]["base"] == landed == origin.head()
    world.vote(late)
    run(bench, late)
    assert world.status(late) == "completed" and {"first.txt", "second.txt"} <= origin.files().keys()
    assert origin.commit().parents[0].decode() == landed


@pytest.mark.wide
def test_a_push_that_landed_before_a_crash_is_found(
    world: World, bench: Bench, origin: RemoteRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker dies between the push and its report; somebody pushes on top; the next attempt pushes nothing."""
    whole = LocalTransport.report_delivered

    async def dies(self: LocalTransport, *arguments: Any) -> None:
        raise asyncio.CancelledError

    task = world.start(line(world))
    run(bench, task)
    world.vote(task)
    monkeypatch.setattr(LocalTransport, "report_delivered", dies)
    run(bench, task)
    landed = origin.head()
    assert Delivery.objects.get().landed_at is None
    origin.add({**origin.files(), "later.txt": b"1\n"}, "Later")
    monkeypatch.setattr(LocalTransport, "report_delivered", whole)
    run(bench, task)
    assert world.status(task) == "completed"
    assert Delivery.objects.get().commit == landed
    assert origin.commit().message == b"Later" and origin.commit().parents[0].decode() == landed


@pytest.mark.wide
def test_a_no_op_takes_the_moved_base_in(world: World, bench: Bench, origin: RemoteRepository) -> None:
    """Led there, people approved the same change again and again: nothing ran on a worker."""
    back = {"id": "again", "to": "look", "when": {"eval": {"op": "equals", "value": "base_moved"}}}
    deliver = {"to": "merge", "gate": "review"}
    version = world.line(
        stations=[
            command("fix", FIX, to("look")),
            station("look", to("merge", gates=["review"])),
            station("merge", to("completed"), {**back, "max_retries": 3}, kind="deliver", work=deliver),
        ],
        gates=[GATE],
        workspace={"git": {"repository": "app"}},
    )
    task = world.start(version)
    run(bench, task)
    theirs = origin.add({**origin.files(), "doc/a.md": b"b\n"}, "Somebody else")
    world.vote(task)
    run(bench, task)
    assert outcome_of(task, "merge")["eval"] == "base_moved"
    assert world.status(task) == "awaiting_review"
    world.vote(task)
    run(bench, task)
    assert world.status(task) == "completed"
    assert origin.files()["doc/a.md"] == b"b\n" and origin.files()["app.py"] == b"x = 2\n"
    assert theirs in origin.history()


RENAME = "import os; os.rename('app.py', 'main.py')"
LONG = b"".join(b"line %d\n" % number for number in range(20))
EDITED = LONG.replace(b"line 15\n", b"theirs\n")
RENAMES = [
    (RENAME, EDITED),
    (f"{RENAME}; t = open('main.py').read(); open('main.py', 'w').write(t.replace('line 2\\n', 'ours\\n'))",
     EDITED.replace(b"line 2\n", b"ours\n")),
]  # fmt: skip


@pytest.mark.smoke(1)
@pytest.mark.parametrize(("program", "merged"), RENAMES)
def test_a_rename_beside_an_edit_elsewhere_is_no_conflict(
    world: World, bench: Bench, origin: RemoteRepository, program: str, merged: bytes
) -> None:
    origin.add({"app.py": LONG}, "Longer")
    task = world.start(line(world, program, again="check"))
    run(bench, task)
    origin.add({"app.py": EDITED}, "Somebody else")
    world.vote(task)
    run(bench, task)
    assert world.status(task) == "awaiting_review", outcome_of(task, "check", 2)
    world.vote(task)
    run(bench, task)
    assert world.status(task) == "completed"
    assert origin.files() == {"main.py": merged}


@pytest.mark.smoke(1)
@pytest.mark.parametrize(
    ("program", "theirs", "words"),
    [
        (
            "import os; os.remove('app.py')",
            {"app.py": b"x = 3\n"},
            "as one removed what the other changed: app.py",
        ),
        ("open('app.py', 'wb').write(b'\\0')", {"app.py": b"\0\0"}, "cannot be merged by line"),
        (FIX, {"app.py": b"x = 3\n"}, "This task and main changed the same lines: app.py"),
        (
            "import os; os.remove('app.py'); os.mkdir('app.py'); open('app.py/a', 'w').write('a')",
            {"app.py": b"x = 3\n"},
            "as a file of one is a folder of the other: app.py",
        ),
    ],
)
def test_the_words_of_a_conflict_are_true(
    world: World, bench: Bench, origin: RemoteRepository, program: str, theirs: dict[str, bytes], words: str
) -> None:
    task = world.start(
        line(world, program, again="check", policy={"no_match": "stuck", "on_failure": "stuck"})
    )
    run(bench, task)
    origin.add(theirs, "Somebody else")
    world.vote(task)
    run(bench, task)
    assert words in outcome_of(task, "check", 2)["summary"]
