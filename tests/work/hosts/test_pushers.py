"""Who pushed to the branch of a task, asked of the host when a delivery finds the push: what a commit says of its
author anybody can write (law §15)."""

from __future__ import annotations

from typing import Any

import pytest
from allauth.account.models import EmailAddress

from pipelines.errors import Forbidden
from pipelines.models import BranchPush
from pipelines.work.git.commits import COMMITTER
from pipelines.work.hosts.host import ReportedPush, pushers_between
from tests.factories import World, station
from tests.work import remotes
from tests.work.driving import Bench, command, outcome_of, text_of
from tests.work.hosts.conftest import GATE, run, to
from tests.work.remotes import RemoteRepository

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.moves,
    pytest.mark.usefixtures("artifacts_here"),
]
both = pytest.mark.parametrize(
    "hosted", ["github", pytest.param("gitlab", marks=pytest.mark.wide)], indirect=True
)
THEIRS = {"app.py": b"x = 1\nz = 3\n"}


def approved(world: World, bench: Bench) -> Any:
    """A task whose branch its delivery may push; the approval is there."""
    line = world.line(
        stations=[
            command("fix", "open('app.py', 'a').write('y = 2\\n')", to("push", gates=["review"])),
            station("push", to("completed"), kind="deliver", work={"to": "push", "gate": "review"}),
        ],
        gates=[GATE],
        workspace={"git": {"repository": "app"}},
        policy={"on_failure": "stuck"},
    )
    task = world.start(line, title="Fix the answer")
    run(bench, task)
    world.vote(task, by=world.admin)
    return task


def pushed(hosted: Any, origin: RemoteRepository, task: Any, login: str) -> str:
    """By hand, with the address that remotes of tests write into commits."""
    branch = f"gateline/{task.name}-fix-the-answer"
    before = origin.head()
    origin.branch(branch)
    after = origin.add(THEIRS, "By hand", branch=branch)
    hosted.pushes += [("main", "0" * 40, before, "somebody-else"), (branch, "0" * 40, after, login)]
    return after


@both
def test_the_host_says_who_pushed_and_a_forged_address_bars_nobody(
    world: World, bench: Bench, hosted: Any, origin: RemoteRepository
) -> None:
    """The commit names a reviewer; the operator pushed it. The reviewer may decide, the operator may not."""
    EmailAddress.objects.create(user=world.reviewer, email="somebody@example.com", verified=True)
    task = approved(world, bench)
    commit = pushed(hosted, origin, task, world.designer.username)
    run(bench, task)
    run(bench, task)
    push = BranchPush.objects.get()
    assert (push.commit, push.who, push.by_host) == (commit, world.designer.username, True)
    assert list(push.people.all()) == [world.designer]
    assert f"{world.designer.username} pushed" in outcome_of(task, "fix", 2)["summary"]
    visit = world.visit(task)
    assert visit.producers == [f"person:{world.designer.pk}"]
    with pytest.raises(Forbidden):
        world.vote(task, by=world.designer)
    world.vote(task, by=world.reviewer)
    run(bench, task)
    assert world.status(task) == "completed"


@pytest.mark.wide
@both
def test_where_the_host_does_not_tell_the_commits_are_read(
    world: World, bench: Bench, hosted: Any, origin: RemoteRepository
) -> None:
    """It has not heard of the push yet, or knows an account that nobody here has."""
    EmailAddress.objects.create(user=world.reviewer, email="somebody@example.com", verified=True)
    task = approved(world, bench)
    pushed(hosted, origin, task, "nobody-here")
    run(bench, task)
    push = BranchPush.objects.get()
    assert (push.who, push.by_host, list(push.people.all())) == ("nobody-here", False, [world.reviewer])


@pytest.mark.wide
def test_a_host_that_refuses_to_tell_is_named_and_nothing_stops(
    world: World, bench: Bench, hosted: Any, origin: RemoteRepository
) -> None:
    task = approved(world, bench)
    pushed(hosted, origin, task, world.designer.username)
    hosted.no_activity = True
    run(bench, task)
    assert BranchPush.objects.get().by_host is False
    [delivery] = task.jobs.filter(station="push")
    assert "It is not known who pushed" in text_of(delivery)


@pytest.mark.wide
def test_a_commit_in_our_name_is_no_push_of_ours(
    world: World, bench: Bench, hosted: Any, origin: RemoteRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else who writes Gateline into a commit would not have pushed, and the approval would stay."""
    task = approved(world, bench)
    monkeypatch.setattr(remotes, "WHO", COMMITTER)
    commit = pushed(hosted, origin, task, world.designer.username)
    run(bench, task)
    push = BranchPush.objects.get()
    assert (push.commit, list(push.people.all())) == (commit, [world.designer])
    assert outcome_of(task, "push")["result"] == "cancelled"


def test_everybody_who_pushed_since_is_named_and_nobody_before() -> None:
    told = [
        ReportedPush("late", "d", "e"),
        ReportedPush("ann", "c", "d"),
        ReportedPush("bob", "b", "c"),
        ReportedPush("we", "a", "b"),
    ]
    assert pushers_between(told, "b", "d") == ["ann", "bob"]
    assert pushers_between(told, "b", "e") == ["late", "ann", "bob"]
    assert pushers_between(told, "b", "unheard") == []
    assert pushers_between([ReportedPush("", "b", "d")], "b", "d") == []
