"""What repository-checkout does not take, and that it says what it would take instead."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from wsgiref.simple_server import WSGIRequestHandler, make_server

import pytest
from dulwich.errors import GitProtocolError
from dulwich.server import DictBackend
from dulwich.web import make_wsgi_chain

from pipelines.demo.stations import git_dulwich, git_system, way_out
from pipelines.demo.stations.report import StationError
from pipelines.demo.stations.source import Address, revision, source
from pipelines.work.outgoing.guard import Guard
from tests.demo.conftest import Workspace
from tests.demo.repositories import GOOD, Repository
from tests.demo.test_checkout import needs_git
from tests.outgoing.servers import say, serving

Make = Callable[..., Repository]


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("", "empty"),
        ("   ", "empty"),
        ("--upload-pack=touch sprung", "dash"),
        ("-o", "dash"),
        ("ext::sh -c touch% sprung", "transport::address"),
        ("fd::17", "transport::address"),
        ("file:///etc", "folder itself"),
        ("git://example.com/it", "transport git:"),
        ("http://example.com/it", "transport http:"),
        ("https://", "no host"),
        ("https://user:secret@example.com/it", "passwords"),
        ("https://token@example.com/it", "passwords"),
        ("ssh://-oProxyCommand=touch%20sprung/it", "no host"),
        ("ssh://-oProxyCommand=x@example.com/it", "plain name"),
        ("-oProxyCommand=touch@example.com:it", "dash"),
        ("https://example.com:99999/it", "cannot be read"),
        ("https://example.com/it?x=1", "?"),
        ("sums", "neither"),
        ("./sums", "neither"),
        ("../sums", "neither"),
        ("~/sums", "neither"),
        ("/srv/a\nb", "control character"),
        ("/etc", "folder the worker may read"),
        ("/no/such/place", "folder the worker may read"),
        ("/proc/self/cwd", "folder the worker may read"),
    ],
)
def test_it_refuses_what_is_no_folder_and_no_address(tmp_path: Path, value: str, says: str) -> None:
    with pytest.raises(StationError) as refused:
        source(value, [str(tmp_path)])
    assert refused.value.failure_type == "refused"
    assert says in str(refused.value)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    "value", ["--upload-pack=touch sprung", "ext::sh -c touch% sprung", "-oProxyCommand=x"]
)
def test_the_station_starts_nothing_for_a_hostile_value(workspace: Workspace, value: str) -> None:
    done = workspace.checkout(value)
    assert (done.code, done.document["verdict"]) == (1, "fail")
    assert done.document["failure_type"] == "refused"
    assert not list(workspace.folder.rglob("sprung"))


@pytest.mark.parametrize(
    "value",
    [
        "--upload-pack=x",
        "-h",
        "a..b",
        "a b",
        "HEAD~1",
        "HEAD^{tree}",
        "main:sums.py",
        "@{u}",
        "a\nb",
        "*",
        "x.lock",
        ":/x",
    ],
)
def test_it_refuses_a_revision_that_is_more_than_a_name(value: str) -> None:
    with pytest.raises(StationError, match="branch") as refused:
        revision(value)
    assert refused.value.failure_type == "refused"


def test_a_hostile_revision_reaches_no_git(workspace: Workspace, repository: Make) -> None:
    done = workspace.checkout(repository(GOOD), "--upload-pack=touch sprung")
    assert done.document["failure_type"] == "refused"
    assert not list(workspace.folder.rglob("sprung"))


def test_a_folder_outside_the_listed_roots_is_refused(workspace: Workspace, tmp_path: Path) -> None:
    outside = Repository(tmp_path / "elsewhere", GOOD)
    done = workspace.checkout(outside)
    assert done.document["failure_type"] == "refused"
    assert "REPOSITORY_ROOTS" in done.summary


@pytest.mark.wide
def test_a_link_that_leads_out_of_the_roots_is_refused(workspace: Workspace, tmp_path: Path) -> None:
    outside = Repository(tmp_path / "elsewhere", GOOD)
    workspace.roots.mkdir()
    (workspace.roots / "link").symlink_to(outside.folder)
    for value in (workspace.roots / "link", workspace.roots / ".." / "elsewhere"):
        assert workspace.checkout(value).document["failure_type"] == "refused"


def test_a_git_folder_that_lies_out_of_the_roots_is_refused(workspace: Workspace, tmp_path: Path) -> None:
    outside = Repository(tmp_path / "elsewhere", GOOD)
    inside = workspace.roots / "inside"
    inside.mkdir(parents=True)
    (inside / ".git").write_text(f"gitdir: {outside.folder / '.git'}\n")
    assert workspace.checkout(inside).document["failure_type"] == "refused"
    (inside / ".git").unlink()
    (inside / ".git").symlink_to(outside.folder / ".git")
    assert workspace.checkout(inside).document["failure_type"] == "refused"


def test_objects_borrowed_from_outside_the_roots_are_refused(
    workspace: Workspace, repository: Make, tmp_path: Path
) -> None:
    outside = Repository(tmp_path / "elsewhere", GOOD)
    made = repository(GOOD)
    info = made.folder / ".git" / "objects" / "info"
    info.mkdir(exist_ok=True)
    (info / "alternates").write_text(f"{outside.folder / '.git' / 'objects'}\n")
    assert workspace.checkout(made).document["failure_type"] == "refused"


def test_a_plain_folder_is_told_how_to_become_a_repository(workspace: Workspace, tmp_path: Path) -> None:
    plain = workspace.roots / "plain"
    plain.mkdir(parents=True)
    (plain / "a.py").write_text("x = 1\n")
    done = workspace.checkout(plain)
    assert done.document["failure_type"] == "not_a_repository"
    assert "git init" in done.summary
    assert not (workspace.folder / "tree").exists()


def test_a_folder_that_is_not_there_says_so(workspace: Workspace) -> None:
    workspace.roots.mkdir()
    done = workspace.checkout(workspace.roots / "gone")
    assert done.document["failure_type"] == "not_a_repository"
    assert "no folder" in done.summary


@pytest.mark.parametrize(
    "address", ["https://localhost/it", "ssh://git@[::ffff:10.0.0.1]/it", "git@127.0.0.1:it"]
)
def test_private_addresses_are_refused(workspace: Workspace, address: str) -> None:
    done = workspace.checkout(address)
    assert done.document["failure_type"] == "refused"
    assert "PRIVATE_HOSTS" in done.summary


@pytest.mark.wide
def test_a_listed_private_address_is_tried(workspace: Workspace) -> None:
    with socket.socket() as taken:  # bound, not listening: nobody answers
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        for listed in ("127.0.0.1", "localhost 127.0.0.0/8"):
            done = workspace.checkout(f"https://127.0.0.1:{port}/it", GATELINE_PRIVATE_HOSTS=listed)
            assert done.document["failure_type"] == "unreachable"


def test_an_unknown_host_is_unreachable(workspace: Workspace) -> None:
    done = workspace.checkout("https://nobody.invalid/it")
    assert done.document["failure_type"] == "unreachable"


def test_ssh_without_git_says_what_to_install(without_git: Workspace) -> None:
    done = without_git.checkout("git@127.0.0.1:it", GATELINE_PRIVATE_HOSTS="127.0.0.1")
    assert done.document["failure_type"] == "missing_tool"
    assert "install git" in done.summary


def test_an_scp_address_is_an_ssh_address() -> None:
    found = source("git@example.com:group/it.git", [])
    assert found == Address("ssh://git@example.com/group/it.git", "ssh", "example.com", 22)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[Repository, Address]]:
    """A repository behind a real HTTP server. Plain HTTP: `source` never lets such an address through."""
    made = Repository(tmp_path / "served", GOOD)

    class Quiet(WSGIRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    server = make_server("127.0.0.1", 0, make_wsgi_chain(DictBackend({"/it": made.git})), handler_class=Quiet)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    port = server.server_port
    yield made, Address(f"http://127.0.0.1:{port}/it", "http", "127.0.0.1", port)
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("wanted", ["HEAD", "main", "number"])
@needs_git
def test_git_fetches_over_the_network(
    served: tuple[Repository, Address], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wanted: str
) -> None:
    monkeypatch.setenv("GATELINE_PRIVATE_HOSTS", "127.0.0.1")
    made, address = served
    head = made.git.head().decode()
    found = git_system.Git(address, tmp_path, 60).fetch(head if wanted == "number" else wanted)
    assert found.commit == head


@pytest.mark.parametrize("wanted", ["HEAD", "main", "number", "short"])
def test_dulwich_fetches_over_the_network(
    served: tuple[Repository, Address], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wanted: str
) -> None:
    monkeypatch.setenv("GATELINE_PRIVATE_HOSTS", "127.0.0.1")
    made, address = served
    head = made.git.head().decode()
    fetcher = git_dulwich.Dulwich(address, tmp_path, 60)
    found = fetcher.remote(address, {"number": head, "short": head[:8]}.get(wanted, wanted))
    assert found.commit == head


def test_a_name_that_turns_private_after_the_check_is_not_followed(
    served: tuple[Repository, Address], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Public for the check, private for the connection: each connection of the client checks again."""
    _, address = served
    answers = iter([["93.184.216.34"], ["127.0.0.1"]])

    async def changing(host: str, port: int) -> list[str]:
        return next(answers)

    turning = Guard(resolve=changing)
    monkeypatch.setattr(way_out, "guard", lambda: turning)
    monkeypatch.setattr(git_dulwich, "guard", lambda: turning)
    assert way_out.checked(address) == "93.184.216.34"
    with pytest.raises(StationError, match="private address") as refused:
        git_dulwich.Dulwich(address, tmp_path, 60).remote(address, "HEAD")
    assert refused.value.failure_type == "refused"


