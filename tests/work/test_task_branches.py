"""The branch of a task for people: told and given by the API, and taken over by a push (law §15)."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from django.urls import reverse
from dulwich.bundle import read_bundle

from pipelines import engine
from pipelines.engine import ObservedPush
from pipelines.errors import Forbidden
from pipelines.lines import issue_tasks
from pipelines.models import BranchPush, Repository
from pipelines.work.hosts.hooks import PushEvent
from tests.factories import World
from tests.pages.conftest import client_of
from tests.work.driving import Bench, outcome_of
from tests.work.remotes import RemoteRepository
from tests.work.repository_lines import line, origin, run

__all__ = ["origin"]
pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.moves,
    pytest.mark.usefixtures("artifacts_here"),
]


def api(world: World, task: Any, rest: str = "branch") -> Any:
    base = f"/api/owners/acme/projects/{world.project.key}/stages/{task.line.key}/tasks/{task.name}"
    return client_of(world.operator).get(f"{base}/{rest}")


def test_the_api_tells_and_gives_the_branch(
    world: World, bench: Bench, origin: RemoteRepository, tmp_path: Path
) -> None:
    task = world.start(line(world), title="Fix the answer")
    assert api(world, task).status_code == 409
    run(bench, task)
    said, head = api(world, task).json(), outcome_of(task, "fix")["facts"]["git"]["head"]
    assert said == {
        "repository": "app",
        "address": "app",
        "branch": f"gateline/{task.name}-fix-the-answer",
        "base_branch": "main",
        "base": origin.head(),
        "head": head,
        "pushed": "",
    }
    answer = api(world, task, "branch/bundle")
    assert answer.status_code == 200
    file = tmp_path / "task.bundle"
    file.write_bytes(b"".join(answer.streaming_content))  # type: ignore[attr-defined]
    with file.open("rb") as opened, read_bundle(opened) as bundle:
        assert [each.decode() for each, _ in bundle.prerequisites] == [origin.head()]
        assert [each.decode() for each in bundle.references.values()] == [head]
    if shutil.which("git") is None:
        return
    clone = tmp_path / "clone"
    git = ["git", "-c", "safe.directory=*"]
    subprocess.run([*git, "clone", "-q", str(origin.path), str(clone)], check=True)
    fetch = ["fetch", "-q", str(file), f"{said['branch']}:mine"]
    subprocess.run([*git, "-C", str(clone), *fetch], check=True)
    subprocess.run([*git, "-C", str(clone), "checkout", "-q", "mine"], check=True)
    assert (clone / "app.py").read_text() == "x = 2\n"


THEIRS = {"app.py": b"x = 2\n", "new.txt": b"new\n", "theirs.txt": b"1\n", "doc/a.md": b"a\n"}


def push(world: World, origin: RemoteRepository, task: Any, files: Any = None) -> str:
    """As a person does: the branch of the task as the API gives it, with a commit on top."""
    branch = api(world, task).json()["branch"]
    if not origin.head(branch):
        origin.branch(branch)
    return origin.add(files or THEIRS, "By hand", branch=branch)


@pytest.mark.wide
def test_a_push_to_the_branch_is_a_visit_of_that_person(
    world: World, bench: Bench, origin: RemoteRepository
) -> None:
    """Found when the approved task is delivered: nothing lands, and it goes on from the station whose work it is."""
    EmailAddress.objects.create(user=world.reviewer, email="somebody@example.com", verified=True)
    [second] = world.reviewers(1)
    task = world.start(line(world), title="Fix the answer")
    run(bench, task)
    first, base = world.visit(task), origin.head()
    world.vote(task, by=world.admin)
    theirs = push(world, origin, task)
    run(bench, task)
    assert outcome_of(task, "merge")["result"] == "cancelled" and origin.head() == base
    run(bench, task)
    taken = outcome_of(task, "fix", 2)
    assert taken["eval"] == "pushed" and "somebody@example.com pushed" in taken["summary"]
    facts = taken["facts"]["git"]
    assert (facts["head"], facts["base"], facts["commits"]) == (theirs, base, 1)
    assert facts["paths"] == ["app.py", "new.txt", "tests/test_app.py", "theirs.txt"]
    assert outcome_of(task, "check", 2)["facts"]["git"]["head"] == theirs
    visit = world.visit(task)
    assert visit.pk != first.pk and visit.producers == [f"person:{world.reviewer.pk}", "unknown"]
    page = client_of(world.operator).get(f"/p/acme/{world.project.key}/tasks/{task.name}/").content.decode()
    assert "somebody@example.com" in page and "pushed to the branch" in page
    with pytest.raises(Forbidden, match="You produced what is reviewed"):
        world.vote(task, by=world.reviewer)
    # The address is what the commit says: the administrator could have written it.
    shown = client_of(world.admin).get(reverse("gate-visit", args=[visit.pk])).content.decode()
    assert "one more approval is needed" in shown and "Nobody vouches for that name" in shown
    world.vote(task, by=world.admin)
    assert world.status(task) == "awaiting_review" and origin.head() == base
    world.vote(task, by=second)
    run(bench, task)
    assert world.status(task) == "completed" and origin.files() == THEIRS
    assert theirs in origin.history()
    assert BranchPush.objects.get().commit == theirs


@pytest.mark.wide
def test_a_push_closes_an_open_review(world: World, bench: Bench, origin: RemoteRepository) -> None:
    """Told by the host while people vote. What is told again, or is our own, moves nothing."""
    task = world.start(line(world))
    run(bench, task)
    first = world.visit(task)
    said = PushEvent("acme/app", api(world, task).json()["branch"], push(world, origin, task), ("rosa",), ())
    repository = Repository.objects.get()
    assert (
        "goes on with what was pushed" in issue_tasks.process_push_into_result_and_task(repository, said)[0]
    )
    first.refresh_from_db()
    assert first.state == "closed" and world.status(task) == "queued"
    assert "knows this commit" in issue_tasks.process_push_into_result_and_task(repository, said)[0]
    run(bench, task)
    assert world.status(task) == "awaiting_review" and world.visit(task).producers == ["unknown"]
    assert api(world, task).json()["pushed"] == said.commit
    assert "knows this commit" in issue_tasks.process_push_into_result_and_task(repository, said)[0]
    ours = outcome_of(task, "fix")["facts"]["git"]["head"]
    assert (
        "knows this commit"
        in issue_tasks.process_push_into_result_and_task(repository, replace(said, commit=ours))[0]
    )
    assert issue_tasks.process_push_into_result_and_task(repository, replace(said, branch="other")) == (
        "No task works on this branch.",
        None,
    )
    # Whom the commits name is not barred, and the pusher not freed, where the host says who pushed.
    EmailAddress.objects.create(user=world.reviewer, email="somebody@example.com", verified=True)
    by_host = replace(said, logins=(world.admin.username,), authors=("somebody@example.com",))
    assert "knows this commit" in issue_tasks.process_push_into_result_and_task(repository, by_host)[0]
    found = ObservedPush(said.commit, "somebody@example.com", (world.reviewer.pk,), 1)
    assert engine.record_push_visit_and_return_result(task.pk, found) == "known"
    assert list(BranchPush.objects.get().people.all()) == [world.admin]
    # Nor is whom it named freed when the same commit is pushed again, by an account that nobody knows or by another.
    stranger = replace(by_host, logins=("stranger",))
    assert "knows this commit" in issue_tasks.process_push_into_result_and_task(repository, stranger)[0]
    assert list(BranchPush.objects.get().people.all()) == [world.admin]
    again = replace(by_host, logins=(world.operator.username,))
    assert "knows this commit" in issue_tasks.process_push_into_result_and_task(repository, again)[0]
    assert set(BranchPush.objects.get().people.all()) == {world.admin, world.operator}
