"""What repository-checkout does not take, and that it says what it would take instead."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from wsgiref.simple_server import WSGIRequestHandler, make_server

import pytest
from dulwich.server import DictBackend
from dulwich.web import make_wsgi_chain

from pipelines.demo.stations import git_dulwich, git_system, network
from pipelines.demo.stations.report import StationError
from pipelines.demo.stations.source import Address, revision, source
from tests.demo.conftest import Workspace
from tests.demo.repositories import GOOD, Repository
from tests.demo.test_checkout import needs_git

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
        ("/etc", "listed root"),
        ("/no/such/place", "listed root"),
        ("/proc/self/cwd", "listed root"),
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
    monkeypatch.setattr(socket, "getaddrinfo", socket.getaddrinfo)  # guarded below: put back afterwards
    made, address = served
    head = made.git.head().decode()
    fetcher = git_dulwich.Dulwich(address, tmp_path, 60)
    found = fetcher.remote(address, {"number": head, "short": head[:8]}.get(wanted, wanted))
    assert found.commit == head


def test_a_name_that_turns_private_after_the_check_is_not_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", socket.getaddrinfo)
    network.guard([])
    with pytest.raises(OSError, match="private address"):
        socket.create_connection(("localhost", 1), timeout=1)


@pytest.mark.parametrize(
    ("address", "listed", "allowed"),
    [
        ("93.184.216.34", [], True),
        ("10.1.2.3", [], False),
        ("10.1.2.3", ["10.1.0.0/16"], True),
        ("10.2.2.3", ["10.1.0.0/16"], False),
        ("10.2.2.3", ["Git.Internal"], True),
        ("::1", [], False),
        ("fd00::1", [], False),
        ("fe80::1", [], False),
        ("::ffff:127.0.0.1", [], False),
        ("0.0.0.0", [], False),
        ("224.0.0.1", [], False),
        ("169.254.169.254", [], False),
        ("100.64.0.1", [], False),
        ("2606:2800:220:1::1", [], True),
    ],
)
def test_which_addresses_are_private(address: str, listed: list[str], allowed: bool) -> None:
    assert network.allowed("git.internal", address, listed) is allowed


def test_a_host_with_one_private_address_among_public_ones_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers = [(2, 1, 6, "", (place, 443)) for place in ("93.184.216.34", "192.168.0.1")]
    monkeypatch.setattr(network, "resolve", lambda *_a, **_k: answers)
    with pytest.raises(StationError, match=r"192\.168\.0\.1"):
        network.reachable("example.com", 443, [])
