"""Mail link, page, API and override at once on one gate: one outcome each, and the losers are told (house §4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier, BoundedSemaphore
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.test import Client
from django.urls import reverse
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
    token = mail_link.issue(visit, lead.email, timezone.now())
    admin, reviewer = world.admin, world.reviewer
    vote = {"visit_id": visit.pk, **shown}
    return [
        lambda: mail_link.approve(token, timezone.now()),
        lambda: mail_link.approve(token, timezone.now()),
        lambda: engine.vote(user=reviewer, word="reject", reason="No", via="page", **vote),
        lambda: engine.vote(user=lead, word="approve", via="api", **vote),
        lambda: engine.override(visit.pk, user=admin, comment="Now", confirm=task.name, **shown),
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


SEATS = BoundedSemaphore(60)
"""How many requests are answered at once: PostgreSQL has a hundred connections."""
LOST = {403, 404, 409, 410}
"""What a loser is told: of a page, of the API and of a link whose gate was decided."""


def _requests(world: World, task: Task, lead: User, count: int) -> list[Callable[[], Any]]:
    """Page, API and mail link in turn; page and API approve and reject by turns."""
    visit = world.visit(task)
    shown = {"token_version": visit.token_version, "evidence_digest": visit.evidence_digest}
    project, words = task.project, ("approve", "reject")
    where = f"/api/owners/{project.owner.key}/projects/{project.key}/stages/{task.line.key}"
    api = f"{where}/tasks/{task.name}/gates/{visit.gate}"
    bearer = world.token_of(world.reviewer)[1]
    session = Client()
    session.force_login(world.reviewer)
    cookie = session.cookies[settings.SESSION_COOKIE_NAME].value

    def page(word: str) -> Any:
        client = Client()
        client.cookies[settings.SESSION_COOKIE_NAME] = cookie
        said = {"word": word, "reason": "Said on the page", **shown}
        return client.post(reverse("gate-decide", args=[visit.pk]), said)

    def call(word: str) -> Any:
        said = {"action": word, "reason": "Said to the API", "visit": str(visit.pk)}
        headers = {"authorization": f"Bearer {bearer}"}
        return Client().post(api, said, content_type="application/json", headers=headers)

    def link(token: str) -> Any:
        client = Client()
        client.get(reverse("mail-link-arrive", args=[token]))
        return client.post(reverse("mail-link"))

    asked: list[Callable[[], Any]] = []
    for number in range(count):
        word = words[number // 3 % 2]
        token = mail_link.issue(visit, lead.email, timezone.now()) if number % 3 == 2 else ""
        asked.append([partial(page, word), partial(call, word), partial(link, token)][number % 3])
    return asked


@pytest.mark.parametrize(
    ("clients", "gates"),
    [
        (12, 2),
        pytest.param(64, 10, marks=pytest.mark.wide),
        pytest.param(64, 500, marks=pytest.mark.soak),
        pytest.param(200, 50, marks=pytest.mark.soak),
    ],
)
def test_one_outcome_of_many_clients_over_page_api_and_mail_link(
    world: World, clients: int, gates: int
) -> None:
    lead = make_member(world.project, "reviewer", "lead")
    world.reviewer.set_password("correct horse battery")
    world.reviewer.save()
    told: Counter[int] = Counter()
    with ThreadPoolExecutor(clients) as pool:
        for _gate in range(gates):
            task = _waiting(world, lead)
            visit, barrier = world.visit(task), Barrier(clients)

            def run(ask: Callable[[], Any], barrier: Barrier = barrier) -> int:
                barrier.wait()
                with SEATS:
                    try:
                        return ask().status_code
                    finally:
                        connection.close()

            answers = Counter(pool.map(run, _requests(world, task, lead, clients)))
            told += answers
            visit.refresh_from_db()
            assert visit.state == GateVisit.State.DECIDED
            assert visit.votes.count() == Event.objects.filter(task=task, kind="gate.decided").count() == 1
            assert sum(n for status, n in answers.items() if status not in LOST) == 1, answers
    assert sum(told.values()) == clients * gates
    print(f"{clients} clients, {gates} gates: {dict(told)}")
