"""Who requested or produced what a gate shows decides nothing there, whichever way they come and whatever became of
their roles and groups meanwhile; where the gate lets them, each of these ways is open (law §6)."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from pipelines import engine
from pipelines.models import (
    Absence,
    Event,
    GateVisit,
    Group,
    Membership,
    Repository,
    Task,
    User,
    VisitCommit,
    Vote,
)
from pipelines.ports.vault import keys
from reviews.channels import interactions
from reviews.decision import mail_link
from reviews.models import ChatAccount, MailLink
from tests.api.conftest import Apis, gate_path
from tests.factories import World, make_member, station
from tests.pages.conftest import client_of
from tests.reviews.conftest import gated
from tests.reviews.test_channels import Chat, chat, connect  # noqa: F401 a fixture
from tests.reviews.test_chat_decisions import SECRET, Slack

pytestmark = pytest.mark.django_db(transaction=True)
FAR = datetime(2999, 1, 1, tzinfo=UTC)
ROLES = ["admin", "operator"]


class Court:
    """A gate that asks one of a group, in which both the barred and another administrator are."""

    def __init__(self, world: World, slack: Slack) -> None:
        self.world, self.slack = world, slack
        self.barred = make_member(world.project, ROLES, "barred")
        self.other = make_member(world.project, ROLES, "other")
        Repository.objects.create(
            project=world.project, name="app", address="/no/such/folder", connected_at=timezone.now()
        )
        self.group = world.group("security", self.barred, self.other)
        for number, user in enumerate((self.barred, self.other)):
            ChatAccount.objects.create(
                connection=slack.connection,
                user=user,
                workspace="T1",
                account=f"U{number}",
                linked_at=timezone.now(),
            )

    def line(self, may: bool, last: str = "") -> Any:
        """`last`: a station of its own, behind the one that is done by hand, at which the gate is."""
        given = gated(
            approval={
                "who": [{"group": "security", "count": 1}],
                "requester_may": may,
                "producer_may": may,
            },
            channels={"mail_link": True, "chat": True},
            notify=[],
        )
        given["stations"][0]["work"] = {"kind": "manual", "instructions": "Build it."}
        given["workspace"] = {"git": {"repository": "app"}}
        if last:
            gates = given["stations"][0]["rules"]
            given["stations"][0]["rules"] = [{"id": "on", "to": last}]
            given["stations"].insert(1, station(last, *gates))
        return self.world.line(**given)


# What bars somebody: each leaves an open gate


def requested(court: Court, may: bool) -> Task:
    task = court.world.start(court.line(may), by=court.barred)
    court.world.report(task)
    return task


def produced(court: Court, may: bool) -> Task:
    task = court.world.start(court.line(may))
    court.world.report(task, by=f"person:{court.barred.pk}")
    return task


def pushed(court: Court, may: bool) -> Task:
    """To the branch, after the gate was open: it asks again, about what was pushed."""
    task = court.world.start(court.line(may))
    pushed_to(court, task)
    return task


def pushed_to(court: Court, task: Task) -> None:
    job = court.world.started(task)
    court.world.report(task)
    VisitCommit.objects.create(
        job=job, task=task, repository_name="app", branch="b", base_branch="main",
        base="0" * 40, head="1" * 40, tree="2" * 40, created_at=timezone.now(),
    )  # fmt: skip
    said = engine.ObservedPush("3" * 40, court.barred.username, (court.barred.pk,), 1, True)
    assert engine.record_push_visit_and_return_result(task.pk, said) == "taken"
    court.world.report(task)


def worked_before(court: Court, may: bool) -> Task:
    """By hand at a station before the one that is reviewed."""
    task = court.world.start(court.line(may, "check"))
    court.world.report(task, by=f"person:{court.barred.pk}")
    court.world.report(task)
    return task


def answered(court: Court, may: bool) -> Task:
    """The question of a station that ran again with it."""
    task = court.world.start(court.line(may))
    hold = {"verdict": "hold", "reason": "Which colour?", "meta": {"question": "Which colour?"}}
    court.world.report(task, {"result": "success", "signals": [hold]})
    token = court.world.token(task)
    engine.answer_blocked_token(token.pk, user=court.barred, token_version=token.version, text="Blue.")
    court.world.report(task)
    return task


def pushed_before(court: Court, may: bool) -> Task:
    """To the branch of a task that this one repeats, files and all, from the station that follows."""
    old = court.world.start(court.line(may, "check"))
    court.world.report(old)
    pushed_to(court, old)
    engine.cancel(old.pk, actor=engine.Actor.person(court.world.operator))
    task = engine.start_retry_task(old.pk, station="check", actor=engine.Actor.person(court.world.operator))
    court.world.report(task)
    return task


BARS = {
    "requester": requested,
    "producer": produced,
    "pusher": pushed,
    "worked before": worked_before,
    "answered": answered,
    "pushed before": pushed_before,
}


# What becomes of them meanwhile


def nothing(court: Court) -> None:
    pass


def joins(court: Court) -> None:
    """They leave the group and join it again."""
    court.group.members.remove(court.barred)
    court.group.members.add(court.barred)


def comes_back(court: Court) -> None:
    """They leave the project, with their groups, and are made a member of it anew, with all roles."""
    Membership.objects.filter(user=court.barred).delete()
    court.group.members.remove(court.barred)
    Membership.objects.create(project=court.world.project, user=court.barred, roles=["admin", "reviewer"])
    Group.objects.get(pk=court.group.pk).members.add(court.barred)


MEANWHILE = (nothing, joins, comes_back)


# The ways


def shown(visit: GateVisit) -> dict[str, Any]:
    return {"token_version": visit.token_version, "evidence_digest": visit.evidence_digest}


def by_page(court: Court, visit: GateVisit, user: User, **more: Any) -> int:
    said = {"word": "approve", "unopened": "on", **shown(visit), **more}
    return client_of(user).post(reverse("gate-decide", args=[visit.pk]), said).status_code


def by_rejecting(court: Court, visit: GateVisit, user: User) -> int:
    return by_page(court, visit, user, word="reject", reason="No")


def by_api(court: Court, visit: GateVisit, user: User) -> int:
    said = {"action": "approve", "visit": str(visit.pk)}
    return int(Apis(court.world).as_(user).post(gate_path(visit.task), said).status_code)


def by_mail_link(court: Court, visit: GateVisit, user: User) -> int:
    """One that they have, although none is issued to who is barred."""
    token = mail_link.issue_token_to_sole_member_or_empty(visit, user.email, timezone.now())
    if not token:
        token = f"a link from before they were barred {secrets.token_hex()}"
        MailLink.objects.create(
            visit=visit, user=user, digest=hashlib.sha256(token.encode()).hexdigest(),
            created_at=timezone.now(), **shown(visit),
        )  # fmt: skip
    client = client_of(user)
    client.get(reverse("mail-link-arrive", args=[token]))
    return client.post(reverse("mail-link")).status_code


def by_bulk(court: Court, visit: GateVisit, user: User) -> int:
    seen = {f"seen-{visit.pk}": f"{visit.token_version}:{visit.evidence_digest}"}
    said = {"word": "approve", "visit": str(visit.pk), **seen}
    return client_of(user).post(reverse("gate-bulk"), said).status_code


def by_chat(court: Court, visit: GateVisit, user: User) -> int:
    account = ChatAccount.objects.get(user=user).account
    court.slack.press(interactions.visit_version_and_evidence_of_button(visit), account)
    return 200 if court.slack.told() == "Approved." else 403


def by_override(court: Court, visit: GateVisit, user: User) -> int:
    said = {"comment": "Now", "confirm": visit.task.name, **shown(visit)}
    return client_of(user).post(reverse("gate-override", args=[visit.pk]), said).status_code


def as_a_stand_in(court: Court, visit: GateVisit, user: User) -> int:
    """Of somebody who may; the seat is named, so it is not their own that is refused."""
    away = make_member(court.world.project, ROLES, "away")
    court.group.members.add(away)
    Absence.objects.create(user=away, stand_in=user, until=FAR, created_at=timezone.now())
    return by_page(court, visit, user, seat=away.username)


def through_a_stand_in(court: Court, visit: GateVisit, user: User) -> int:
    """They are away, and whoever stands in for them may not be asked for anything else."""
    instead = make_member(court.world.project, "viewer", "instead")
    Absence.objects.create(user=user, stand_in=instead, until=FAR, created_at=timezone.now())
    return by_page(court, visit, instead)


def between_two(court: Court, visit: GateVisit, user: User) -> int:
    """Somebody who may is away, they stand in, are away too, and name a third."""
    away = make_member(court.world.project, ROLES, "away")
    court.group.members.add(away)
    instead = make_member(court.world.project, "viewer", "instead")
    for absent, stand_in in ((away, user), (user, instead)):
        Absence.objects.create(user=absent, stand_in=stand_in, until=FAR, created_at=timezone.now())
    return by_page(court, visit, instead, seat=away.username)


WAYS: tuple[Callable[[Court, GateVisit, User], int], ...] = (
    by_page,
    by_rejecting,
    by_api,
    by_mail_link,
    by_bulk,
    by_chat,
    by_override,
    as_a_stand_in,
    through_a_stand_in,
    between_two,
)
REFUSED = {403, 409}
"""A row of the bulk table that is not decided answers 409."""


@pytest.fixture
def court(world: World, chat: Chat) -> Court:  # noqa: F811
    return Court(world, Slack(chat, connect(world, chat, "slack", signing=keys.encrypt_secret(SECRET))))


def undone() -> bool:
    kinds = ["gate.voted", "gate.decided", "gate.overridden"]
    return not Vote.objects.exists() and not Event.objects.filter(kind__in=kinds).exists()


@pytest.mark.smoke(5)
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize("bar", BARS)
def test_who_is_barred_decides_nothing_and_where_the_gate_lets_them_does(
    court: Court, bar: str, way: Callable[[Court, GateVisit, User], int]
) -> None:
    task = BARS[bar](court, False)
    for meanwhile in MEANWHILE:
        meanwhile(court)
        Absence.objects.all().delete()
        visit = court.world.visit(task)
        status = way(court, visit, court.barred)
        assert status in REFUSED and undone(), (meanwhile.__name__, status)
        assert court.world.status(task) == "awaiting_review"
    Absence.objects.all().delete()
    lets = BARS[bar](court, True)
    visit = court.world.visit(lets)
    assert way(court, visit, court.barred) in (200, 302)
    visit.refresh_from_db()
    assert visit.state == GateVisit.State.DECIDED


@pytest.mark.wide
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_the_other_decides_in_each_of_these_ways(
    court: Court, way: Callable[[Court, GateVisit, User], int]
) -> None:
    for bar in BARS.values():
        Absence.objects.all().delete()
        visit = court.world.visit(bar(court, False))
        assert way(court, visit, court.other) in (200, 302)
        visit.refresh_from_db()
        assert visit.state == GateVisit.State.DECIDED
