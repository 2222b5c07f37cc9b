"""What goes over the wire: nothing after the answer to HEAD, text compressed. A real web process."""

from __future__ import annotations

import gzip
import hashlib
import http.client
import json
import re
import socket
import uuid
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import storages
from django.urls import reverse
from django.utils import timezone

from pipelines import engine
from pipelines.models import Artifact, Blob, Task
from pipelines.work import logs
from tests.factories import World
from tests.fixtures.site import Site
from tests.live.conftest import session_of
from tests.reviews.conftest import gated

# What a client would take for the answer to its next request.
FORGED = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged"
PIECE = 1 << 16


@pytest.fixture
def task(world: World, site: Site) -> Task:
    task = world.start(world.line(**gated()), description="long " * 20_000)
    world.report(task)
    return task


def artifact(world: World, task: Task) -> str:
    content = b"a" * PIECE + FORGED * 1_000
    digest = hashlib.sha256(content).hexdigest()
    name = storages["artifacts"].save(f"test-{uuid.uuid4().hex}", ContentFile(content))
    blob = Blob.objects.create(digest=digest, size=len(content), name=name, created_at=timezone.now())
    made = Artifact.objects.create(task=task, job=task.jobs.get(), name="a.txt", blob=blob)
    return reverse("artifact", args=[*_project(world), task.name, made.pk])


def log(world: World, task: Task) -> str:
    job = task.jobs.get()
    writer = logs.Writer(job.pk, job.attempt)
    for _ in range(3):
        writer.append_chunk(f"0\t{FORGED.decode()}\n".replace("\r\n", " "), timezone.now())
    return reverse("task-log-download", args=[*_project(world), task.name]) + f"?job={job.pk}"


def events(world: World, task: Task) -> str:
    other = world.start(task.pinned)
    token = world.token(other)
    for _ in range(110):
        held = engine.hold(token.pk, user=world.operator, token_version=token.version)
        assert held
        token.refresh_from_db()
        engine.release(token.pk, user=world.operator, token_version=token.version)
        token.refresh_from_db()
    return reverse("task-events", args=[*_project(world), other.name])


def long_page(world: World, task: Task) -> str:
    return reverse("task", args=[*_project(world), task.name])


def signed_in(world: World) -> str:
    """The session of a viewer; without a password every page would lead to setting one."""
    world.viewer.set_password("correct horse battery")
    world.viewer.save()
    return session_of(world.viewer)


def _project(world: World) -> tuple[str, str]:
    return world.project.owner.key, world.project.key


@pytest.mark.smoke(1)
@pytest.mark.parametrize("address", [artifact, log, events, long_page])
def test_nothing_comes_after_the_head_of_an_answer(
    world: World, site: Site, task: Task, address: Callable[[World, Task], str]
) -> None:
    """The next answer on the same connection is the next thing in it."""
    path = address(world, task)
    place = urlsplit(site.url)
    session = signed_in(world)
    with socket.create_connection((place.hostname, place.port), timeout=60) as connection:

        def send(method: str, path: str, *more: str) -> None:
            lines = [f"{method} {path} HTTP/1.1", f"Host: {place.netloc}", *more, "", ""]
            connection.sendall("\r\n".join(lines).encode())

        send("HEAD", path, f"Cookie: gateline_session={session}")
        received = b""
        while b"\r\n\r\n" not in received:
            received += _some(connection)
        send("GET", "/healthz", "Connection: close")
        while piece := connection.recv(PIECE):
            received += piece
    head, _, rest = received.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200")
    assert re.match(rb"HTTP/1\.1 (200|503) ", rest), rest[:200]
    assert b'"status"' in rest
    assert b"forged" not in rest


def _some(connection: socket.socket) -> bytes:
    piece = connection.recv(PIECE)
    assert piece, "the connection was closed"
    return piece


# Compression


def fetch(site: Site, path: str, **headers: str) -> tuple[Mapping[str, str], bytes]:
    place = urlsplit(site.url)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=60)
    try:
        connection.request("GET", path, headers={"Accept-Encoding": "gzip", **headers})
        answer = connection.getresponse()
        return answer.headers, answer.read()
    finally:
        connection.close()


