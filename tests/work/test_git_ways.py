"""The ways to a repository: a server over HTTP that asks for a token, and ssh with a key of its own."""

from __future__ import annotations

import base64
import os
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import pytest
from dulwich.client import HTTPUnauthorized
from dulwich.errors import GitProtocolError
from dulwich.repo import Repo
from dulwich.server import DictBackend
from dulwich.web import make_wsgi_chain

from pipelines.ports.server_folders import ServerFolders
from pipelines.work.git import bounds, ssh
from pipelines.work.git import remote as remote_module
from pipelines.work.git.addresses import RepositoryAddress, parsed_repository_address
from pipelines.work.git.probe import Probe
from pipelines.work.git.refusals import GitRefused
from pipelines.work.git.remote import Remote
from pipelines.work.outgoing.git_client import HttpsGitClient
from pipelines.work.outgoing.guard import Guard, RefusedAddress
from tests.waiting import LONG
from tests.work.remotes import RemoteRepository, remote

TOKEN = "a-token-of-a-test"
LISTED = Guard(("127.0.0.1",))


class Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # its name there
        """No line for each request."""


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[str, RemoteRepository]]:
    """The address of a server that lets nobody in without the token."""
    made = remote(tmp_path / "it.git", {"a": b"1"})
    with closing(Repo(str(made.path))) as repo:
        git = make_wsgi_chain(DictBackend({"/it.git": repo}))
        wanted = "Basic " + base64.b64encode(f"x-access-token:{TOKEN}".encode()).decode()

        def app(environ: dict[str, Any], start: Any) -> Any:
            if environ.get("HTTP_AUTHORIZATION") != wanted:
                start("401 Unauthorized", [("WWW-Authenticate", "Basic")])
                return [b""]
            return git(environ, start)

        server: WSGIServer = make_server("127.0.0.1", 0, app, handler_class=Quiet)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/it.git", made
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_server_is_asked_with_the_token_and_nothing_without(served: tuple[str, RemoteRepository]) -> None:
    address, made = served
    with closing(HttpsGitClient(address, LISTED, 10, "x-access-token", TOKEN)) as client:
        assert client.get_refs(b"").refs[b"refs/heads/main"] == made.head().encode()
    with closing(HttpsGitClient(address, LISTED, 10)) as client, pytest.raises(HTTPUnauthorized):
        client.get_refs(b"")


def test_a_private_server_is_refused_unless_it_is_listed(served: tuple[str, RemoteRepository]) -> None:
    address, _made = served
    with (
        closing(HttpsGitClient(address, Guard(), 10)) as client,
        pytest.raises(RefusedAddress, match="private"),
    ):
        client.get_refs(b"")


@contextmanager
def unfinished(begins: bytes) -> Iterator[int]:
    """The port of a server that begins an answer and never ends it."""
    over = threading.Event()
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        there, _address = listener.accept()
        with there, suppress(OSError):
            there.sendall(begins)
            over.wait(LONG)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        over.set()
        thread.join()
        listener.close()


