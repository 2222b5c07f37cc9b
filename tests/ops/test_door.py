"""What is too large is refused at the door, on a real socket, and little of it is kept (config/door.py)."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import urlencode, urlsplit
from urllib.request import urlopen

import pytest

from config import door
from pipelines.work.transport.http import wire
from tests.fixtures.site import Site
from tests.waiting import LONG

pytestmark = pytest.mark.django_db(transaction=True)
UPLOAD = "/api/v1/runner/6a3f0f8e-6f0a-4b7e-9d0f-5e6b6f2c9a10/jobs/1/files/" + "0" * 64
MANY = 4 * wire.MOST_DOCUMENT
PIECE = bytes(1024 * 1024)


def spoken(site: Site, head: str, pieces: Iterable[bytes] = ()) -> tuple[str, int]:
    """(what is answered, bytes that were sent): sends until the server does not want more."""
    parts, sent = urlsplit(site.url), 0
    with socket.create_connection((str(parts.hostname), parts.port or 80), LONG) as line:
        line.sendall(f"{head}Host: localhost\r\n\r\n".encode())
        line.settimeout(LONG)
        try:
            for piece in pieces:
                line.sendall(piece)
                sent += len(piece)
        except OSError:
            pass
        said = b""
        try:
            while part := line.recv(65536):
                said += part
        except OSError:
            pass
    return said.decode(), sent


def kept(site: Site) -> int:
    """Bytes that the web process holds in files that have no name any more."""
    folder = Path(f"/proc/{site.process.pid}/fd")
    found = 0
    for each in folder.iterdir():
        try:
            if "(deleted)" in os.readlink(each):
                found += os.stat(each).st_size
        except OSError:
            continue
    return found


def test_a_length_that_is_too_large_is_refused_before_anything_comes(site: Site) -> None:
    said, sent = spoken(site, f"PUT {UPLOAD} HTTP/1.1\r\nContent-Length: {MANY}\r\n")
    head, _blank, body = said.partition("\r\n\r\n")
    assert head.startswith("HTTP/1.1 413 ") and sent == 0
    assert json.loads(body)["detail"] == "A request to this address may have at most 64 MB."


@pytest.mark.wide
def test_who_sends_without_end_is_stopped_at_the_bound(site: Site) -> None:
    """Without a length, in chunks. Of what comes after the bound nothing is kept."""
    most: list[int] = []

    def chunks() -> Iterator[bytes]:
        for _ in range(MANY // len(PIECE)):
            yield f"{len(PIECE):x}\r\n".encode() + PIECE + b"\r\n"
            most.append(kept(site))

    said, _sent = spoken(site, f"PUT {UPLOAD} HTTP/1.1\r\nTransfer-Encoding: chunked\r\n", chunks())
    assert said.startswith("HTTP/1.1 413 ") and "64 MB" in said
    assert 0 < max(most) <= wire.MOST_DOCUMENT < MANY and kept(site) == 0


@pytest.mark.wide
def test_who_sends_more_than_was_said_is_heard_to_what_was_said(site: Site) -> None:
    most: list[int] = []

    def much() -> Iterator[bytes]:
        for _ in range(MANY // len(PIECE)):
            yield PIECE
            most.append(kept(site))

    said, sent = spoken(site, f"PUT {UPLOAD} HTTP/1.1\r\nContent-Length: 10\r\n", much())
    assert said.startswith("HTTP/1.1 401 ") and sent < MANY
    assert max(most, default=0) <= len(PIECE)


def test_an_ordinary_request_goes_through(site: Site) -> None:
    body = b"0" * 1000
    said, _sent = spoken(
        site, f"PUT {UPLOAD} HTTP/1.1\r\nConnection: close\r\nContent-Length: {len(body)}\r\n", iter([body])
    )
    assert said.startswith("HTTP/1.1 401 ")


@pytest.mark.wide
def test_all_that_is_under_way_has_a_bound(site: Site) -> None:
    """Many that keep to theirs would fill the disk together: the last of them is asked to come again."""
    parts, lines, answers = urlsplit(site.url), [], []
    for _ in range(door.TOGETHER // wire.MOST_DOCUMENT + 1):
        line = socket.create_connection((str(parts.hostname), parts.port or 80), LONG)
        lines.append(line)
        size = wire.MOST_DOCUMENT
        line.sendall(f"PUT {UPLOAD} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {size}\r\n\r\n".encode())
        try:
            for _piece in range(size // len(PIECE) - 1):
                line.sendall(PIECE)
            line.sendall(PIECE[1:])  # all but its last byte
            line.settimeout(0.5)
            answers.append(line.recv(65536).decode())
        except TimeoutError:
            continue
        except OSError:
            answers.append(line.recv(65536).decode())
    for line in lines:
        line.close()
    assert answers and all(each.startswith("HTTP/1.1 503 ") for each in answers)
    assert "Retry-After" in answers[0]


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
    said, _sent = spoken(site, f"{head}Content-Length: {len(body)}\r\n", iter([body]))
    assert said.startswith("HTTP/1.1 422 ")
    said, _sent = spoken(site, f"{head}Content-Length: 3\r\n", iter([b"a=b"]))
    assert said.startswith("HTTP/1.1 403 ")
