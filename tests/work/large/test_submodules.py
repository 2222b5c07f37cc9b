"""Submodules: each at its pinned commit for a station, a moved pin in the review, and nothing of what they may ask."""

from __future__ import annotations

import subprocess
from contextlib import closing
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest
from dulwich.objects import ObjectID, Tree
from dulwich.refs import HEADREF
from dulwich.repo import Repo

from pipelines.ports.server_folders import ServerFolders
from pipelines.work.git.refusals import GitRefused
from pipelines.work.git.submodules import checkout
from pipelines.work.git.submodules.modules import submodules_by_path
from pipelines.work.outgoing.guard import Guard
from tests.work.large.conftest import LISTED, TOKEN, Visits
from tests.work.large.git_host import GitHost
from tests.work.large.test_large_files import ATTRIBUTES, PICTURE, pointer_of, store_beside
from tests.work.remotes import RemoteRepository, folders, remote

SUBMODULE = 0o160000


def modules(*entries: tuple[str, str]) -> bytes:
    texts = (f'[submodule "{path}"]\n\tpath = {path}\n\turl = {url}\n' for path, url in entries)
    return "".join(texts).encode()


def pin(origin: RemoteRepository, path: str, commit: str, text: bytes | None = None) -> str:
    """Set a submodule in the last commit of main, by another one."""
    with closing(Repo(str(origin.path))) as repo:
        tree = repo[origin.commit().tree]
        assert isinstance(tree, Tree)
        made = [(tree, "")]
        *above, name = path.split("/")
        for part in above:
            inner = repo[made[-1][0][part.encode()][1]] if part.encode() in made[-1][0] else Tree()
            assert isinstance(inner, Tree)
            made.append((inner, part))
        made[-1][0].add(name.encode(), SUBMODULE, ObjectID(commit.encode()))
        repo.object_store.add_object(made[-1][0])
        for (outer, _), (inner, part) in zip(reversed(made[:-1]), reversed(made), strict=False):
            outer.add(part.encode(), 0o040000, inner.id)
            repo.object_store.add_object(outer)
        top = origin.commit().copy()
        top.tree, top.parents = made[0][0].id, [ObjectID(origin.head().encode())]
        repo.object_store.add_object(top)
        repo.refs[b"refs/heads/main"] = top.id  # type: ignore[index]
        return top.id.decode()


def with_library(folder: Path, url: str, **more: bytes) -> tuple[RemoteRepository, RemoteRepository]:
    """A repository with a submodule at `lib/one`, and that one."""
    library = remote(folder / "library.git", {"one.c": b"int one;\n", "two.c": b"int two;\n"})
    origin = remote(folder / "app.git", {".gitmodules": modules(("lib/one", url)), "app.py": b"1\n", **more})
    pin(origin, "lib/one", library.head())
    return origin, library


@pytest.fixture
def folder(tmp_path: Path) -> tuple[Visits, RemoteRepository, RemoteRepository]:
    origin, library = with_library(tmp_path, "../library.git")
    allowed = folders(origin.path, library.path)
    return Visits(tmp_path, str(origin.path), folders=allowed), origin, library


@pytest.fixture
def served(host: GitHost, tmp_path: Path) -> tuple[Visits, RemoteRepository, RemoteRepository]:
    origin, library = with_library(tmp_path / "host", "../library.git")
    return Visits(tmp_path, host.url("app.git"), TOKEN), origin, library


@pytest.fixture(params=["folder", "served"])
def task(request: pytest.FixtureRequest) -> tuple[Visits, RemoteRepository, RemoteRepository]:
    found: tuple[Visits, RemoteRepository, RemoteRepository] = request.getfixturevalue(request.param)
    return found


def go_to(workspace: Path, path: str, library: RemoteRepository, commit: str) -> None:
    """What `git fetch` and `git checkout` do in the folder of a submodule."""
    with closing(Repo(str(workspace / path))) as own, closing(Repo(str(library.path))) as there:
        there.fetch(own, determine_wants=lambda refs, depth=None: [ObjectID(commit.encode())])
        own.refs.remove_if_equals(HEADREF, None)
        own.refs[HEADREF] = ObjectID(commit.encode())
        for entry in there.object_store.iter_tree_contents(there[ObjectID(commit.encode())].tree):  # type: ignore[attr-defined]
            (workspace / path / entry.path.decode()).write_bytes(there[entry.sha].data)  # type: ignore[attr-defined]


