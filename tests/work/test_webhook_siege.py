"""Deliveries over real sockets to web processes that are killed: each accepted one is exactly one task."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.client import HTTPConnection, HTTPException
from itertools import count
from pathlib import Path
from random import Random
from urllib.parse import urlsplit

import pytest
from django.db import connection, transaction

from pipelines.lines import triggers
from pipelines.lines.triggers import TriggerRequest
from pipelines.models import Task, TaskCounter, TriggerDelivery, WebhookAddress
from pipelines.work.hosts import standard_webhooks
from tests.factories import World, station
from tests.fixtures.site import Site, free_port, start_web, stop
from tests.waiting import LONG, until
from tests.work.webhook_calls import call

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.moves]
SECRET = standard_webhooks.new_secret()
SENDERS = 6


@dataclass(frozen=True)
class Sent:
    """A delivery that somebody sends until it is answered. `is_right`: its signature is."""

    message_id: str
    is_right: bool = True

    def call(self) -> tuple[bytes, dict[str, str]]:
        secret = SECRET if self.is_right else standard_webhooks.new_secret()
        return call("standard", secret, {"text": self.message_id}, self.message_id)


@dataclass
class Servers:
    """Web processes behind fixed ports; a killed one is started again."""

    folder: Path
    ports: tuple[int, ...]
    kills: int = 0
    _sites: dict[int, Site] = field(default_factory=dict)
    _log: Iterator[int] = field(default_factory=count)

    def start(self, port: int) -> None:
        folder = self.folder / str(next(self._log))
        folder.mkdir()
        self._sites[port] = start_web(folder, port)

    def kill(self, port: int) -> None:
        process = self._sites[port].process
        process.kill()
        process.wait(LONG)
        self.kills += 1

    def stop(self) -> None:
        for site in self._sites.values():
            stop(site.process)


@contextmanager
def serving(folder: Path, number: int) -> Iterator[Servers]:
    servers = Servers(folder, tuple(free_port() for _ in range(number)))
    try:
        for port in servers.ports:
            servers.start(port)
        yield servers
    finally:
        servers.stop()


def webhook(world: World) -> str:
    """The address of a webhook that takes its input from the body."""
    inputs = [{"key": "request", "type": "text", "required": True}]
    version = world.line(stations=[station("work", kind="manual")], inputs=inputs)
    options = {"name": "Siege", "inputs": {"request": "text"}}
    trigger = triggers.add_trigger(
        version.line, "webhook", TriggerRequest(options, secret=SECRET), by=world.operator
    )
    return f"/api/hooks/{WebhookAddress.objects.get(trigger=trigger).address}"


def posted(port: int, path: str, body: bytes, headers: dict[str, str]) -> int:
    """The status of the answer; 0 where the connection was lost before it came."""
    link = HTTPConnection("127.0.0.1", port, timeout=LONG)
    try:
        link.request("POST", path, body, headers | {"Content-Type": "application/json"})
        return link.getresponse().status
    except (OSError, HTTPException):
        return 0
    finally:
        link.close()


def deliveries(random: Random, number: int) -> list[Sent]:
    """So many, a third of them replays, some forged, in any order."""
    fresh = [Sent(f"msg_{index}") for index in range(number * 6 // 10)]
    replays = [random.choice(fresh) for _ in range(number * 3 // 10)]
    forged = [Sent(random.choice(fresh).message_id, False) for _ in range(number - len(fresh) - len(replays))]
    everything = [*fresh, *replays, *forged]
    random.shuffle(everything)
    return everything


def send_all(given_ports: Sequence[int], path: str, sent: list[Sent], random: Random) -> Counter[int]:
    """Send each, as senders do: again with the same id until there is an answer. Returns the answers."""
    answers: Counter[int] = Counter()
    together = threading.Lock()

    def one(delivery: Sent, first: int) -> None:
        ports = [*given_ports[first:], *given_ports[:first]]

        def answer() -> int:
            ports.append(ports.pop(0))
            # Signed anew: it may be older than five minutes by now
            status = posted(ports[-1], path, *delivery.call())
            # 503: the server has no connection to the database; 429: too many forged ones came
            return 0 if status == 503 or (delivery.is_right and status == 429) else status

        status = until(answer, delivery.message_id)
        with together:
            answers[status] += 1

    with ThreadPoolExecutor(SENDERS) as threads:
        for future in [threads.submit(one, each, random.randrange(len(given_ports))) for each in sent]:
            future.result()
    return answers


def each_accepted_one_is_one_task(sent: list[Sent]) -> None:
    expected = {delivery.message_id for delivery in sent if delivery.is_right}
    started = TriggerDelivery.objects.filter(outcome="started")
    assert set(started.values_list("key", flat=True)) == expected
    assert started.count() == Task.objects.count() == len(expected)
    texts = Counter(inputs["request"] for inputs in Task.objects.values_list("inputs", flat=True))
    assert texts == dict.fromkeys(expected, 1)
    repeated = TriggerDelivery.objects.filter(outcome="repeated")
    # Also those whose answer was lost with a killed server
    assert repeated.count() >= sum(delivery.is_right for delivery in sent) - len(expected)


def test_a_kill_between_receipt_and_start_leaves_nothing(world: World, tmp_path: Path) -> None:
    """The number counter of the project is held: the delivery is received, and its task is not started yet."""
    path = webhook(world)
    counter = TaskCounter.objects.create(project=world.project)
    sent = Sent("msg_1")
    with serving(tmp_path, 1) as servers, ThreadPoolExecutor(1) as threads:
        [port] = servers.ports
        with transaction.atomic():
            TaskCounter.objects.select_for_update().get(pk=counter.pk)
            answer = threads.submit(posted, port, path, *sent.call())
            until(waits_for_a_lock, "a start that waits")
            servers.kill(port)
            assert answer.result(LONG) == 0
        assert not Task.objects.exists() and not TriggerDelivery.objects.exists()
        servers.start(port)
        assert [posted(port, path, *sent.call()) for _ in range(2)] == [202, 200]
    each_accepted_one_is_one_task([sent, sent])


def waits_for_a_lock() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT EXISTS (SELECT FROM pg_stat_activity"
            " WHERE datname = current_database() AND wait_event_type = 'Lock')"
        )
        return bool(cursor.fetchone()[0])


def test_replays_and_forged_ones_in_any_order_are_one_task_each(world: World, site: Site) -> None:
    random, path = Random(7), webhook(world)
    sent = deliveries(random, 60)
    answers = send_all([urlsplit(site.url).port or 0], path, sent, random)
    each_accepted_one_is_one_task(sent)
    assert answers[202] == 36 and answers[200] == 18 and answers[401] + answers[429] == 6


@pytest.mark.soak
def test_10_000_deliveries_while_servers_are_killed(world: World, tmp_path: Path) -> None:
    random, path = Random(11), webhook(world)
    sent = deliveries(random, 10_000)
    over = threading.Event()

    def came(enough: int) -> bool:
        return over.is_set() or TriggerDelivery.objects.count() >= enough

    def kill(servers: Servers) -> None:
        while not over.is_set():
            # Of what has come since the last kill: so many kills however fast the machine is
            count = TriggerDelivery.objects.count()
            for enough in range(count + 50, count + 501, 50):
                until(partial(came, enough), "deliveries")
            if not over.is_set():
                port = random.choice(servers.ports)
                servers.kill(port)
                servers.start(port)
        connection.close()

    with serving(tmp_path, 2) as servers, ThreadPoolExecutor(1) as killer:
        killing = killer.submit(kill, servers)
        try:
            answers = send_all(servers.ports, path, sent, Random(13))
        finally:
            over.set()
        killing.result()
        kills = servers.kills
    each_accepted_one_is_one_task(sent)
    assert kills >= 10, kills
    # What came twice was told so, however it was answered the first time
    assert answers[202] <= 6_000 and set(answers) == {200, 202, 401, 429}
