"""Four eyes on a task that an issue started: whoever may have written the issue or passed it on does not approve it,
and where nobody is known, one approval more is needed (law §15)."""

from __future__ import annotations

from typing import Any

import pytest
from allauth.account.models import EmailAddress
from django.urls import reverse

from pipelines import engine
from pipelines.models import GateVisit, Membership, Task, User
from reviews.models import AskedPlace
from tests.api.conftest import Apis, gate_path
from tests.factories import World, make_member
from tests.pages.conftest import client_of
from tests.work.hosts.test_issues import SECRET, every, send, wired  # noqa: F401 a fixture

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.moves]
STRANGER = {"user": {"login": "a-stranger"}}


def started(world: World, host: Any, sender: str, **issue: Any) -> Task:
    """A task that waits for the review, of an issue that `sender` labelled."""
    host.sender = sender
    answer = send(world, *host.hook(SECRET, host.labelled("gateline", **issue)))
    assert answer.status_code == 200 and answer.json()["task"], answer.content
    task = Task.objects.get()
    world.report(task, {"result": "success"})
    return task


def approves(world: World, task: Task, user: User) -> int:
    said = {"action": "approve", "visit": str(world.visit(task).pk)}
    return int(Apis(world).as_(user).post(gate_path(task), said).status_code)


def why(task: Task, world: World, user: User) -> str:
    return client_of(user).get(reverse("gate-visit", args=[world.visit(task).pk])).content.decode()


@every
def test_neither_who_wrote_the_issue_nor_who_labelled_it_approves(world: World, wired: Any) -> None:  # noqa: F811
    """GitLab tells the author by a number: of who acts, or of an assignee."""
    author = make_member(world.project, ["admin", "reviewer"], "Octo-Cat")
    sender = make_member(world.project, ["reviewer"], "passes-on")
    people = [{"login": author.username.lower()}]
    task = started(world, wired, sender.username, user=people[0], assignees=people)
    assert task.requester is None and GateVisit.objects.get().producers == []
    assert AskedPlace.objects.get().barred == sorted([author.pk, sender.pk])
    assert approves(world, task, author) == approves(world, task, sender) == 403
    override = {"comment": "Now", "confirm": task.name, "token_version": 1, "evidence_digest": "0"}
    at = reverse("gate-override", args=[world.visit(task).pk])
    assert client_of(author).post(at, override).status_code == 403
    assert "You requested this task, yourself, by an issue" in why(task, world, author)
    assert approves(world, task, world.reviewer) == 200
    assert world.status(task) == "completed"


@every
def test_one_approval_more_where_nobody_is_known(world: World, wired: Any) -> None:  # noqa: F811
    other = make_member(world.project, ["reviewer"], "other")
    task = started(world, wired, "a-stranger", **STRANGER)
    assert "It is not known who wrote the issue" in why(task, world, world.reviewer)
    assert approves(world, task, world.reviewer) == 200
    assert world.status(task) == "awaiting_review"
    assert approves(world, task, other) == 200
    assert world.status(task) == "completed"


@pytest.mark.parametrize(
    ("hosted", "needed"), [("github", 1), ("gitea", 1), ("gitlab", 2)], indirect=["hosted"]
)
def test_an_author_whom_the_host_does_not_name_may_be_anybody(world: World, wired: Any, needed: int) -> None:  # noqa: F811
    """A member labels the issue of somebody from outside. GitLab says no more than that it was somebody else."""
    sender = make_member(world.project, ["reviewer"], "passes-on")
    task = started(world, wired, sender.username, **STRANGER)
    other = make_member(world.project, ["reviewer"], "other")
    assert approves(world, task, sender) == 403
    codes = [approves(world, task, person) for person in (world.reviewer, other)[:needed]]
    assert codes == [200] * needed and world.status(task) == "completed"
    assert Task.objects.get().gate_visits.get().votes.count() == needed


@pytest.mark.parametrize("hosted", ["gitea"], indirect=True)
def test_a_verified_address_and_a_later_membership_bar_too(world: World, wired: Any) -> None:  # noqa: F811
    """The host knows the author by an address; they have an account here, and become a member afterwards."""
    EmailAddress.objects.create(user=world.reviewer, email="Cat@Example.com", verified=True)
    late = User.objects.create_user("passes-on", password="x")
    author = {"login": "cat", "email": "cat@example.com"}
    task = started(world, wired, late.username, user=author)
    Membership.objects.create(project=world.project, user=late, roles=["reviewer"])
    assert approves(world, task, world.reviewer) == approves(world, task, late) == 403
    assert approves(world, task, make_member(world.project, ["reviewer"], "other")) == 200


@pytest.mark.parametrize("hosted", ["github"], indirect=True)
def test_a_retry_is_asked_for_by_the_same_people(world: World, wired: Any) -> None:  # noqa: F811
    task = started(world, wired, "a-stranger", user={"login": world.reviewer.username})
    world.vote(task, "reject", by=world.admin, reason="No")
    again = engine.start_retry_task(task.pk, station="", actor=engine.Actor.person(world.admin))
    world.report(again, {"result": "success"})
    assert again.requesters == [f"person:{world.reviewer.pk}"]
    assert approves(world, again, world.reviewer) == 403


@pytest.mark.parametrize("hosted", ["github"], indirect=True)
def test_in_a_project_of_one_that_one_decides(world: World, wired: Any) -> None:  # noqa: F811
    Membership.objects.filter(project=world.project).exclude(user=world.admin).delete()
    task = started(world, wired, "a-stranger", **STRANGER)
    assert approves(world, task, world.admin) == 200 and world.status(task) == "completed"
