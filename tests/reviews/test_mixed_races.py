"""Page, API, mail link and chat at once on one gate, with a time-out, a cancellation and new output among them: one
outcome each, and every loser is told (house §4)."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from threading import Barrier, local
from typing import Any

import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.client import ClientHandler
from django.urls import reverse
from django.utils import timezone
from procrastinate.contrib.django.models import ProcrastinateJob

from pipelines import engine
from pipelines.models import Due, Event, GateVisit, LineVersion, Task, User, VisitCommit, Vote
from pipelines.ports.vault import keys
from reviews.channels import interactions
from reviews.decision import mail_link
from reviews.models import ChatAccount, MailLink
from tests.factories import World, make_member
from tests.pages.conftest import client_of
from tests.reviews.conftest import gated
from tests.reviews.test_channels import Chat, chat, connect  # noqa: F401 a fixture
from tests.reviews.test_chat_decisions import SECRET, Slack

pytestmark = pytest.mark.django_db(transaction=True)
AT_ONCE = 60
"""How many requests are answered at once, each on a connection of its own: PostgreSQL has a hundred."""
PATHS = ("page", *("api", "mail", "chat") * 5)
"""A page that says who was faster shows the review and the list beside it: it costs ten times what the others do."""
WORDS = ("approve", "reject", "send_back")
APPROVED = "Approved."
TOLD = {"page": {409}, "api": {409}, "mail": {409, 410}, "cancel": {409}}
"""What losers are told; a mail link is gone (410) where a review ended without a decision."""
HERE = local()

Ask = Callable[[], Any]


def handler() -> ClientHandler:
    """Of this thread: its middleware is loaded once."""
    if not hasattr(HERE, "handler"):
        HERE.handler = ClientHandler(enforce_csrf_checks=False)
    found: ClientHandler = HERE.handler
    return found


def client(cookie: str = "") -> Client:
    made = Client()
    made.handler = handler()
    if cookie:
        made.cookies[settings.SESSION_COOKIE_NAME] = cookie
    return made


@dataclass
class Arena:
    """A line with one gate that everything can decide, and who comes to it."""

    world: World
    slack: Slack
    version: LineVersion
    lead: User
    rng: random.Random
    told: Counter[str] = field(default_factory=Counter)
    came_of: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.cookie = client_of(self.world.reviewer).cookies[settings.SESSION_COOKIE_NAME].value
        self.bearer = self.world.token_of(self.world.reviewer)[1]
        self.operator = self.world.token_of(self.world.operator)[1]
        self.chatter = make_member(self.world.project, "reviewer", "chatter")
        ChatAccount.objects.create(
            connection=self.slack.connection,
            user=self.chatter,
            workspace="T1",
            account="U1",
            linked_at=timezone.now(),
        )

    def waiting(self, number: int) -> tuple[Task, GateVisit]:
        """One at the gate, whose time has come, and whose branch somebody may push to."""
        task = self.world.start(self.version, title=f"Gate {number}")
        job = self.world.started(task)
        self.world.report(task)
        VisitCommit.objects.create(
            job=job, task=task, repository_name="app", branch=f"b{number}", base_branch="main",
            base="0" * 40, head=f"{number:040x}", tree="1" * 40, created_at=timezone.now(),
        )  # fmt: skip
        past = timezone.now() - timedelta(seconds=1)
        assert Due.objects.filter(task=task, kind="gate").update(due_at=past) == 1
        GateVisit.objects.filter(task=task).update(due_at=past)
        return task, self.world.visit(task)

    # What comes

    def page(self, visit: GateVisit, word: str) -> Ask:
        shown = {"token_version": visit.token_version, "evidence_digest": visit.evidence_digest}
        said = {"word": word, "reason": "Said on the page", **shown}
        return lambda: client(self.cookie).post(reverse("gate-decide", args=[visit.pk]), said).status_code

    def api(self, visit: GateVisit, word: str) -> Ask:
        said = {"action": word, "reason": "Said to the API", "visit": str(visit.pk)}
        return self._post(self.bearer, f"{self._at(visit.task)}/gates/{visit.gate}", said)

    def mail(self, visit: GateVisit, word: str) -> Ask:
        token = mail_link.issue_token_to_sole_member_or_empty(visit, self.lead.email, timezone.now())
        assert token

        def press() -> int:
            browser = client()
            browser.get(reverse("mail-link-arrive", args=[token]))
            return browser.post(reverse("mail-link")).status_code

        return press

    def chat(self, visit: GateVisit, word: str) -> Ask:
        return lambda: self.slack.press(interactions.visit_version_and_evidence_of_button(visit)).status_code

    def cancel(self, visit: GateVisit) -> Ask:
        return self._post(self.operator, f"{self._at(visit.task)}/cancel", {"reason": "No"})

    def due(self, visit: GateVisit) -> Ask:
        return partial(engine.fire_due_time_and_return_result, Due.objects.get(visit=visit).pk)

    def push(self, visit: GateVisit) -> Ask:
        said = engine.ObservedPush(f"{visit.pk.hex:0>40}", "rosa", (), 1, True)
        return partial(engine.record_push_visit_and_return_result, visit.task_id, said)

    def _at(self, task: Task) -> str:
        project = task.project
        return (
            f"/api/owners/{project.owner.key}/projects/{project.key}/stages/{task.line.key}/tasks/{task.name}"
        )

    def _post(self, bearer: str, path: str, said: dict[str, str]) -> Ask:
        headers = {"authorization": f"Bearer {bearer}"}
        return lambda: client().post(path, said, content_type="application/json", headers=headers).status_code

    # The race

    def asked(self, visit: GateVisit, count: int, besides: str) -> list[tuple[str, Ask]]:
        """So many at once, in any order: the four ways in turn, and what else happens to the task."""
        found: list[tuple[str, Ask]] = [(kind, getattr(self, kind)(visit)) for kind in besides.split()]
        for number in range(count - len(found)):
            kind, word = PATHS[number % len(PATHS)], WORDS[number // 2 % len(WORDS)]
            found.append((kind, getattr(self, kind)(visit, word)))
        self.rng.shuffle(found)
        return found

    def race(self, pool: ThreadPoolExecutor, number: int, clients: int, besides: str) -> None:
        _task, visit = self.waiting(number)
        asked, before = self.asked(visit, clients, besides), newest_reply()
        first = min(clients, AT_ONCE)
        barrier = Barrier(first)

        def run(place: int) -> tuple[str, Any]:
            if place < first:
                barrier.wait()
            kind, ask = asked[place]
            return kind, ask()

        self.settled(visit, list(pool.map(run, range(clients))), replies(before))

    def settled(self, visit: GateVisit, answers: list[tuple[str, Any]], replies: list[str]) -> None:
        visit.refresh_from_db()
        late = [each for each in replies if each != APPROVED]
        assert all(re.search("here first|is closed", each) for each in late), late
        approved_in_chat = len(replies) - len(late)
        said = [(kind, told) for kind, told in answers if kind in TOLD]
        won = [kind for kind, told in said if told not in TOLD[kind] and kind != "cancel"]
        assert all(told in (*TOLD[kind], 200, 302) for kind, told in said), said
        assert all(told == 200 for kind, told in answers if kind == "chat")
        votes = list(visit.votes.all())
        events = Event.objects.filter(task=visit.task_id, kind__in=["gate.decided", "gate.closed"])
        assert (len(votes), events.count()) == (len(won) + approved_in_chat, 1)
        assert len(votes) <= 1
        assert visit.state != GateVisit.State.OPEN
        used = MailLink.objects.filter(visit=visit, used_at__isnull=False).count()
        assert used == sum(vote.via == "mail" for vote in votes)
        if votes:
            assert (visit.state, visit.word, visit.decided_by) == ("decided", votes[0].word, votes[0].user)
            self.came_of[f"{votes[0].word} by {votes[0].via}"] += 1
        elif visit.state == GateVisit.State.DECIDED:
            assert ("due", "fired") in answers and (visit.word, visit.decided_by) == ("reject", None)
            self.came_of["time-out"] += 1
        else:
            kinds = {kind for kind, told in answers if (kind, told) in (("cancel", 200), ("push", "taken"))}
            assert kinds
            self.came_of[f"closed: {events.get().trigger}"] += 1
        self.told.update(f"{kind} {told}" for kind, told in answers)


def newest_reply() -> int:
    newest = ProcrastinateJob.objects.order_by("-pk").values_list("pk", flat=True).first()
    return newest or 0


def replies(after: int) -> list[str]:
    """What people were told in the chat since."""
    jobs = ProcrastinateJob.objects.filter(pk__gt=after, task_name="reviews.send_chat_reply").order_by("pk")
    return [str(args["text"]) for args in jobs.values_list("args", flat=True)]


@pytest.fixture
def arena(world: World, chat: Chat, part: int) -> Iterator[Arena]:  # noqa: F811
    lead = make_member(world.project, "reviewer", "lead")
    given = gated(
        channels={"mail_link": True, "chat": True},
        notify=[lead.email],
        due={"after": "4h", "then": "reject"},
        approval={"max_rounds": 9},
    )
    slack = Slack(chat, connect(world, chat, "slack", signing=keys.encrypt_secret(SECRET)))
    yield Arena(world, slack, world.line(**given), lead, random.Random(16 + part))


BESIDES = ("cancel due push", "", "cancel", "due", "push")


@pytest.mark.parametrize(
    ("clients", "gates", "part"),
    [
        (14, 3, 0),
        pytest.param(64, 10, 0, marks=pytest.mark.wide),
        *(pytest.param(64, 50, part, marks=pytest.mark.soak) for part in range(10)),
        pytest.param(200, 50, 0, marks=pytest.mark.soak),
    ],
)
def test_one_outcome_of_everything_that_may_happen_at_a_gate(arena: Arena, clients: int, gates: int) -> None:
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for number in range(gates):
            arena.race(pool, number, clients, BESIDES[number % len(BESIDES)])
            if number % 10 == 9:
                print(f"{number + 1} gates: {dict(arena.came_of)}; {dict(sorted(arena.told.items()))}")
        seats = Barrier(AT_ONCE)
        list(pool.map(lambda _: (seats.wait(), connection.close()), range(AT_ONCE)))
    assert sum(arena.told.values()) == clients * gates
    assert sum(arena.came_of.values()) == gates
    assert Vote.objects.count() == sum(n for what, n in arena.came_of.items() if " by " in what)
    call_command("check_invariants")
    print(f"{clients} clients, {gates} gates: {dict(arena.came_of)}; {dict(sorted(arena.told.items()))}")
