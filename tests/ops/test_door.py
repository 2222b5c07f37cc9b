"""What is too large, too slow or too much is refused at the door, on a real socket, and little of it is kept
(config/request_bounds.py)."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit
from urllib.request import urlopen

import pytest
from django.contrib.auth.models import AnonymousUser
from django.utils import timezone
from pytest_django import DjangoDbBlocker

from config import request_bounds, request_callers
from config.request_capacity import Capacity
from pipelines.models import ApiToken
from pipelines.work.transport.http import wire_format
from tests.factories import World
from tests.fixtures.site import ROOT, Site, environment, free_port, health, start_web, stop
from tests.pages.conftest import client_of
from tests.waiting import LONG, until

pytestmark = pytest.mark.django_db(transaction=True)
UPLOAD = "/api/v1/runner/6a3f0f8e-6f0a-4b7e-9d0f-5e6b6f2c9a10/jobs/1/files/" + "0" * 64
MANY = 4 * wire_format.MOST_DOCUMENT
PIECE = bytes(1024 * 1024)


def connected(site: Site, source: str = "127.0.0.1") -> socket.socket:
    parts = urlsplit(site.url)
    return socket.create_connection((str(parts.hostname), parts.port or 80), LONG, (source, 0))


def spoken(site: Site, head: str, pieces: Iterable[bytes] = (), source: str = "127.0.0.1") -> tuple[str, int]:
    """(what is answered, bytes that were sent): sends until the server does not want more."""
    sent = 0
    with connected(site, source) as line:
        line.sendall(f"{head}Host: localhost\r\n\r\n".encode())
        line.settimeout(LONG)
        try:
            for piece in pieces:
                line.sendall(piece)
                sent += len(piece)
        except OSError:
            pass
        return answer_of(line), sent


def answer_of(line: socket.socket) -> str:
    answer = b""
    try:
        while part := line.recv(65536):
            answer += part
    except OSError:
        pass
    return answer.decode()


def detail_of(answer: str) -> str:
    return str(json.loads(answer.partition("\r\n\r\n")[2])["detail"])


def kept(site: Site) -> int:
    """Bytes that the web process holds in files that have no name any more."""
    folder = Path(f"/proc/{site.process.pid}/fd")
    size = 0
    for file in folder.iterdir():
        try:
            if "(deleted)" in os.readlink(file):
                size += os.stat(file).st_size
        except OSError:
            continue
    return size


@pytest.fixture
def token(world: World) -> str:
    """A header with a token that is in force."""
    return f"Authorization: Bearer {world.token_of(world.operator)[1]}\r\n"


def files_of(world: World) -> str:
    return f"/api/v1/owners/{world.project.owner.key}/projects/{world.project.key}/files"


def upload(site: Site, world: World, headers: str, size: int, source: str = "127.0.0.1") -> str:
    """The answer to a file of so many bytes."""
    lead = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.bin"\r\n\r\n'
    body = lead + bytes(size) + b"\r\n--x--\r\n"
    head = f"POST {files_of(world)} HTTP/1.1\r\nConnection: close\r\n{headers}"
    head += f"Content-Type: multipart/form-data; boundary=x\r\nContent-Length: {len(body)}\r\n"
    return spoken(site, head, iter([body]), source)[0]


def test_a_length_that_is_too_large_is_refused_before_anything_comes(site: Site) -> None:
    answer, sent = spoken(site, f"PUT {UPLOAD} HTTP/1.1\r\nContent-Length: {MANY}\r\n")
    assert answer.startswith("HTTP/1.1 413 ") and sent == 0
    assert detail_of(answer) == "A request to this address may have at most 64 MB."


def chunks(site: Site, sizes: list[int]) -> Iterator[bytes]:
    for _ in range(MANY // len(PIECE)):
        yield f"{len(PIECE):x}\r\n".encode() + PIECE + b"\r\n"
        sizes.append(kept(site))


@pytest.mark.wide
def test_who_sends_without_end_is_stopped_at_the_bound(site: Site, token: str) -> None:
    """Without a length, in chunks. Of what comes after the bound nothing is kept."""
    sizes: list[int] = []
    head = f"PUT {UPLOAD} HTTP/1.1\r\n{token}Transfer-Encoding: chunked\r\n"
    answer, _sent = spoken(site, head, chunks(site, sizes))
    assert answer.startswith("HTTP/1.1 413 ") and "64 MB" in answer
    assert len(PIECE) < max(sizes) <= wire_format.MOST_DOCUMENT < MANY and kept(site) == 0


@pytest.mark.parametrize(
    "framing", [f"Content-Length: {2 * len(PIECE)}\r\n", "Transfer-Encoding: chunked\r\n"]
)
def test_somebody_unknown_may_send_one_megabyte(site: Site, framing: str) -> None:
    sizes: list[int] = []
    answer, _sent = spoken(site, f"POST /sign-in/ HTTP/1.1\r\n{framing}", chunks(site, sizes))
    assert answer.startswith("HTTP/1.1 413 ")
    assert detail_of(answer) == (
        "A request may have at most 1 MB before you sign in. Sign in, or send a valid token."
    )
    assert max(sizes, default=0) <= len(PIECE)


def test_a_token_or_a_session_has_to_be_in_force_for_more(site: Site, world: World, token: str) -> None:
    size = 3 * len(PIECE)
    assert upload(site, world, token, size).startswith("HTTP/1.1 201 ")
    wrong = upload(site, world, "Authorization: Bearer gl_wrong\r\n", size)
    assert wrong.startswith("HTTP/1.1 401 ") and "This token is not valid" in detail_of(wrong)
    session = client_of(world.operator).cookies["gateline_session"].value
    # Past the door: the application misses the key of the page that sends it.
    assert upload(site, world, f"Cookie: gateline_session={session}\r\n", size).startswith("HTTP/1.1 403 ")
    invented = upload(site, world, f"Cookie: gateline_session={'x' * 32}\r\n", size)
    assert invented.startswith("HTTP/1.1 413 ")


def test_who_was_let_in_is_known_without_the_database(
    site: Site, world: World, token: str, rf: Any, django_assert_num_queries: Any
) -> None:
    """A token that was revoked a moment ago is told by the application, which does ask."""
    small = f"GET {files_of(world)} HTTP/1.1\r\nConnection: close\r\n{token}"
    assert spoken(site, small)[0].startswith("HTTP/1.1 405 ")
    assert upload(site, world, token, 10).startswith("HTTP/1.1 201 ")
    ApiToken.objects.update(revoked_at=timezone.now())
    answer = upload(site, world, token, 3 * len(PIECE))
    assert answer.startswith("HTTP/1.1 401 ") and "WWW-Authenticate" in answer
    answer = upload(site, world, token, 3 * len(PIECE))
    assert answer.startswith("HTTP/1.1 401 ") and "WWW-Authenticate" not in answer
    request = rf.get("/", headers={"cookie": "gateline_session=abc"})
    request._cached_user = world.operator
    credential = request_callers.Credential(False, "abc")
    with django_assert_num_queries(0):
        request_callers.remember_caller(request, 200)
        assert request_callers.remembered_caller_or_none(credential) == f"person {world.operator.pk}"
        request._cached_user = AnonymousUser()
        request_callers.remember_caller(request, 200)
        assert request_callers.remembered_caller_or_none(credential) is None


@pytest.mark.wide
def test_who_sends_more_than_was_announced_is_heard_to_what_was(site: Site) -> None:
    sizes: list[int] = []

    def much() -> Iterator[bytes]:
        for _ in range(MANY // len(PIECE)):
            yield PIECE
            sizes.append(kept(site))

    answer, _sent = spoken(site, f"PUT {UPLOAD} HTTP/1.1\r\nContent-Length: 10\r\n", much())
    assert answer.startswith("HTTP/1.1 401 ")
    assert max(sizes, default=0) <= len(PIECE)


def test_an_ordinary_request_goes_through(site: Site) -> None:
    body = b"0" * 1000
    answer, _sent = spoken(
        site, f"PUT {UPLOAD} HTTP/1.1\r\nConnection: close\r\nContent-Length: {len(body)}\r\n", iter([body])
    )
    assert answer.startswith("HTTP/1.1 401 ")


def test_one_address_has_no_more_than_stays_free_and_others_go_on(
    site: Site, world: World, token: str
) -> None:
    """Bodies to the last byte but one, from an address. Another one, and whoever is known, does not notice."""
    head = f"POST /sign-in/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(PIECE)}\r\n\r\n".encode()
    lines = [connected(site, "127.0.2.1") for _ in range(request_bounds.STRANGERS.total // len(PIECE))]
    try:
        for line in lines:
            line.sendall(head + PIECE[1:])
        assert kept(site) <= request_bounds.STRANGERS.total * 3 / 8
        # On a busy machine the first bodies have come to their end, for want of pace, before the last ones are sent.
        assert any(line.recv(65536).startswith(b"HTTP/1.1 503 ") for line in reversed(lines))
        with connected(site, "127.0.2.2") as other:
            other.sendall(head + PIECE)
            assert other.recv(65536).startswith(b"HTTP/1.1 403 ")
        answer = upload(site, world, token, 3 * len(PIECE), "127.0.2.1")
        assert answer.startswith("HTTP/1.1 201 ")
    finally:
        for line in lines:
            line.close()


def test_a_few_never_use_up_a_room() -> None:
    room, greedy = Capacity(512 * 1024), [f"person {number}" for number in range(50)]
    for size in (65536, 1024, 1):
        while any(room.try_to_reserve(person, size) for person in greedy):
            pass
    assert all(room.try_to_reserve(f"another {number}", 1024) for number in range(70))
    for person, size in dict(room._shares).items():
        room.free(person, size)
    assert room.used == 0 and not room._shares
    assert room.try_to_reserve("one", 192 * 1024) and not room.try_to_reserve("one", 1)


@pytest.mark.wide
def test_what_comes_too_slowly_is_ended(site: Site) -> None:
    """A body, headers and a request line of which a little comes every second, and a body that stops."""
    starts = {
        "body": b"POST /sign-in/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 90000\r\n\r\n",
        "headers": b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
        "line": b"GET /",
        "stopped": b"POST /sign-in/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 90000\r\n\r\n"
        + bytes(80_000),
    }

    def trickle(kind: str) -> str:
        with connected(site) as line:
            line.sendall(starts[kind])
            line.settimeout(1)
            for _second in range(round(LONG)):
                try:
                    return line.recv(65536).decode()
                except TimeoutError:
                    if kind != "stopped":
                        line.sendall(b"x")
        return ""

    with ThreadPoolExecutor(len(starts)) as pool:
        for answer in pool.map(trickle, starts):
            assert answer.startswith("HTTP/1.1 408 ") and "too slowly" in answer
    assert kept(site) == 0


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (f"GET /{'x' * 17_000} HTTP/1.1\r\n", 414),
        (f"GET /{'x' * 1_000_000} HTTP/1.1\r\n", 414),
        (f"GET / HTTP/1.1\r\nCookie: {'x' * 17_000}\r\n", 431),
        (f"GET / HTTP/1.1\r\nCookie: {'x' * 9_000}\r\nX-More: {'x' * 9_000}\r\n", 431),
    ],
)
def test_a_long_request_line_and_long_headers_are_told_in_words(site: Site, head: str, status: int) -> None:
    answer, _sent = spoken(site, head)
    assert answer.startswith(f"HTTP/1.1 {status} ") and "at most 16 kB" in detail_of(answer)


def test_the_body_of_a_request_for_a_socket_is_forgotten(site: Site) -> None:
    """As many as would fill the room, one after the other."""
    upgrade = (
        "GET /live/ HTTP/1.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    )
    upgrade += f"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nContent-Length: {len(PIECE)}\r\nHost: localhost\r\n\r\n"
    for _ in range(request_bounds.STRANGERS.total // len(PIECE) // 2 + 1):
        with connected(site) as line:
            line.sendall(upgrade.encode() + PIECE)
            assert b" 503 " not in line.recv(65536).partition(b"\r\n")[0]


@contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """A file system of 3 MB."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=3m,mode=1777", "tmpfs", str(folder)]
    mounted = subprocess.run(command, capture_output=True, text=True, check=False)
    if mounted.returncode:
        pytest.skip(f"a file system that can be full needs the right to mount: {mounted.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


@contextmanager
def web_on_small_disk(folder: Path, place: str) -> Iterator[Site]:
    """A web process that has little room there."""
    with small_disk(folder / "small") as small:
        site = start_web(folder, **{place: str(small)})
        try:
            yield site
        finally:
            stop(site.process)


@pytest.fixture(scope="module")
def site_on_small_disk(
    django_db_setup: None, django_db_blocker: DjangoDbBlocker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Site]:
    """A web process with little room for bodies that are not whole yet."""
    with ExitStack() as running:
        with django_db_blocker.unblock():
            site = running.enter_context(web_on_small_disk(tmp_path_factory.mktemp("web"), "TMPDIR"))
        yield site


def check_full_disk(site: Site, world: World, token: str) -> None:
    answer = upload(site, world, token, 6 * len(PIECE))
    assert upload(site, world, token, 1000).startswith("HTTP/1.1 201 ")
    assert answer.startswith("HTTP/1.1 507 ") and "disk of this server is full" in detail_of(answer)


def test_a_full_disk_for_bodies_is_told_in_words(site_on_small_disk: Site, world: World, token: str) -> None:
    check_full_disk(site_on_small_disk, world, token)


@pytest.mark.wide
def test_a_full_disk_for_files_is_told_in_words(world: World, token: str, tmp_path: Path) -> None:
    with web_on_small_disk(tmp_path, "GATELINE_HOME") as site:
        check_full_disk(site, world, token)


def test_a_page_tells_of_a_full_disk_too(site_on_small_disk: Site, world: World) -> None:
    """The body fits, and the file in it does not fit beside it."""
    session = client_of(world.designer).cookies["gateline_session"].value
    body = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.yaml"\r\n\r\n' + 2 * PIECE
    body += b"\r\n--x--\r\n"
    head = (
        f"POST /p/{world.project.owner.key}/{world.project.key}/lines-new/ HTTP/1.1\r\nConnection: close\r\n"
    )
    head += f"Cookie: gateline_session={session}; gateline_csrf={'x' * 32}\r\n"
    head += f"Content-Type: multipart/form-data; boundary=x\r\nContent-Length: {len(body)}\r\n"
    answer, _sent = spoken(site_on_small_disk, head, iter([body]))
    assert answer.startswith("HTTP/1.1 507 ") and "The disk of this server is full" in answer
    assert "text/html" in answer


@pytest.mark.wide
def test_connections_have_a_share_for_each_address(world: World, tmp_path: Path) -> None:
    """A process that may open 512 files takes 96 connections of one address, and others go on."""
    port = free_port()
    words = ["prlimit", "--nofile=512:512", sys.executable, "manage.py", "web", "--port", str(port)]
    address = f"http://127.0.0.1:{port}"
    log = tmp_path / "web.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            words, cwd=ROOT, env=environment(PORT=str(port), BASE_URL=address), stdout=output, stderr=output
        )
    lines: list[socket.socket] = []
    try:
        until(lambda: health(address), log.read_text)
        site = Site(address, process, log)
        lines = [connected(site, "127.0.2.1") for _ in range(97)]
        assert lines[-1].recv(65536).startswith(b"HTTP/1.1 503 ")
        assert health(address) in (200, 503)
        lines[0].close()
        head = "GET /healthz HTTP/1.1\r\nConnection: close\r\n"
        until(lambda: "Too much" not in spoken(site, head, source="127.0.2.1")[0], "room for one more")
    finally:
        for line in lines:
            line.close()
        stop(process)


@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "multipart/form-data; boundary=x"])
def test_a_form_comes_as_it_was_sent(site: Site, kind: str) -> None:
    """Its fields are read by the application alone: without the one that says which page sent it, it is refused."""
    with urlopen(f"{site.url}/sign-in/") as page:
        cookie = str(page.headers["Set-Cookie"]).partition(";")[0]
    key = cookie.partition("=")[2]
    fields = {"login": "nobody@example.com", "password": "wrong", "csrfmiddlewaretoken": key}
    parts = [
        f'--x\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{said}\r\n'
        for name, said in fields.items()
    ]
    body = ("".join(parts) + "--x--\r\n" if "boundary" in kind else urlencode(fields)).encode()
    head = f"POST /sign-in/ HTTP/1.1\r\nConnection: close\r\nCookie: {cookie}\r\nContent-Type: {kind}\r\n"
    answer, _sent = spoken(site, f"{head}Content-Length: {len(body)}\r\n", iter([body]))
    assert answer.startswith("HTTP/1.1 422 ")
    answer, _sent = spoken(site, f"{head}Content-Length: 3\r\n", iter([b"a=b"]))
    assert answer.startswith("HTTP/1.1 403 ")