def test_a_station_gets_each_submodule_at_its_pinned_commit(
    task: tuple[Visits, RemoteRepository, RemoteRepository],
) -> None:
    visits, origin, library = task
    pinned = library.head()
    library.add({"one.c": b"int later;\n"})
    ready, workspace = visits.begin()
    assert (workspace / "lib/one/one.c").read_bytes() == b"int one;\n"
    with closing(Repo(str(workspace / "lib/one"))) as own:
        assert own.head() == pinned.encode()
    (workspace / "app.py").write_text("2\n")
    # What is built there is no part of the change
    (workspace / "lib/one/one.o").write_bytes(b"built")
    visits.end(ready, workspace)
    assert visits.facts["paths"] == ["app.py"]
    assert not any(path.startswith("lib/one/") for path in visits.shown())
    # The next station, in the same folder and in a new one
    for again in (workspace, None):
        ready, there = visits.begin(again)
        assert sorted(path.name for path in (there / "lib/one").iterdir()) == [".git", "one.c", "two.c"]
        visits.end(ready, there)
    assert visits.deliver().tree == origin.commit().tree.decode()
    with closing(Repo(str(origin.path))) as repo:
        lib = repo[origin.commit().tree][b"lib"][1]  # type: ignore[index]
        assert repo[lib][b"one"] == (SUBMODULE, pinned.encode())  # type: ignore[index]


def test_a_moved_pin_is_shown_as_the_commit_before_and_after(
    task: tuple[Visits, RemoteRepository, RemoteRepository],
) -> None:
    visits, origin, library = task
    old, new = library.head(), library.add({"one.c": b"int newer;\n", "two.c": b"int two;\n"})
    ready, workspace = visits.begin()
    go_to(workspace, "lib/one", library, new)
    visits.end(ready, workspace)
    assert visits.facts["paths"] == ["lib/one"]
    assert (visits.facts["insertions"], visits.facts["deletions"]) == (1, 1)
    assert visits.left is not None
    before, after = visits.left.before["lib/one"], visits.shown()["lib/one"]
    assert visits.files[before["digest"]].read_text() == f"Subproject commit {old}\n"
    assert visits.files[after["digest"]].read_text() == f"Subproject commit {new}\n"
    ready, workspace = visits.begin()
    assert (workspace / "lib/one/one.c").read_bytes() == b"int newer;\n"
    visits.end(ready, workspace)
    assert visits.deliver().tree == origin.commit().tree.decode()


def test_a_commit_that_was_made_in_a_submodule_is_not_published(
    task: tuple[Visits, RemoteRepository, RemoteRepository],
) -> None:
    visits, _origin, library = task
    ready, workspace = visits.begin()
    (workspace / "lib/one/one.c").write_bytes(b"int mine;\n")
    with closing(Repo(str(workspace / "lib/one"))) as own:
        own.get_worktree().stage([b"one.c"])
        made = own.get_worktree().commit(message=b"Mine", committer=b"A <a@b.c>", author=b"A <a@b.c>")
    with pytest.raises(GitRefused) as refused:
        visits.end(ready, workspace)
    assert f"Submodule lib/one: Its remote does not have the commit {made.decode()[:12]}" in str(
        refused.value
    )
    assert "Push it there, or set the submodule to a commit that is there." in str(refused.value)
    assert refused.value.failure_type == "submodule_changed" and made.decode() not in library.history()


@pytest.mark.parametrize("how", ["changed", "removed", "linked"])
def test_what_a_station_changes_in_a_submodule_is_not_lost_without_a_word(
    folder: tuple[Visits, RemoteRepository, RemoteRepository], how: str
) -> None:
    visits, _origin, _library = folder
    ready, workspace = visits.begin()
    place = workspace / "lib/one/two.c"
    place.unlink()
    if how == "changed":
        place.write_text("int other;\n")
    if how == "linked":
        place.symlink_to("one.c")
    with pytest.raises(GitRefused, match=r"what a station changes in it is not kept: two\.c\. Leave it"):
        visits.end(ready, workspace)


