"""What goes over the wire: nothing after the answer to HEAD. A real web process."""

from __future__ import annotations

import hashlib
import re
import socket
import uuid
from collections.abc import Callable
from urllib.parse import urlsplit

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import storages
from django.urls import reverse
from django.utils import timezone

from pipelines import engine, logs
from pipelines.models import Artifact, Blob, Task
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
        writer.append(f"0\t{FORGED.decode()}\n".replace("\r\n", " "), timezone.now())
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