@pytest.mark.wide
def test_pages_style_sheets_and_scripts_come_compressed(world: World, site: Site, task: Task) -> None:
    cookie = {"Cookie": f"gateline_session={signed_in(world)}"}
    headers, body = fetch(site, long_page(world, task), **cookie)
    page = gzip.decompress(body).decode()
    assert headers["Content-Encoding"] == "gzip"
    assert "Accept-Encoding" in headers["Vary"]
    assert len(body) < len(page) / 3
    files = re.findall(r'(?:href|src)="(/static/[^"]+\.(?:css|js))"', page)
    assert {name.rpartition(".")[2] for name in files} == {"css", "js"}
    for name in files:
        headers, body = fetch(site, name)
        plain = fetch(site, name, **{"Accept-Encoding": "identity"})[1]
        assert (headers["Content-Encoding"], gzip.decompress(body)) == ("gzip", plain), name
        assert "private" not in headers["Cache-Control"]
        assert len(plain) < 2_000 or len(body) < len(plain) / 2, name


def test_api_answers_come_compressed(world: World, site: Site, task: Task) -> None:
    owner, project = _project(world)
    secret = world.token_of(world.viewer)[1]
    path = f"/api/owners/{owner}/projects/{project}/stages/release/tasks"
    headers, body = fetch(site, path, Authorization=f"Bearer {secret}")
    assert headers["Content-Encoding"] == "gzip"
    assert json.loads(gzip.decompress(body))[0]["id"] == task.name


def test_a_file_that_did_not_change_is_not_sent_again(site: Site) -> None:
    page = gzip.decompress(fetch(site, "/sign-in/")[1]).decode()
    [sheet] = re.findall(r'href="(/static/[^"]+\.css)"', page)
    tag = fetch(site, sheet)[0]["ETag"]
    headers, body = fetch(site, sheet, **{"If-None-Match": tag})
    assert (headers["ETag"], body) == (tag, b"")


def test_a_page_with_a_secret_is_no_oracle_for_its_length(site: Site) -> None:
    """BREACH: the same page comes with another mask of its token and in another length each time."""
    answers = [fetch(site, "/sign-in/")[1] for _ in range(12)]
    tokens = {
        re.search(rb'name="csrfmiddlewaretoken" value="(\w+)"', gzip.decompress(one))[1] for one in answers
    }  # type: ignore[index]
    assert len(tokens) == len(answers)
    assert len({len(answer) for answer in answers}) > 2
    gap = [int.from_bytes(answer[3:4]) & 8 for answer in answers]
    assert all(gap), "no random bytes in the head"


@pytest.mark.wide
def test_lines_of_a_stream_are_not_collected_to_be_compressed(world: World, site: Site, task: Task) -> None:
    cookie = {"Cookie": f"gateline_session={signed_in(world)}"}
    address = reverse("task-events", args=[*_project(world), task.name])
    headers, body = fetch(site, address, **cookie)
    assert headers["Content-Encoding"] is None
    assert json.loads(body.splitlines()[0])["sequence"] == 1


# The log


def test_what_is_refused_is_one_line_in_the_log(world: World, site: Site) -> None:
    """Among a page that this person may not see, and an address that is not there."""
    before = len(site.log.read_text())
    cookie = {"Cookie": f"gateline_session={signed_in(world)}"}
    refused = reverse("project-groups", args=_project(world))
    for path, status in ((refused, 403), ("/nowhere/at/all/", 404)):
        assert _status(site, path, **cookie) == status
    log = site.log.read_text()[before:]
    assert f"Forbidden (Permission denied): {refused}" in log
    assert "Traceback" not in log, log


def _status(site: Site, path: str, **headers: str) -> int:
    place = urlsplit(site.url)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=60)
    try:
        connection.request("GET", path, headers=headers)
        return connection.getresponse().status
    finally:
        connection.close()