def test_a_submodule_that_is_taken_out_or_added_is_part_of_the_tree(
    tmp_path: Path, folder: tuple[Visits, RemoteRepository, RemoteRepository]
) -> None:
    visits, origin, library = folder
    ready, workspace = visits.begin()
    subprocess.run(["rm", "-rf", str(workspace / "lib/one")], check=True)
    (workspace / ".gitmodules").write_bytes(modules(("new", "../library.git")))
    # As `git submodule add` leaves it: its git folder is below that of the repository around it
    (workspace / "new").mkdir()
    git_folder = workspace / ".git/modules/new"
    git_folder.mkdir(parents=True)
    (git_folder / "HEAD").write_text(library.head() + "\n")
    (workspace / "new/.git").write_text("gitdir: ../.git/modules/new\n")
    for name, data in library.files().items():
        (workspace / "new" / name).write_bytes(data)
    visits.end(ready, workspace)
    assert visits.facts["paths"] == [".gitmodules", "lib/one", "new"]
    visits.deliver()
    with closing(Repo(str(origin.path))) as repo:
        tree = repo[origin.commit().tree]
        assert b"lib" not in tree and tree[b"new"] == (SUBMODULE, library.head().encode())  # type: ignore[operator,index]


def test_submodules_of_submodules_and_their_large_files(tmp_path: Path) -> None:
    inner = remote(
        tmp_path / "inner.git", {".gitattributes": ATTRIBUTES, "logo.bin": pointer_of(PICTURE).text}
    )
    store_beside(inner, PICTURE)
    middle = remote(
        tmp_path / "middle.git", {".gitmodules": modules(("deps/inner", "../inner.git")), "m": b"m"}
    )
    pin(middle, "deps/inner", inner.head())
    origin = remote(
        tmp_path / "app.git", {".gitmodules": modules(("middle", "../middle.git")), "app.py": b"1\n"}
    )
    pin(origin, "middle", middle.head())
    visits = Visits(tmp_path, str(origin.path), folders=folders(origin.path, middle.path, inner.path))
    ready, workspace = visits.begin()
    assert (workspace / "middle/deps/inner/logo.bin").read_bytes() == PICTURE
    assert ready.modules.git_folders == ("middle/.git", "middle/deps/inner/.git")
    visits.end(ready, workspace)
    assert visits.facts["paths"] == []


def test_two_sides_that_moved_one_pin_are_in_conflict(
    folder: tuple[Visits, RemoteRepository, RemoteRepository],
) -> None:
    visits, origin, library = folder
    first = library.head()
    mine, theirs = (library.add({"one.c": text, "two.c": b"int two;\n"}) for text in (b"a\n", b"b\n"))
    ready, workspace = visits.begin()
    go_to(workspace, "lib/one", library, mine)
    visits.end(ready, workspace)
    pin(origin, "lib/one", theirs)
    assert first not in (mine, theirs)

    visits.state = replace(visits.state, moved=True)
    with pytest.raises(GitRefused, match=r"lib/one") as refused:
        visits.begin()
    assert refused.value.failure_type == "merge_conflict"


# Who is asked, and with what


def test_the_credential_goes_to_the_server_of_the_repository_for_what_the_base_names(
    served: tuple[Visits, RemoteRepository, RemoteRepository], host: GitHost, tmp_path: Path
) -> None:
    visits, _origin, library = served
    private = remote(tmp_path / "host/private.git", {"secret": b"of others"})
    ready, workspace = visits.begin()
    # An agent names another repository of the same host, which the token may read
    (workspace / ".gitmodules").write_bytes(
        modules(("lib/one", "../library.git"), ("grab", "../private.git"))
    )
    (workspace / "grab").mkdir()
    (workspace / "grab/.git").mkdir()
    (workspace / "grab/.git/HEAD").write_text(private.head() + "\n")
    with pytest.raises(GitRefused, match="for submodules that the base branch names"):
        visits.end(ready, workspace)
    asked = [call for call in host.calls if "private" in call.path]
    assert asked and not any(call.authorization for call in asked)
    assert all(call.authorization for call in host.calls if "library" in call.path)
    assert library.head()


