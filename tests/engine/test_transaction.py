"""A transaction that the database gives up is done again as a whole (house §2), on real locks."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from django.db import DatabaseError, OperationalError, connection, transaction
from psycopg import connect

from pipelines.engine.core import transaction as reruns
from pipelines.engine.core.transaction import PAUSES, run_in_transaction
from pipelines.models import Owner
from pipelines.ports.queue import enqueue_token_tickets
from pipelines.web.shell.outage_errors import is_unavailable
from tests.waiting import LONG

pytestmark = pytest.mark.django_db(transaction=True)


def lock(key: str) -> None:
    Owner.objects.select_for_update().get(key=key)


def in_two_orders(work: Callable[[str, str], None]) -> None:
    """At the same time, so that each can wait for what the other has."""
    threads = [threading.Thread(target=work, args=pair) for pair in (("a", "b"), ("b", "a"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=LONG)


def test_of_two_that_deadlock_both_get_through(transactional_db: None) -> None:
    for key in ("a", "b"):
        Owner.objects.create(key=key, name="0")
    both_hold_one, tries = threading.Barrier(2), []

    def add(first: str, second: str) -> None:
        def work() -> None:
            tries.append(first)
            lock(first)
            if tries.count(first) == 1:
                both_hold_one.wait(timeout=LONG)
            lock(second)
            for owner in Owner.objects.all():
                Owner.objects.filter(pk=owner.pk).update(name=str(int(owner.name) + 1))

        try:
            run_in_transaction(work)
        finally:
            connection.close()

    in_two_orders(add)
    assert set(Owner.objects.values_list("name", flat=True)) == {"2"}
    assert len(tries) > 2, "one of them was a victim and began again"


def test_a_victim_lets_the_other_go_first(transactional_db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """With its transaction undone, and before it locks anything again: on a busy machine it lost each of its tries."""
    for key in ("a", "b"):
        Owner.objects.create(key=key, name=key)
    both_hold_one, done, pauses = threading.Barrier(2), threading.Event(), []

    def pause(seconds: float) -> None:
        pauses.append((seconds, done.wait(timeout=LONG)))

    monkeypatch.setattr(reruns, "sleep", pause)

    def take(first: str, second: str) -> None:
        tries = []

        def work() -> None:
            lock(first)
            tries.append(first)
            if len(tries) == 1:
                both_hold_one.wait(timeout=LONG)
            lock(second)

        try:
            run_in_transaction(work)
            done.set()
        finally:
            connection.close()

    in_two_orders(take)
    assert pauses == [(PAUSES[0], True)], "the other came to its end in the pause of the victim"


def test_a_lock_that_is_not_to_be_had_is_tried_three_times_more(transactional_db: None) -> None:
    Owner.objects.create(key="a", name="A")
    held, enough, tries = threading.Event(), threading.Event(), []

    def holder() -> None:
        try:
            with transaction.atomic():
                lock("a")
                held.set()
                enough.wait(timeout=LONG)
        finally:
            connection.close()

    def work() -> None:
        tries.append(1)
        Owner.objects.select_for_update(nowait=True).get(key="a")

    thread = threading.Thread(target=holder)
    thread.start()
    assert held.wait(timeout=LONG)
    with pytest.raises(OperationalError):
        run_in_transaction(work)
    enough.set()
    thread.join(timeout=LONG)
    assert len(tries) == 1 + len(PAUSES)


def test_a_connection_that_is_cut_while_a_ticket_is_written_says_so_as_any_other(
    transactional_db: None,
) -> None:
    """Else whoever asked would hear of a fault of the server (500), and a deadlock would not be done again."""

    def work() -> None:
        cut = connection.connection
        with connect(cut.info.dsn, password=cut.info.password, autocommit=True) as other:
            other.execute("SELECT pg_terminate_backend(%s)", [cut.info.backend_pid])
        enqueue_token_tickets([1])

    with pytest.raises(OperationalError) as failed:
        run_in_transaction(work)
    assert is_unavailable(failed.value)
    connection.close()


def test_any_other_error_is_not_tried_again(transactional_db: None) -> None:
    tries = []

    def work() -> None:
        tries.append(1)
        connection.cursor().execute("SELECT 1/0")

    with pytest.raises(DatabaseError):
        run_in_transaction(work)
    assert len(tries) == 1
