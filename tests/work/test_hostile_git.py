"""Repositories that want more than to be read: nothing of them runs, nothing leaves the folder, and each is refused or
taken as it is, in words."""

from __future__ import annotations

import errno
import os
import time
import zlib
from functools import partial
from hashlib import sha256
from itertools import product
from pathlib import Path
from unittest.mock import Mock

import pytest
from dulwich.ignore import IgnoreFilter
from dulwich.object_store import MemoryObjectStore
from dulwich.objects import Blob, Tree

from pipelines.formats.evidence.trees.line_diff import StepBudget
from pipelines.work.git import checkout, facts, mirror, trees
from pipelines.work.git.addresses import parsed_repository_address
from pipelines.work.git.attempt import Prepared, Trailers, commit_attempt, prepare_workspace
from pipelines.work.git.gitignore import IgnoreFiles
from pipelines.work.git.mirror import Mirrors
from pipelines.work.git.refusals import GitRefused
from pipelines.work.git.remote import Remote
from pipelines.work.git.trees import Leaf
from pipelines.work.results.files import open_plain_file
from pipelines.work.spec.repository import GitOrder, GitState, RepositoryAccess
from pipelines.work.workspaces import picture_of_workspace
from tests.effort import calls
from tests.work.remotes import FILE, FOLDER, LINK, Files, RemoteRepository, folders, remote

SUBMODULE = 0o160000
SAID = Trailers("WI-app-1", "Fix\n\nGateline-Delivery: 1", 1, 1)


def access(tmp_path: Path, origin: RemoteRepository) -> RepositoryAccess:
    order = GitOrder(1, "app", str(origin.path), station="Fix", author="Fix", author_key="fix")
    return RepositoryAccess(
        order, GitState(), tmp_path / "w", folders=folders(origin.path), branch="gateline/1"
    )


def attempt(tmp_path: Path, files: Files) -> tuple[Prepared, Path]:
    workspace = tmp_path / "attempt" / "workspace"
    workspace.mkdir(parents=True)
    origin = remote(tmp_path / "origin.git", files)
    return prepare_workspace(access(tmp_path, origin), workspace, False, lambda text: None), workspace


def committed(ready: Prepared, workspace: Path) -> list[str]:
    """The paths that changed."""
    picture = picture_of_workspace(workspace, None, (".git",))
    _left, group, _files = commit_attempt(ready, workspace.parent, workspace, picture.manifest, SAID)
    paths: list[str] = group["paths"]
    return paths


def test_names_and_links_are_taken_as_they_are(tmp_path: Path) -> None:
    strange = "a\nb\u202ec/--upload-pack=touch x"
    outside = tmp_path / "outside"
    files: Files = {
        strange: b"1",
        "-rf": b"2",
        "link": (LINK, str(outside).encode()),
        "run.sh": (0o100755, b"#!/bin/sh\n"),
        ".gitattributes": b"* filter=evil diff=evil merge=evil\n",
        ".gitconfig": b"[core]\n\tfsmonitor = touch " + str(outside).encode(),
    }
    ready, workspace = attempt(tmp_path, files)
    assert (workspace / strange).read_bytes() == b"1"
    assert os.readlink(workspace / "link") == str(outside) and not outside.exists()
    assert os.access(workspace / "run.sh", os.X_OK) and not os.access(workspace / "-rf", os.X_OK)
    assert committed(ready, workspace) == []


def test_branches_come_and_go_whose_names_are_in_each_others_way(tmp_path: Path) -> None:
    origin = remote(tmp_path / "origin.git", {"a": b"1"})
    there = Remote(
        parsed_repository_address(str(origin.path), folders(origin.path)), folders=folders(origin.path)
    )
    found = []
    with Mirrors(tmp_path / "w").open_mirror("it") as mirror:
        for number, branch in enumerate(("rel", "rel/1", "rel")):
            found.append(origin.add({"a": b"%d" % number}, branch=branch))
            assert mirror.fetch_branch_or_tag(there, branch, lambda text: None)[1] == found[-1]
            (origin.path / "refs/heads" / branch).unlink()
            if branch == "rel/1":
                (origin.path / "refs/heads/rel").rmdir()
        # What it has is told to the server, which then sends no more than is new.
        assert mirror.repository.get_graph_walker().heads == {*map(str.encode, found[1:])}


