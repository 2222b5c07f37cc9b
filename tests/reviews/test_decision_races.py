"""Mail link, page, API and override at once on one gate: one outcome each, and the losers are told (house §4).
`test_mixed_races.py` has the many."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from pipelines import engine
from pipelines.errors import Conflict
from pipelines.models import Event, GateVisit, Membership, Task, User, Vote
from reviews.decision import mail_link
from reviews.decision.mail_link import MailLinkRefused
from reviews.models import MailLink
from tests.factories import World, make_member
from tests.reviews.conftest import gated

pytestmark = pytest.mark.django_db(transaction=True)
REFUSED = "refused"


def _waiting(world: World, lead: User) -> Task:
    task = world.start(world.line(**gated(channels={"mail_link": True}, notify=[lead.email])))
    world.report(task, {"result": "success"})
    return task


def _clients(world: World, task: Task, lead: User) -> list[Callable[[], Any]]:
    visit = world.visit(task)
    shown = {"token_version": visit.token_version, "evidence_digest": visit.evidence_digest}
    token = mail_link.issue_token_to_sole_member_or_empty(visit, lead.email, timezone.now())
    admin, reviewer = world.admin, world.reviewer
    vote = {"visit": visit, **shown}
    return [
        lambda: mail_link.use_up_link_and_approve(token, timezone.now()),
        lambda: mail_link.use_up_link_and_approve(token, timezone.now()),
        lambda: engine.vote(user=reviewer, word="reject", reason="No", via="page", **vote),
        lambda: engine.vote(user=lead, word="approve", via="api", **vote),
        lambda: engine.override_gate_as_administrator(
            visit.pk, user=admin, comment="Now", confirm=task.name, **shown
        ),
        lambda: engine.cancel(task.pk, actor=engine.Actor.person(world.operator), reason="No"),
    ]


def _at_once(clients: list[Callable[[], Any]]) -> list[str]:
    barrier = Barrier(len(clients))

    def run(client: Callable[[], Any]) -> str:
        try:
            barrier.wait()
            client()
        except (Conflict, MailLinkRefused):
            return REFUSED
        finally:
            connection.close()
        return "done"

    with ThreadPoolExecutor(len(clients)) as pool:
        return list(pool.map(run, clients))


def _race(world: World, lead: User) -> None:
    task = _waiting(world, lead)
    visit = world.visit(task)
    answers = _at_once(_clients(world, task, lead))
    visit.refresh_from_db()
    decided = Event.objects.filter(task=task, kind="gate.decided").count()
    assert decided == (visit.state == GateVisit.State.DECIDED)
    assert visit.votes.count() + Event.objects.filter(task=task, kind="gate.overridden").count() == decided
    used = MailLink.objects.filter(visit=visit, used_at__isnull=False).count()
    assert used == Vote.objects.filter(visit=visit, via="mail").count()
    # A decision, and perhaps a cancellation after it.
    assert 1 <= answers.count("done") <= 2


def test_one_outcome_of_mail_link_page_api_override_and_cancellation(world: World) -> None:
    lead = make_member(world.project, "reviewer", "lead")
    for _ in range(3):
        _race(world, lead)


@pytest.mark.wide
def test_one_outcome_each_time_a_hundred_times(world: World) -> None:
    lead = make_member(world.project, "reviewer", "lead")
    assert Membership.objects.filter(user=lead).exists()
    for _ in range(100):
        _race(world, lead)
