"""The `.git` that an attempt gets so that its programs can use git: a copy of what they need, thrown away afterwards
and never read by us."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import closing, suppress
from pathlib import Path

from dulwich.index import Index, index_entry_from_stat
from dulwich.objects import Commit, ObjectID
from dulwich.refs import HEADREF, Ref
from dulwich.repo import Repo

from pipelines.work.git.mirror import Mirror
from pipelines.work.git.trees import Leaf
from pipelines.work.results.files import FileRefused, write_anew
from pipelines.work.workspace_folder import folders

GIT = ".git"
SPECIAL, ESCAPED = re.compile(r"[*?\[\\]"), r"\\\g<0>"
HISTORY = 50
"""Commits of the history that come along."""


def remove_git_folder(workspace: Path) -> None:
    """Whatever an attempt before left under this name."""
    place = workspace / GIT
    # A link is removed itself, and nothing of what it leads to.
    if place.is_symlink() or not place.is_dir():
        place.unlink(missing_ok=True)
    else:
        folders.remove_folder(place)


def make_repository(workspace: Path, mirror: Mirror, branch: str, head: str, files: dict[str, Leaf]) -> None:
    """A repository on its branch at this commit, on none where that is "", its index as the files are. In a thread."""
    edge = shallow_commits(mirror, head)
    store = mirror.repository.object_store
    with closing(Repo.init(str(workspace))) as own:
        # Git takes these for the first commits, though they name parents that are not there.
        if edge:
            text = "".join(f"{object_id.decode()}\n" for object_id in sorted(edge))
            (workspace / GIT / "shallow").write_text(text)
    with closing(Repo(str(workspace))) as own:
        count, data = store.generate_pack_data(set(), {ObjectID(head.encode())}, shallow=edge)
        own.object_store.add_pack_data(count, data)
        if branch:
            ref = Ref(b"refs/heads/" + branch.encode())
            own.refs[ref] = ObjectID(head.encode())
            own.refs.set_symbolic_ref(HEADREF, ref)
        else:
            # The commit itself, and not what HEAD stands for at the beginning
            own.refs.remove_if_equals(HEADREF, None)
            own.refs[HEADREF] = ObjectID(head.encode())
        index = Index(own.index_path(), read=False)
        for path, (mode, sha) in files.items():
            info = (workspace / path).lstat()
            index[path.encode()] = index_entry_from_stat(info, sha, mode=mode)
        index.write()


def ignore_paths(workspace: Path, paths: Iterable[str]) -> None:
    """Let git ignore these paths, as what lies in them is no change: it would look through each of their files, and
    list it as new. In a thread."""
    lines = (f"/{SPECIAL.sub(ESCAPED, path)}\n" for path in paths if path.isprintable())
    # The command that prepared could write here; where it did, git sees what it did
    with suppress(FileRefused, OSError):
        write_anew(workspace, f"{GIT}/info/exclude", "".join(lines).encode())


def shallow_commits(mirror: Mirror, head: str) -> set[ObjectID]:
    """Return those of the last commits whose parents do not come along."""
    store, known, here = mirror.repository.object_store, set[ObjectID](), [ObjectID(head.encode())]
    edge: set[ObjectID] = set()
    # A bound: a station looks at a few commits, and histories have hundreds of thousands
    while here and len(known) < HISTORY:
        sha = here.pop(0)
        git_object = store[sha]
        if sha in known or not isinstance(git_object, Commit):
            continue
        known.add(sha)
        here += [parent for parent in git_object.parents if parent in store]
    for sha in known:
        git_object = store[sha]
        assert isinstance(git_object, Commit)
        if any(parent not in known for parent in git_object.parents):
            edge.add(sha)
    return edge
