"""The network of stations as their version has it: published today, published before there was the key, imported."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from pipelines.errors import Forbidden
from pipelines.formats import native
from pipelines.lines import publishing, version_comparison, version_history
from pipelines.models import Job, LineVersion, Role, Task, Worker
from pipelines.queries.workers import unenforced_networks_of_project
from pipelines.routing.document.line import read_line
from pipelines.web.lines.overview import station_summaries
from pipelines.work.config import WorkerConfig
from pipelines.work.orders.order import Orders, command_spec, station_access
from pipelines.work.processes.isolation import Isolation, isolation_places, link_folders
from pipelines.work.processes.resources import Resources
from pipelines.work.spec.handler_io import Attempt
from pipelines.work.transport.local.orders import job_orders
from tests.factories import World, document, make_member, station
from tests.fixtures.older import published_before
from tests.work.driving import PYTHON, Bench, command, drive, outcome_of
from tests.work.isolations import BOTH, isolation_or_skip
from tests.work.remotes import allow

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.moves]
DATAGRAM = (
    "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'out', ('127.0.0.1', {port}))"
)


def network_in(document: Any) -> str | None:
    found: str | None = document["stations"][0]["work"].get("network")
    return found


def reaches(given: str, **work: Any) -> dict[str, Any]:
    return document([command("a", given, work=work)], "net")


@pytest.fixture(params=BOTH)
def isolated(request: pytest.FixtureRequest, bench: Bench, tmp_path: Path) -> Isolation:
    bench.base.mkdir(parents=True, exist_ok=True)
    readable = [Path(sys.prefix), Path(sys.base_prefix), *link_folders(Path(PYTHON))]
    found = asyncio.run(
        isolation_or_skip(request.param, isolation_places(readable, [], tmp_path), bench.base)
    )
    assert found.cuts_network
    return found


def sent(world: World, bench: Bench, isolation: Isolation, version: Any) -> bool:
    """Whether a datagram of the version's station arrives. `version`: made for a port."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
        datagrams.bind(("127.0.0.1", 0))
        datagrams.setblocking(False)
        task = world.start(version(DATAGRAM.format(port=datagrams.getsockname()[1])))
        drive(bench, task, isolation=isolation)
        try:
            return datagrams.recv(10) == b"out"
        except BlockingIOError:
            return False


@pytest.mark.isolation
def test_a_version_of_today_that_says_nothing_has_no_network(
    world: World, bench: Bench, isolated: Isolation
) -> None:
    assert not sent(world, bench, isolated, lambda program: world.line(reaches(program)))


@pytest.mark.smoke(1)
@pytest.mark.isolation
def test_a_version_of_before_that_says_nothing_keeps_the_network(
    world: World, bench: Bench, isolated: Isolation
) -> None:
    assert sent(world, bench, isolated, lambda program: published_before(world, reaches(program)))


@pytest.mark.smoke(1)
@pytest.mark.isolation
def test_a_version_that_says_open_has_the_network(world: World, bench: Bench, isolated: Isolation) -> None:
    assert sent(world, bench, isolated, lambda program: world.line(reaches(program, network="open")))


def test_publishing_writes_down_what_a_draft_does_not_say(world: World) -> None:
    version = world.line(reaches("pass"))
    assert network_in(version.document) == "none"
    assert network_in(version.line.draft) is None
    with pytest.raises(publishing.NothingToPublish):
        line = version.line
        publishing.publish_draft(line, user=world.admin, based_on=line.draft_number, over=version.number)


def test_a_list_of_hosts_is_what_its_inputs_and_its_agent_say(world: World) -> None:
    inputs = [{"key": "source", "type": "repository", "required": False}]
    agent = {"agent": "claude", "prompt": "Go"}
    network = {"egress": ["example.com:8443", "input:source"]}
    for source, found in (
        ("https://code.example.com/app.git", ("code.example.com",)),
        ("https://code.example.com:8443/app.git", ("code.example.com:8443",)),
        ("ssh://git@git.example.com:2222/team/app.git", ("git.example.com",)),
        ("", ()),
    ):
        given = document(
            [station("a", kind="agent", work={**agent, "network": network})], "net", inputs=inputs
        )
        task = world.start(world.line(given), inputs={"source": source})
        orders = Orders.of_json(json.loads(json.dumps(orders_for(task).to_json())))
        assert orders.station.hosts == ("api.anthropic.com", "example.com:8443", *found)
        reached = station_access(orders, WorkerConfig(Path("/w"), Isolation("none")))
        assert not reached.network
        assert reached.hosts[:2] == (("api.anthropic.com", 443), ("example.com", 8443))