def test_a_mirror_has_few_packs_however_many_visits_there_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mirror, "MOST_PACKS", 5)
    mirrors, made = Mirrors(tmp_path / "w"), []
    large = Blob.from_string(os.urandom(2_000))
    monkeypatch.setattr(mirror, "TOGETHER", 1_900)
    for number in range(14):
        with mirrors.open_mirror("it") as opened:
            made.append(large if number == 0 else Blob.from_string(b"%d" % number))
            opened.repository.object_store.add_objects([(made[-1], None)])
    with mirrors.open_mirror("it") as opened:
        store = opened.repository.object_store
        assert len(list(Path(store.pack_dir).glob("*.pack"))) <= 6
        assert len(list(Path(store.pack_dir).glob("*.idx"))) <= 6
        assert [store[each.id].data for each in made] == [each.data for each in made]


def test_nothing_that_an_attempt_puts_in_its_git_runs_or_is_read(tmp_path: Path) -> None:
    ready, workspace = attempt(tmp_path, {"a": b"1"})
    ran = tmp_path / "ran"
    hooks = workspace / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("pre-commit", "post-commit", "post-checkout", "reference-transaction", "pre-push", "update"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {ran}\n")
        (hooks / name).chmod(0o755)
    (workspace / ".git/config").write_text(
        f"[core]\n\tfsmonitor = touch {ran}\n\tsshCommand = touch {ran}\n\tworktree = /\n"
        f'[filter "evil"]\n\tclean = touch {ran}\n[diff]\n\texternal = touch {ran}\n[include]\n\tpath = /etc/passwd\n'
    )
    (workspace / ".git/info/exclude").write_text("*\n")
    (workspace / ".git/HEAD").write_text("ref: refs/heads/elsewhere\n")
    (workspace / ".gitattributes").write_text("* filter=evil\n")
    (workspace / "a").write_text("2")
    assert committed(ready, workspace) == [".gitattributes", "a"]
    assert not ran.exists()


def test_the_git_of_an_attempt_is_no_matter_of_its_tree(tmp_path: Path) -> None:
    """Gone, a link to elsewhere, or more of them: the tree is what the files are."""
    ready, workspace = attempt(tmp_path, {"a": b"1"})
    (workspace / ".git").rename(tmp_path / "taken")
    (workspace / ".git").symlink_to("/")
    (workspace / "inner/.GIT").mkdir(parents=True)
    (workspace / "inner/.GIT/config").write_text("[core]")
    (workspace / "inner/b").write_text("b")
    assert committed(ready, workspace) == ["inner/b"]


def test_links_that_a_station_makes_lead_nothing_out(tmp_path: Path) -> None:
    ready, workspace = attempt(tmp_path, {"folder/a": b"1", ".gitignore": b"x\n"})
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "a").write_text("secret")
    (workspace / "folder/a").unlink()
    (workspace / "folder").rmdir()
    (workspace / "folder").symlink_to(secret)
    (workspace / ".gitignore").unlink()
    os.mkfifo(workspace / ".gitignore")
    assert committed(ready, workspace) == [".gitignore", "folder", "folder/a"]
    with Mirrors(tmp_path / "w").open_mirror(str(tmp_path / "origin.git")) as mirror:
        kept = b"".join(
            mirror.repository.object_store[sha].as_raw_string() for sha in mirror.repository.object_store
        )
    assert b"secret" not in kept.replace(str(secret).encode(), b"")


def test_links_beside_the_workspace_are_not_written_through(tmp_path: Path) -> None:
    """A station may write in the whole folder of its attempt, and knows what will be kept of it."""
    ready, workspace = attempt(tmp_path, {"a": b"evil"})
    (workspace / "a").write_text("2")
    mine = tmp_path / "authorized_keys"
    mine.write_text("mine")
    (workspace.parent / "base").mkdir()
    for place in (f"base/{sha256(b'evil').hexdigest()}", sha256(b"evil").hexdigest(), "objects.pack"):
        (workspace.parent / place).symlink_to(mine)
    picture = picture_of_workspace(workspace, None, (".git",))
    left, _group, files = commit_attempt(ready, workspace.parent, workspace, picture.manifest, SAID)
    assert mine.read_text() == "mine" and set(files) == {sha256(b"evil").hexdigest(), left.pack}
    for digest, (path, size) in files.items():
        with open_plain_file(workspace.parent, path) as file:
            data = file.read()
        assert (sha256(data).hexdigest(), len(data)) == (digest, size)


