"""A notice that no worker sends any more: it fails with a word, and people send it again or drop it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.db.models import F
from django.utils import timezone

from pipelines.models import AdministrativeAct, HostLink, HostNotice
from pipelines.ports import code_host_notices
from pipelines.work.host_notifications import tasks as telling
from tests.access.place import Place
from tests.factories import World
from tests.pages.conftest import client_of
from tests.work.hosts.conftest import repository
from tests.work.hosts.test_issues import SECRET, said, send, wired

__all__ = ["wired"]
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.moves]
State = HostNotice.State


def run_sql(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)


@pytest.fixture
def notice(world: World, wired: Any) -> HostNotice:
    """Queued, with its ticket."""
    send(world, *wired.hook(SECRET, wired.labelled("gateline")))
    return HostNotice.objects.get()


@pytest.mark.parametrize("hosted", ["gitlab"], indirect=True)
@pytest.mark.parametrize(
    "fault",
    [
        "DELETE FROM procrastinate_jobs",
        "UPDATE procrastinate_jobs SET status = 'failed'",
        "UPDATE procrastinate_jobs SET status = 'aborted'",
    ],
)
def test_one_whose_ticket_is_gone_fails_with_a_word(
    world: World, wired: Any, notice: HostNotice, fault: str
) -> None:
    assert code_host_notices.fail_notices_nobody_will_send() == 0
    run_sql(f"{fault} WHERE task_name = 'pipelines.tell_host'")
    assert (
        code_host_notices.fail_notices_nobody_will_send() == 1
        and code_host_notices.fail_notices_nobody_will_send() == 0
    )
    notice.refresh_from_db()
    assert (notice.state, notice.error) == (State.FAILED, code_host_notices.LOST)
    act = AdministrativeAct.objects.get(kind="notice.failed")
    assert (act.actor, act.data["why"]) == ("engine", code_host_notices.LOST)
    page = client_of(world.admin).get(f"/p/acme/{world.project.key}/settings/audit/").content.decode()
    assert "Could not be told at the host" in page and "It left the queue" in page


@pytest.mark.parametrize("hosted", ["gitlab"], indirect=True)
@pytest.mark.parametrize("status", ["todo", "doing"])
def test_one_under_way_or_waiting_is_left_alone(notice: HostNotice, status: str) -> None:
    run_sql(f"UPDATE procrastinate_jobs SET status = '{status}' WHERE task_name = 'pipelines.tell_host'")
    assert code_host_notices.fail_notices_nobody_will_send() == 0


@pytest.mark.parametrize("hosted", ["gitlab"], indirect=True)
def test_one_that_is_weeks_late_is_shown_and_not_sent(world: World, wired: Any, notice: HostNotice) -> None:
    """Its ticket is there still: whichever comes first, the worker or the sweep, the host hears nothing."""
    HostNotice.objects.update(queued_at=F("queued_at") - timedelta(weeks=3))
    telling.send_queued_notice(notice.pk)
    assert code_host_notices.fail_notices_nobody_will_send() == 1
    telling.send_queued_notice(notice.pk)
    notice.refresh_from_db()
    assert (notice.state, notice.error) == (State.FAILED, code_host_notices.LATE) and not said(
        wired, "issue", 7
    )
    page = f"/p/acme/{world.project.key}/settings/repositories/{repository().pk}/"
    client = client_of(world.admin)
    assert "not sent within a day" in client.get(page).content.decode()
    client.post(f"/p/acme/{world.project.key}/settings/notices/{notice.pk}/send/")
    telling.send_queued_notice(notice.pk)
    assert len(said(wired, "issue", 7)) == 1
    notice.refresh_from_db()
    assert notice.state == State.SENT and "Not told on the host" not in client.get(page).content.decode()
    assert AdministrativeAct.objects.filter(
        kind="notice.sent_again", actor=f"person:{world.admin.pk}"
    ).exists()


@pytest.mark.parametrize("hosted", ["gitlab"], indirect=True)
def test_one_that_was_dropped_is_never_sent(world: World, wired: Any, notice: HostNotice) -> None:
    place = f"/p/acme/{world.project.key}/settings/notices/{notice.pk}"
    client = client_of(world.admin)
    client.post(f"{place}/drop/")
    telling.send_queued_notice(notice.pk)
    notice.refresh_from_db()
    assert notice.state == State.DROPPED and not said(wired, "issue", 7)
    assert AdministrativeAct.objects.filter(kind="notice.dropped").exists()
    again = client.post(f"{place}/send/", follow=True).content.decode()
    assert (
        "Only what failed is sent again" in again and code_host_notices.fail_notices_nobody_will_send() == 0
    )


def test_a_status_asked_for_while_it_is_sent_stays_queued(world: World) -> None:
    """A sender marks the notice that it read; the newer one has a ticket of its own, and loses it with a word."""
    place = Place(world)
    link = HostLink.objects.create(task=place.task, repository=place.repository, kind="branch", number=0)
    code_host_notices.enqueue_new_notices_and_every_status([(link, "status")], timezone.now())
    first = HostNotice.objects.get(link=link)
    code_host_notices.enqueue_new_notices_and_every_status([(link, "status")], timezone.now())
    assert not code_host_notices.unchanged_queued_row(first).update(state=State.SENT, sent_at=timezone.now())
    assert not code_host_notices.mark_notice_failed_unless_queued_again(
        first, "The host refused the older one."
    )
    assert HostNotice.objects.get(link=link).state == State.QUEUED
    run_sql("DELETE FROM procrastinate_jobs WHERE task_name = 'pipelines.tell_host'")
    assert code_host_notices.fail_notices_nobody_will_send() == 1