def test_the_page_of_a_line_names_the_hosts_and_who_does_not_enforce_them(world: World) -> None:
    given = document([command("a", "pass", work={"network": {"egress": ["example.com"]}})], "net")
    line = read_line(world.line(given).document)
    for facts, words in (
        ({}, "example.com · not enforced on worker"),
        ({"cuts_network": True}, "example.com · cannot run on worker, which cannot limit hosts"),
        ({"cuts_network": True, "limits_hosts": True}, "example.com"),
    ):
        Worker.objects.update(**facts)
        assert (
            station_summaries(line, unenforced_networks_of_project(timezone.now(), world.project.pk))[
                0
            ].network
            == words
        )


def test_an_open_network_needs_the_permission_execute(world: World) -> None:
    plain = make_member(world.project, Role.DESIGNER)
    given = document([station("a", work={"network": "open"}), "b"], "net")
    line = publishing.create_line(world.project, "net", "Net", given, plain)
    with pytest.raises(Forbidden, match="execute"):
        publishing.publish_draft(line, user=plain, based_on=line.draft_number)


def test_a_version_of_before_is_shown_exported_and_restored_as_open(world: World, client: Client) -> None:
    before = published_before(world, reaches("pass"))
    line = before.line
    world.admin.set_password("correct horse battery")
    world.admin.save()
    client.force_login(world.admin)
    base = reverse("line", args=[world.project.owner.key, world.project.key, "net"])
    answer = client.get(base)
    assert answer.status_code == 200, answer.headers
    page = answer.content.decode()
    assert "Open, because this version was published before" in page
    exported = native.loads(client.get(f"{base}export/").content.decode())
    assert network_in(exported) == "open"
    publishing.save_draft(line, reaches("pass"), world.admin, line.draft_number)
    line.refresh_from_db()
    apart = version_comparison.compare_documents(
        version_comparison.comparison_side(line, "live"), version_comparison.comparison_side(line, "draft")
    )
    assert apart.changes, "publishing the same text again takes the network away, and says so"
    newer = publishing.publish_draft(line, user=world.admin, based_on=line.draft_number, over=before.number)
    assert network_in(newer.document) == "none"
    line.refresh_from_db()
    page = client.get(base).content.decode()
    assert "<dd>None · not enforced on worker</dd>" in page
    Worker.objects.update(cuts_network=True)
    page = client.get(base).content.decode()
    assert "<dd>None</dd>" in page and "not enforced" not in page
    restored = version_history.restore_as_draft(line, str(before.number), world.admin, line.draft_number)
    assert network_in(restored.draft) == "open"
    before.refresh_from_db()
    assert network_in(LineVersion.objects.get(pk=before.pk).document) is None


def orders_for(task: Task) -> Orders:
    return job_orders(Job.objects.select_related("task__project__owner").get(task=task))


def test_only_a_station_that_names_a_repository_sees_the_allowed_one(world: World, tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    for folder in (one, other):
        folder.mkdir()
        allow(world.project.owner, folder)
    config = WorkerConfig(tmp_path / "workspaces", Isolation("none"))
    inputs = [{"key": "source", "type": "repository"}, {"key": "note"}]
    for argv, sees in (
        (["fetch", "--from={{input.source}}"], (one,)),
        (["fetch", "{{.source}}"], (one,)),
        (["fetch", f"{one}"], (one,)),
        (["test", "{{input.note}}"], ()),
        (["test", "source"], ()),
    ):
        given = document([station("a", kind="command", work={"argv": argv})], "net", inputs=inputs)
        typed = {"source": str(one), "note": str(other)}
        task = world.start(world.line(given), inputs=typed)
        assert station_access(orders_for(task), config).repositories == sees, argv


def test_a_station_sets_its_own_limits_and_has_those_of_the_worker_else(world: World, tmp_path: Path) -> None:
    config = WorkerConfig(tmp_path, Isolation("none"), resources=Resources(memory_mb=77, disk_mb=88))
    given = document([command("a", "pass", resources={"disk_mb": 5})], "net")
    orders = orders_for(world.start(world.line(given)))
    found = command_spec(orders, Attempt(tmp_path), config).resources
    assert (found.memory_mb, found.disk_mb) == (77, 5)


def test_a_station_that_exceeds_a_limit_fails_and_rules_route_it(world: World, bench: Bench) -> None:
    again = {"id": "over", "when": {"failure_type": "resource_limit"}, "to": "smaller"}
    program = "open('large', 'wb').write(b'x' * (4 << 20))"
    given = command("a", program, again, resources={"disk_mb": 2})
    task = world.start(world.line(document([given, "smaller"], "net")))
    drive(bench, task)
    found = outcome_of(task, "a")
    assert found["failure_type"] == "resource_limit"
    assert "2 MB of disk" in found["summary"]
    assert "smaller" in task.jobs.values_list("station", flat=True)