@pytest.mark.parametrize(
    ("patterns", "ignored"),
    [
        (b"*a*a*a*a*a*a*a*ab", ()),
        (b"*a*a*?a*[a-c]*a*a*a\n", ("a" * 200,)),
        (b"**/a/**/a/**/a/**/a/**/a/**/b\n", ()),
        (b"[z-a]\n[\n\\\n*.[lL]og\n", ("x/b.log",)),
        (b"*.log\n!b.log\n", ()),
        (b"x/\n!x/b.log\n", ("x/b.log",)),
        (b"/b.log\n", ()),
        (b"x/*\n!*.log\n", ()),
        (b"**/b.*\n", ("x/b.log",)),
        (b"a/**\n", ("a/" * 150 + "c",)),
        (b"a" * 70_000 + b"\nx\n", ()),
    ],
)
def test_patterns_of_gitignore_are_matched_in_little_time(
    tmp_path: Path, patterns: bytes, ignored: tuple[str, ...]
) -> None:
    paths = ("a" * 200, "a/" * 150 + "c", "x/b.log")
    (tmp_path / ".gitignore").write_bytes(patterns)
    began = time.process_time()
    assert tuple(filter(IgnoreFiles(tmp_path).is_ignored, paths)) == ignored
    assert time.process_time() - began < 1


@pytest.mark.wide
def test_patterns_of_gitignore_mean_what_they_mean_elsewhere(tmp_path: Path) -> None:
    """Whatever short pattern there is, against the reading of another program."""
    parts = (b"*", b"**", b"?", b"a", b"a*", b"*b", b"[ab]", b"[!a]", b"ab")
    patterns = [
        lead + b"/".join(each) + end
        for lead in (b"", b"/")
        for count in (1, 2, 3)
        for each in product(parts, repeat=count)
        for end in (b"", b"/")
    ]
    paths = ["/".join(each) for count in (1, 2, 3) for each in product(("a", "b", "ab"), repeat=count)]
    differ = []
    for pattern in patterns:
        (tmp_path / ".gitignore").write_bytes(pattern + b"\n")
        ours, theirs = IgnoreFiles(tmp_path), IgnoreFilter([pattern])
        differ += [
            (pattern, path) for path in paths if ours.is_ignored(path) != bool(theirs.is_ignored(path))
        ]
    assert differ == []


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ((b"sub", SUBMODULE, b"x"), "Submodule sub: .gitmodules does not say its address"),
        ((b".git", FILE, b"x"), "which no file may be called"),
        ((b".GIT", FILE, b"x"), "which no file may be called"),
        ((b"git~1", FILE, b"x"), "which no file may be called"),
        ((b"..", FILE, b"x"), "which no file may be called"),
        ((b"a/b", FILE, b"x"), "which no file may be called"),
        ((b"\xff", FILE, b"x"), "is not a name in UTF-8"),
        ((b"link", LINK, b"\xff"), "not in UTF-8"),
        ((b"device", 0o060000, b""), "of an unknown kind"),
        ((b"a" * 256, FILE, b"x"), "has a name of more than 255 bytes"),
    ],
)
def test_what_is_not_taken_is_said(tmp_path: Path, entry: tuple[bytes, int, bytes], why: str) -> None:
    origin = remote(tmp_path / "origin.git")
    origin.raw([entry])
    workspace = tmp_path / "attempt"
    workspace.mkdir()
    with pytest.raises(GitRefused, match=why):
        prepare_workspace(access(tmp_path, origin), workspace, False, lambda text: None)
    assert not (tmp_path / "b").exists()


