"""Who hangs up before the answer has reported all the same, once; and keeps nobody else from being answered."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.db import transaction

from pipelines.models import Event, Task
from pipelines.work.transport.http.wire_format import PROTOCOL
from tests.factories import World
from tests.fixtures.site import Site
from tests.waiting import LONG, until
from tests.work.runners.far import FACTS, FarAway

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.moves]
MANY = 6


def _sent(site: Site, far: FarAway, job: int, attempt: int, lease: str) -> socket.socket:
    """A report on its way, to which nobody has listened yet."""
    body = json.dumps({"attempt": attempt, "outcome": {"result": "success"}, "go_on": True}).encode()
    parts = urlsplit(site.url)
    head = [
        f"POST /api/v1/runner/{far.id}/jobs/{job}/report HTTP/1.1",
        "Host: localhost",
        f"Authorization: Bearer {far.secret}",
        f"Gateline-Lease: {lease}",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        "Connection: close",
    ]
    line = socket.create_connection((str(parts.hostname), parts.port or 80), LONG)
    line.settimeout(LONG)
    line.sendall("\r\n".join([*head, "", ""]).encode() + body)
    return line


def _heard(line: socket.socket) -> str:
    said = b""
    while part := line.recv(65536):
        said += part
    return json.loads(said.partition(b"\r\n\r\n")[2])["status"]  # type: ignore[no-any-return]


def test_a_report_is_neither_lost_nor_doubled(world: World, site: Site, tmp_path: Path) -> None:
    far = FarAway(tmp_path, world.runner()[1])
    assert far.call("", {**FACTS, "protocol": PROTOCOL}).status_code == 200
    line = world.line(stations=["build", "test"])
    jobs = [world.start(line).jobs.get().pk for _ in range(1 + MANY)]
    taken = far.call("/claims", {"jobs": jobs}).json()["started"]
    fences = [(each["orders"]["job_id"], each["orders"]["attempt"], each["lease"]) for each in taken]

    with transaction.atomic():  # the first is held up, so that the others come while it is answered
        Task.objects.select_for_update().get(jobs=fences[0][0])
        lines = [_sent(site, far, *fence) for fence in fences]
        for gone in lines[1::2]:
            gone.close()
    assert [_heard(each) for each in lines[0::2]] == ["accepted"] * len(lines[0::2])

    reported = Event.objects.filter(kind="job.reported")
    until(lambda: reported.count() == len(fences))
    again = [_heard(_sent(site, far, *fence)) for fence in fences]
    assert again == ["repeated"] * len(fences)
    assert sorted(each.data["job"]["id"] for each in reported) == sorted(jobs), "each once"