def test_dulwich_follows_no_redirect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GATELINE_PRIVATE_HOSTS", "127.0.0.1")
    with serving(lambda to, asked: say(to, 200, b"inside")) as inside:
        away = lambda to, asked: say(to, 302, location=f"{inside.url}/info/refs")  # noqa: E731
        with serving(away) as outside:
            address = Address(f"{outside.url}/it", "http", "127.0.0.1", outside.port)
            with pytest.raises(GitProtocolError, match="302"):
                git_dulwich.Dulwich(address, tmp_path, 60).remote(address, "HEAD")
        assert inside.asked == []


@pytest.mark.smoke(2)
@pytest.mark.parametrize(
    "address",
    [
        "https://192.88.99.1/it",
        "https://[64:ff9b::808:808]/it",
        "ssh://git@[64:ff9b:1::808:808]/it",
        "https://[2002::1]/it",
    ],
)
def test_what_is_nobodys_on_the_internet_is_refused(workspace: Workspace, address: str) -> None:
    assert workspace.checkout(address).document["failure_type"] == "refused"


def test_a_listed_nat64_prefix_does_not_lead_inside(workspace: Workspace) -> None:
    done = workspace.checkout("https://[64:ff9b::7f00:1]/it", GATELINE_NAT64_PREFIXES="64:ff9b::/96")
    assert done.document["failure_type"] == "refused"