@pytest.mark.parametrize(
    ("scheme", "begins"),
    [
        ("http", b"HTTP/1.1 200 OK\r\nx-head: "),
        ("http", b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5;"),
        ("https", b"\x16\x03\x03\x40\x00"),
    ],
)
def test_a_server_that_does_not_end_is_left_when_its_time_is_over(scheme: str, begins: bytes) -> None:
    with (
        unfinished(begins) as port,
        # It may be silent for so long that only the time of the whole ends it, as where it sends a byte at a time.
        closing(
            HttpsGitClient(f"{scheme}://127.0.0.1:{port}/it.git", LISTED, LONG, total_seconds=0.3)
        ) as client,
        pytest.raises(GitProtocolError, match="did not finish within 1 s"),
    ):
        client.get_refs(b"")


FAKE = """#!{python}
# What an ssh server would do with the command; the options are kept for the test.
import os, shlex, sys
words = sys.argv[1:]
open({kept!r}, "a").write("\\n".join(words) + "\\n")
key = words[words.index("-i") + 1]
open({kept!r}, "a").write("mode %o\\n" % (os.stat(key).st_mode & 0o777) + open(key).read())
program, path = shlex.split(words[-1])
os.execvp("git", ["git", program.removeprefix("git-"), path])
"""


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What a program called ssh was called with."""
    folder, told = tmp_path / "bin", tmp_path / "told"
    folder.mkdir()
    (folder / "ssh").write_text(FAKE.format(python=sys.executable, kept=str(told)))
    (folder / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return told


@pytest.mark.git
def test_ssh_gets_the_key_and_the_address_that_was_checked(tmp_path: Path, kept: Path) -> None:
    async def resolve(host: str, port: int) -> list[str]:
        return ["192.0.2.7"]

    made = remote(tmp_path / "it.git", {"a": b"1"})
    address = parsed_repository_address(f"ssh://deploy@git.example:2222{made.path}", ServerFolders())
    guard = Guard(("git.example",), resolve)
    far = Remote(address, guard, "THE KEY", tmp_path / "known_hosts")
    assert far.read_references().branch_commit("main") == made.head()
    said = kept.read_text()
    alias = "HostKeyAlias=[git.example]:2222\n"  # of another port another server may have the keys
    for each in ("-F\n/dev/null", "HostName=192.0.2.7", alias, "IdentitiesOnly=yes"):
        assert each in said
    assert "deploy@git.example\n" in said and "mode 600\nTHE KEY\n" in said
    assert [(found.check, found.ok) for found in Probe(far, "", True).run_all_checks()] == [
        ("reach", True),
        ("branch", True),
        ("push", True),
        ("files", True),
    ]
    with pytest.raises(GitRefused, match="private address"):
        Remote(address, Guard((), resolve), "THE KEY").read_references()
    with pytest.raises(GitRefused, match="needs a deploy key"):
        Remote(address, guard).read_references()


async def there(host: str, port: int) -> list[str]:
    return ["192.0.2.7"]


@pytest.mark.parametrize(
    ("program", "why"),
    [
        ("import time; time.sleep(60)", "did not finish within 1 s"),
        (
            "import sys\nwhile True: sys.stdout.write('003d' + 'a' * 40 + ' refs/heads/main\\n')",
            "of its branches",
        ),
    ],
)
def test_a_server_that_never_ends_is_left(
    tmp_path: Path, kept: Path, monkeypatch: pytest.MonkeyPatch, program: str, why: str
) -> None:
    monkeypatch.setattr(bounds, "MOST_SAID", 100_000)
    (tmp_path / "bin/ssh").write_text(f"#!{sys.executable}\n{program}\n")
    address = parsed_repository_address("ssh://git.example/app.git", ServerFolders())
    far = Remote(address, Guard(("git.example",), there), "KEY", seconds=0.2)
    with pytest.raises(GitRefused, match=why):
        far.read_references()


def asking_for_thin(client: HttpsGitClient) -> HttpsGitClient:
    """The server of these tests insists."""
    client._fetch_capabilities.add(b"thin-pack")
    return client


def test_only_what_is_no_object_counts(
    served: tuple[str, RemoteRepository], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    address, made = served
    head = made.add({"large": os.urandom(1_200_000)})
    # More than is read ahead of what is written, which depends on how the pieces come.
    monkeypatch.setattr(bounds, "MOST_SAID", 400_000)
    far = Remote(RepositoryAddress(address, "https", ""), LISTED, TOKEN)
    monkeypatch.setattr(
        remote_module,
        "HttpsGitClient",
        lambda url, *more, **named: asking_for_thin(HttpsGitClient(address, *more, **named)),
    )
    with closing(Repo.init_bare(str(tmp_path / "into"), mkdir=True)) as into:
        far.fetch(into, [head], 1_400_000, lambda text: None)
        assert head.encode() in into
    monkeypatch.setattr(bounds, "MOST_SAID", 100)
    with pytest.raises(GitRefused, match="of its branches"):
        far.read_references()


def test_ssh_that_is_not_there_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ssh.shutil, "which", lambda name: None)
    with pytest.raises(GitRefused, match="has no ssh"):
        Remote(
            parsed_repository_address("git@git.example:team/app.git", ServerFolders()), Guard(), "KEY"
        ).read_references()
