"""repository-checkout on real repositories, with git and without."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from dulwich import porcelain
from dulwich.objects import Tag, Tree

from tests.demo.conftest import Done, Workspace
from tests.demo.repositories import AUTHOR, GOOD, WHEN, Repository

Make = Callable[..., Repository]
needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="the machine has no git")


@pytest.fixture(params=[pytest.param("git", marks=needs_git), "dulwich"])
def either(request: pytest.FixtureRequest, workspace: Workspace) -> Workspace:
    """The workspace on a machine with git, and on one without."""
    if request.param == "dulwich":
        return request.getfixturevalue("without_git")
    return workspace


def test_it_writes_the_committed_files(either: Workspace, repository: Make) -> None:
    made = repository(GOOD)
    (made.folder / "not committed").write_text("x")
    done = either.checkout(made)
    assert done.code == 0
    assert done.output["commit"] == made.git.head().decode()
    assert done.output["branch"] == "main"
    assert either.files() == {path: content.encode() for path, content in GOOD.items()}
    assert done.output["files"] == 3
    assert done.output["bytes"] == sum(len(content) for content in GOOD.values())


@pytest.mark.smoke(2)
@pytest.mark.parametrize("revision", ["topic", "refs/heads/topic", "v1", "light", "full", "short"])
def test_it_takes_a_branch_a_tag_or_a_number(either: Workspace, repository: Make, revision: str) -> None:
    made = repository({"a.txt": "main"})
    wanted = made.commit({"a.txt": "topic"}, branch="topic")
    made.commit({"a.txt": "main again"})
    made.git.refs[b"refs/tags/light"] = wanted.encode()
    made.git.refs[b"refs/tags/v1"] = annotated(made, wanted)
    names = {"full": wanted, "short": wanted[:9]}
    done = either.checkout(made, names.get(revision, revision))
    assert done.output["commit"] == wanted
    assert either.files() == {"a.txt": b"topic"}
    assert done.output["branch"] == ("topic" if "topic" in revision else "")


def annotated(made: Repository, commit: str) -> bytes:
    tag = Tag()
    tag.name, tag.tagger, tag.message = b"v1", AUTHOR, b"One"
    tag.tag_time, tag.tag_timezone = WHEN, 0
    tag.object = type(made.git[commit.encode()]), commit.encode()
    made.git.object_store.add_object(tag)
    return tag.id


@pytest.mark.smoke(1)
def test_it_finds_a_commit_that_no_branch_leads_to(either: Workspace, repository: Make) -> None:
    made = repository({"a.txt": "first"})
    first = made.git.head().decode()
    made.commit({"a.txt": "second"})
    assert either.checkout(made, first).code == 0
    assert either.files() == {"a.txt": b"first"}


@pytest.mark.smoke(1)
def test_it_reads_a_bare_repository(either: Workspace, repository: Make) -> None:
    assert either.checkout(repository(GOOD, bare=True)).code == 0


@pytest.mark.smoke(1)
def test_it_keeps_modes_links_and_odd_names(either: Workspace, repository: Make) -> None:
    odd = '-o\n`rm`; é \\ "q".txt'
    made = repository({"run.sh": "#!/bin/sh\n", "link": "-> run.sh", odd: "x", "crlf.txt": "a\r\nb\n"})
    assert either.checkout(made).code == 0
    tree = either.folder / "tree"
    assert os.access(tree / "run.sh", os.X_OK)
    assert os.readlink(tree / "link") == "run.sh"
    assert (tree / odd).read_text() == "x"
    assert (tree / "crlf.txt").read_bytes() == b"a\r\nb\n"


def left_out(done: Done) -> dict[str, str]:
    return {entry["path"]: entry["why"] for entry in done.output["left_out"]}


@pytest.mark.smoke(1)
def test_a_name_that_no_workspace_keeps_is_left_out_and_named(either: Workspace, repository: Make) -> None:
    done = either.checkout(repository({os.fsdecode(b"\xff.txt"): "x", "é.txt": "x"}))
    assert left_out(done) == {"\\xff.txt": "its name is not UTF-8"}
    assert list(either.files()) == ["é.txt"]


@pytest.mark.smoke(1)
def test_links_that_lead_outside_are_left_out_and_named(either: Workspace, repository: Make) -> None:
    links = {"a": "-> /etc/passwd", "b/c": "-> ../../../..", "d": "-> d", "e": "-> b/f", "b/f": "-> ../ok"}
    done = either.checkout(repository(links | {"ok": "x", "gone": "-> nowhere"}))
    assert left_out(done) == dict.fromkeys(["a", "b/c", "d"], "a link that leads outside")
    tree = either.folder / "tree"
    assert sorted(str(p.relative_to(tree)) for p in tree.rglob("*")) == ["b", "b/f", "e", "gone", "ok"]


@pytest.mark.smoke(2)
@pytest.mark.parametrize("path", [".git/config", "a/.GIT/hooks/x", "git~1/config", "../out", "a/../../out"])
def test_a_path_that_no_checkout_may_write_is_refused(either: Workspace, repository: Make, path: str) -> None:
    done = either.checkout(repository({path: "x"}))
    assert done.code != 0
    assert not (either.folder.parent / "out").exists()
    assert not (either.folder / "out").exists()


@pytest.mark.wide
@pytest.mark.smoke(1)
def test_a_second_run_starts_clean(either: Workspace, repository: Make) -> None:
    made = repository({"old.txt": "x"})
    either.checkout(made)
    either.check("lint")
    (either.folder / "tree" / "left").mkdir(mode=0o500)
    made.commit({"new.txt": "x"})
    assert either.checkout(made).code == 0
    assert either.files() == {"new.txt": b"x"}
    assert not (either.folder / ".gateline-results" / "lint.json").exists()


@pytest.mark.smoke(2)
@pytest.mark.parametrize("what", ["object gone", "object cut", "name too long"])
def test_a_damaged_repository_says_so(either: Workspace, repository: Make, what: str) -> None:
    made = repository(GOOD)
    if what == "name too long":
        made.commit({"x" * 300: "x"})
    else:
        name = made.git[made.git.head()].tree.decode()
        place = made.folder / ".git" / "objects" / name[:2] / name[2:]
        place.chmod(0o644)
        place.unlink() if what == "object gone" else place.write_bytes(place.read_bytes()[:9])
    done = either.checkout(made)
    assert done.code != 0
    assert done.document["failure_type"] in ("damaged", "unreachable")
    assert not list(either.folder.glob(".fetch-*"))


@pytest.mark.smoke(1)
def test_a_path_that_is_a_link_and_a_folder_leads_nowhere(either: Workspace, repository: Make) -> None:
    made = repository(GOOD)
    inside, tree = made.tree({b"b": "x"}), made.tree({b"a": "-> ../.."})
    twice = Tree.from_string(tree.as_raw_string() + b"40000 a\0" + bytes.fromhex(inside.id.decode()))
    made.git.object_store.add_object(twice)
    made.commit_tree(twice)
    either.checkout(made)
    assert not (either.folder.parent / "b").exists()
    assert not (either.folder / "b").exists()


@pytest.mark.smoke(1)
def test_an_empty_repository_says_so(either: Workspace, repository: Make) -> None:
    done = either.checkout(repository())
    assert done.document["failure_type"] == "no_such_revision"
    assert "no commit" in done.summary


@pytest.mark.smoke(1)
def test_an_unknown_revision_names_the_branches(either: Workspace, repository: Make) -> None:
    done = either.checkout(repository(GOOD), "releese")
    assert done.document["failure_type"] == "no_such_revision"
    assert "main" in done.summary


def test_no_hook_filter_or_attribute_of_the_repository_takes_part(
    workspace: Workspace, repository: Make, tmp_path: Path
) -> None:
    trap = tmp_path / "sprung"
    attributes = "* text eol=crlf filter=trap ident\n"
    made = repository({".gitattributes": attributes, "a.txt": "$Id$\n", ".gitmodules": "[submodule]"})
    hook = made.folder / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {trap}\n")
    hook.chmod(0o755)
    with (made.folder / ".git" / "config").open("a") as config:
        config.write(f'[filter "trap"]\n\tsmudge = touch {trap}\n[core]\n\tfsmonitor = touch {trap}\n')
        config.write(f"[uploadpack]\n\tpackObjectsHook = touch {trap}\n")
    assert workspace.checkout(made).code == 0
    assert workspace.files()["a.txt"] == b"$Id$\n"
    assert not trap.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to another user")
@needs_git
def test_it_reads_a_folder_that_belongs_to_somebody_else(workspace: Workspace, repository: Make) -> None:
    made = repository(GOOD)
    for path in [made.folder, *made.folder.rglob("*")]:
        os.chown(path, 65534, 65534)
    assert workspace.checkout(made).code == 0


@pytest.mark.smoke(1)
def test_submodules_are_left_out_and_named(either: Workspace, repository: Make) -> None:
    made = repository(GOOD)
    tree = made.tree({b"a.txt": "x"})
    tree.add(b"sub", 0o160000, made.git.head())
    made.git.object_store.add_object(tree)
    made.commit_tree(tree)
    done = either.checkout(made)
    assert left_out(done) == {"sub": "a submodule"}
    assert either.files() == {"a.txt": b"x"}


@pytest.mark.wide
@needs_git
def test_it_reads_a_shallow_clone(workspace: Workspace, repository: Make) -> None:
    made = repository({"a.txt": "1"})
    made.commit({"a.txt": "2"})
    head = made.git.head()
    with (made.folder / ".git" / "shallow").open("wb") as shallow:
        shallow.write(head + b"\n")
    assert workspace.checkout(made).code == 0
    assert workspace.checkout(made, head.decode()[:10]).code == 0


@needs_git
def test_it_reads_a_worktree_whose_git_folder_lies_elsewhere_under_the_root(
    workspace: Workspace, repository: Make
) -> None:
    made = repository(GOOD)
    elsewhere = made.folder.parent / "worktree"
    porcelain.worktree_add(made.git, str(elsewhere), branch="side")
    assert workspace.checkout(elsewhere).code == 0
