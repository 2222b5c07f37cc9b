"""A protected repository takes nothing that only requester and producers approved, whichever way they approve it.

Each way is open without the protection, so that a test of it can fail."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.urls import reverse

from pipelines.models import Delivery, GateVisit, Task, User
from pipelines.queries import versions
from pipelines.work.transport.local.delivery_approvals import involved_people
from reviews.channels import interactions
from tests.factories import World
from tests.pages.conftest import client_of
from tests.reviews import test_bans as bans
from tests.reviews.test_channels import Chat, chat  # noqa: F401 a fixture
from tests.work.driving import Bench
from tests.work.remotes import RemoteRepository
from tests.work.repository_lines import origin, run
from tests.work.siege import (
    Siege,
    besieged,
    done_by_hand,
    of_a_machine,
    of_an_issue,
    own,
    run_again,
    run_again_by_a_machine,
)

__all__ = ["origin"]
pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.moves,
    pytest.mark.usefixtures("artifacts_here"),
]


@pytest.fixture
def siege(world: World, origin: RemoteRepository, chat: Chat) -> Siege:  # noqa: F811
    return besieged(world, origin, chat)


def by_a_chat_that_they_connected(siege: Siege, visit: GateVisit, user: User) -> int:
    """Mallory connected the chat at a time, and presses as Bob, with the secret that they typed."""
    connection = siege.slack.connection
    siege.group.members.add(siege.bob)
    if siege.protected:
        type(connection).objects.filter(pk=connection.pk).update(created_by=user)
    siege.slack.press(interactions.visit_version_and_evidence_of_button(visit), "U1")
    return 200


Start = Callable[[Siege], Task]
WAYS: list[tuple[Start, Callable[..., int]]] = [
    *((own, way) for way in bans.WAYS if way is not bans.by_rejecting),
    (own, by_a_chat_that_they_connected),
    (of_a_machine, bans.by_page),
    (of_an_issue, bans.by_page),
    (done_by_hand, bans.by_page),
    (run_again, bans.by_page),
    (run_again_by_a_machine, bans.by_page),
]
CASES = [
    # That one is open without the protection is enough in make test; of the others it is proved in the soak.
    pytest.param(
        begin,
        way,
        protected,
        id=f"{begin.__name__}-{way.__name__}-{protected}",
        marks=() if protected or number == 0 else pytest.mark.wide,
    )
    for number, (begin, way) in enumerate(WAYS)
    for protected in (False, True)
]


@pytest.mark.smoke(4)
@pytest.mark.parametrize(("begin", "way", "protected"), CASES)
def test_nobody_approves_their_own_change(
    siege: Siege, bench: Bench, begin: Start, way: Callable[..., int], protected: bool
) -> None:
    task = begin(siege)
    run(bench, task)
    if protected:
        siege.protect()
    answer = way(siege, siege.visit(task), siege.mallory)
    assert answer in (200, 204, 302), answer
    run(bench, task)
    task.refresh_from_db()
    assert siege.landed is not protected
    assert task.status == ("failed" if protected else "completed")
    if not protected:
        page = reverse("task", args=["acme", task.project.key, task.name])
        shown = " ".join(client_of(siege.mallory).get(page).content.decode().split())
        assert ("instead of the people that it asks" in shown) is (way is bans.by_override)
    if protected:
        summary = task.jobs.get(station="merge").outcome["summary"]
        assert summary.startswith("app is protected. Missing: ") and not Delivery.objects.exists()


def test_whoever_wrote_the_issue_counts_as_its_requester(siege: Siege) -> None:
    task = of_an_issue(siege)
    assert (
        siege.mallory.pk
        in involved_people(task, versions.parsed_line_by_version_id(task.pinned_id)).requesters
    )