def test_what_fails_in_the_folder_or_the_objects_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the job would be left running; only a full disk is for the worker to tell."""
    ready, workspace = attempt(tmp_path, {"a": b"1"})
    (workspace / "a").write_text("2")
    picture = picture_of_workspace(workspace, None, (".git",))
    (workspace / "a").unlink()
    with pytest.raises(GitRefused, match="What the station left cannot be committed: "):
        commit_attempt(ready, workspace.parent, workspace, picture.manifest, SAID)
    for error in (PermissionError(errno.EACCES, "Permission denied"), zlib.error("-3"), KeyError(b"1")):
        monkeypatch.setattr(checkout, "commit_tree", Mock(side_effect=error))
        with pytest.raises(
            GitRefused, match="The files of the repository cannot be laid out here: "
        ) as refused:
            prepare_workspace(ready.access, workspace, True, lambda text: None)
        assert refused.value.failure_type == "prepare_failed"
    monkeypatch.setattr(checkout, "commit_tree", Mock(side_effect=OSError(errno.ENOSPC, "full")))
    with pytest.raises(OSError, match="full"):
        prepare_workspace(ready.access, workspace, True, lambda text: None)


def test_a_few_trees_that_make_billions_of_files_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkout, "MOST_FILES", 1000)
    store, inner = MemoryObjectStore(), Tree()
    for _level in range(12):
        store.add_object(inner)
        outer = Tree()
        for name in b"abcdefgh":
            outer.add(bytes([name]), FOLDER, inner.id)
        inner = outer
    store.add_object(inner)
    for walk in (trees.leaf_by_path_of_tree, partial(checkout.write_tree_into_folder, folder=tmp_path)):
        with pytest.raises(GitRefused, match="more than 1000 files and folders"):
            walk(store, inner.id)


def test_a_link_and_a_folder_of_one_name_write_nothing_elsewhere(tmp_path: Path) -> None:
    origin = remote(tmp_path / "origin.git")
    origin.raw([(b"a", LINK, str(tmp_path).encode()), (b"a", FILE, b"x")])
    workspace = tmp_path / "attempt"
    workspace.mkdir()
    before = sorted(os.listdir(tmp_path))
    prepare_workspace(access(tmp_path, origin), workspace, False, lambda text: None)
    assert sorted(os.listdir(tmp_path)) == sorted([*before, "w"])
    assert sorted(os.listdir(workspace)) == [".git", "a"]


def test_a_mirror_is_bounded_and_expires(tmp_path: Path) -> None:
    origin = remote(tmp_path / "origin.git", {"a": os.urandom(50_000)})
    told: list[str] = []
    small = Mirrors(tmp_path / "w", most=10_000)
    with (
        small.open_mirror(str(origin.path)) as mirror,
        pytest.raises(GitRefused, match="larger than"),
    ):
        mirror.fetch_branch_or_tag(
            Remote(
                parsed_repository_address(str(origin.path), folders(origin.path)),
                folders=folders(origin.path),
            ),
            "",
            told.append,
        )
    assert small.remove_unused_mirrors() == []
    for lock in small.base.glob("*.lock"):
        os.utime(lock, (0, 0))
    assert len(small.remove_unused_mirrors()) == 1 and not list(small.base.glob("*.git"))


@pytest.mark.parametrize(
    ("old", "new", "counted"),
    [(b"", b"a\nb\n", (2, 0)), (b"a\nb\n", b"b\n", (0, 1)), (b"a\n", b"\x00", (0, 0)), (b"a\r\n", b"a\n", (0, 0)),
     (b"x\n" * 3000, b"x\n" * 2990 + b"y\n" * 20, (20, 10))],
)  # fmt: skip
def test_lines_are_counted(old: bytes, new: bytes, counted: tuple[int, int]) -> None:
    added, removed = facts.added_and_removed_lines(old, new, StepBudget())
    assert (len(added), len(removed)) == counted


def test_the_lines_of_all_files_are_counted_within_one_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """One line stands again and again, between others: no file of these is compared quickly. Beyond the budget, all but
    the last line counts as changed."""
    monkeypatch.setattr(facts, "MOST_STEPS", 20_000)
    store = MemoryObjectStore()

    def files(mark: str) -> dict[str, Leaf]:
        text = "".join(f"{mark}{n}\na\n" for n in range(50)).encode()
        store.add_object(blob := Blob.from_string(text))
        return {f"{n}.txt": (0o100644, blob.id) for n in range(20)}

    before, after = files("x"), files("y")
    found: dict[str, int] = {}
    done = calls(lambda: found.update(facts.git_facts(store, before, after)))
    assert found["insertions"] == found["deletions"]
    assert 20 * 50 < found["insertions"] < 20 * 99
    assert done < 100_000