def test_another_host_gets_no_credential(
    host: GitHost, tmp_path: Path, authority: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The same server under another name and port is another server
    origin, _library = with_library(tmp_path / "host", f"https://registry.test:{host.port}/library.git")

    async def resolve(name: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    host.token = ""
    visits = Visits(
        tmp_path, host.url("app.git"), TOKEN, guard=Guard(("localhost", "registry.test"), resolve)
    )
    _ready, workspace = visits.begin()
    assert (workspace / "lib/one/one.c").exists() and origin.head()
    assert all(call.authorization for call in host.calls if "app.git" in call.path)
    assert not any(call.authorization for call in host.calls if "library" in call.path)


def test_a_commit_that_no_branch_leads_to_is_found_by_its_history(
    served: tuple[Visits, RemoteRepository, RemoteRepository],
) -> None:
    """This server gives only what a branch leads to."""
    visits, _origin, library = served
    library.add({"one.c": b"later\n"})
    _ready, workspace = visits.begin()
    assert (workspace / "lib/one/one.c").read_bytes() == b"int one;\n"
    assert any("Submodule lib/one is fetched at" in note for note in visits.notes)


HOSTILE = {
    "a program": ("ext::sh -c touch% /tmp/stolen", "transport::address are not taken"),
    "an option": ("-oProxyCommand=touch", "cannot begin with a dash"),
    "an option of ssh": ("ssh://-oProxyCommand=touch/x", "names no host|not a plain name"),
    "a file": ("file:///etc", "only a repository in a folder"),
    "a folder": ("/etc", "only a repository in a folder"),
    "a password": ("https://user:hunter2@localhost/x.git", "Keep the password out"),
    "a user": ("https://user@localhost/x.git", "Keep the user and the token out"),
    "a private address": ("https://10.0.0.5/x.git", r"private address 10\.0\.0\.5"),
    "the machine itself": ("https://127.0.0.1/x.git", r"private address 127\.0\.0\.1"),
    "the keys of a cloud": ("https://169.254.169.254/x.git", "private address"),
    "above the host": ("../../../../x.git", "leads above the host"),
    "plain http": ("http://localhost/x.git", "http: is not taken"),
    "git": ("git://localhost/x.git", "git: is not taken"),
    "nothing": ("", "one line of visible characters"),
    "ssh without a key": ("ssh://git@elsewhere.example/x.git", "deploy key|has no ssh"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_addresses_that_are_not_taken(host: GitHost, tmp_path: Path, case: str) -> None:
    url, words = HOSTILE[case]
    with_library(tmp_path / "host", f'"{url}"')
    visits = Visits(tmp_path, host.url("app.git"))
    host.token = ""
    with pytest.raises(GitRefused, match=words) as refused:
        visits.begin()
    assert "lib/one" in str(refused.value) and "hunter2" not in str(refused.value)
    assert not Path("/tmp/stolen").exists()


def test_a_folder_that_is_not_allowed_is_not_taken(
    tmp_path: Path, folder: tuple[Visits, RemoteRepository, RemoteRepository]
) -> None:
    visits, origin, _library = folder
    visits.folders = folders(origin.path)
    with pytest.raises(GitRefused, match=r"Submodule lib/one: This folder is not allowed for this owner"):
        visits.begin()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"x" * 70_000, "too long"),
        (b"[include]\n\tpath = /etc/passwd\n", "includes other files"),
        (modules(*((f"m{n}", "../x.git") for n in range(200))), "more than 100 submodules"),
        (b'[submodule "a"\n', "cannot be read"),
        (
            modules(("\udcff".encode("utf-8", "replace").decode(), "x")).replace(b"?", b"\xff"),
            "cannot be read",
        ),
    ],
)
def test_a_file_of_modules_that_is_not_taken(text: bytes, words: str) -> None:
    with pytest.raises(GitRefused, match=words):
        submodules_by_path(text)


def test_a_linked_file_of_modules_is_not_followed(
    tmp_path: Path, folder: tuple[Visits, RemoteRepository, RemoteRepository]
) -> None:
    visits, origin, library = folder
    (tmp_path / "outside").write_bytes(modules(("lib/one", "../library.git")))
    origin.add({".gitmodules": (0o120000, str(tmp_path / "outside").encode()), "app.py": b"1\n"})
    pin(origin, "lib/one", library.head())
    with pytest.raises(GitRefused, match=r"\.gitmodules is no plain file"):
        visits.begin()
    origin.add({".gitmodules": modules(), "app.py": b"1\n"})
    ready, workspace = visits.begin()
    (workspace / ".gitmodules").unlink()
    (workspace / ".gitmodules").symlink_to(tmp_path / "outside")
    with pytest.raises(GitRefused, match=r"\.gitmodules is no plain file"):
        visits.end(ready, workspace)


@pytest.mark.parametrize(
    "path", [".git", "../../outside", "/tmp/outside", "a/../../outside", ".git/x", ".", ""]
)
def test_a_path_that_leads_out_is_no_submodule(
    tmp_path: Path, folder: tuple[Visits, RemoteRepository, RemoteRepository], path: str
) -> None:
    visits, _origin, _library = folder
    ready, workspace = visits.begin()
    (workspace / ".git/.git").mkdir()
    (workspace / ".git/.git/HEAD").write_text("1" * 40 + "\n")
    (tmp_path / "outside/.git").mkdir(parents=True)
    (tmp_path / "outside/.git/HEAD").write_text("1" * 40 + "\n")
    text = modules(("lib/one", "../library.git"), ("y", "../library.git")).replace(
        b"path = y", f"path = {path}".encode()
    )
    (workspace / ".gitmodules").write_bytes(text)
    visits.end(ready, workspace)
    assert visits.facts["paths"] == [".gitmodules"]


def test_a_head_that_leads_out_of_the_workspace_is_not_read(
    tmp_path: Path, folder: tuple[Visits, RemoteRepository, RemoteRepository]
) -> None:
    visits, _origin, library = folder
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/HEAD").write_text("1" * 40 + "\n")
    for text in ("gitdir: ../../../../outside\n", f"gitdir: {tmp_path}/outside\n"):
        ready, workspace = visits.begin()
        subprocess.run(["rm", "-rf", str(workspace / "lib/one/.git")], check=True)
        (workspace / "lib/one/.git").write_text(text)
        visits.end(ready, workspace)
        assert visits.facts["paths"] == [] and library.head()
    ready, workspace = visits.begin()
    (workspace / "lib/one/.git/HEAD").unlink()
    (workspace / "lib/one/.git/HEAD").symlink_to(tmp_path / "outside/HEAD")
    visits.end(ready, workspace)
    assert visits.facts["paths"] == []


def test_a_submodule_in_place_of_which_a_station_put_a_link_writes_nothing_elsewhere(
    tmp_path: Path, folder: tuple[Visits, RemoteRepository, RemoteRepository]
) -> None:
    visits, _origin, _library = folder
    ready, workspace = visits.begin()
    (tmp_path / "outside").mkdir()
    subprocess.run(["rm", "-rf", str(workspace / "lib")], check=True)
    (workspace / "lib").symlink_to(tmp_path / "outside")
    # As a worker that died left it
    with pytest.raises(GitRefused, match="lib is no folder"):
        visits.begin(workspace)
    assert list((tmp_path / "outside").iterdir()) == [] and ready.files


def test_cycles_and_bombs_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A repository that is a submodule of itself: each commit pins the one before."""
    origin = remote(tmp_path / "app.git", {".gitmodules": modules(("again", "../app.git")), "a": b"1"})
    for _ in range(8):
        pin(origin, "again", origin.head())
    visits = Visits(tmp_path, str(origin.path), folders=folders(origin.path))
    with pytest.raises(GitRefused, match="nested more than 5 deep"):
        visits.begin()
    wide = remote(tmp_path / "wide.git", {"a": b"1"})
    names = [f"m{n}" for n in range(6)]
    for _level in range(3):
        before = wide.head()
        wide.add({".gitmodules": modules(*((name, "../wide.git") for name in names)), "a": b"1"})
        for name in names:
            pin(wide, name, before)
    visits = Visits(tmp_path / "wide", str(wide.path), folders=folders(wide.path))
    with pytest.raises(GitRefused, match="more than 100 submodules"):
        visits.begin()
    monkeypatch.setattr(checkout, "MOST_BYTES", 5)
    with pytest.raises(GitRefused, match="together"):
        visits.begin()


def test_what_lies_here_of_others_is_asked_for_again(
    served: tuple[Visits, RemoteRepository, RemoteRepository], tmp_path: Path
) -> None:
    """The mirror of a submodule is shared: who may not read the repository gets nothing from it."""
    visits, _origin, _library = served
    visits.begin()
    other = Visits(visits.home, visits.address, "wrong")
    with pytest.raises(GitRefused, match="refuses the token"):
        other.begin()
    assert sha256(TOKEN.encode()).hexdigest() and LISTED and ServerFolders()


def test_a_submodule_without_an_address_is_named(tmp_path: Path) -> None:
    origin = remote(tmp_path / "app.git", {"app.py": b"1\n"})
    pin(origin, "lost", "1" * 40)
    visits = Visits(tmp_path, str(origin.path), folders=folders(origin.path))
    with pytest.raises(GitRefused, match=r"Submodule lost: \.gitmodules does not say its address"):
        visits.begin()
