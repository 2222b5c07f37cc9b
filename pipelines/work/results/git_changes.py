"""Changes of a station in the git repositories of its workspace: a script, run as the station itself was,
behind the same isolation: a repository is the station's own, and so is what reading it may start.

    git_changes.py WORKSPACE HEADS      HEADS: JSON {folder: commit before, or ""}

Writes one JSON object: {files, file_count, commits, commit_count, trailers, ai_metadata}, see `read`.
Needs dulwich.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import Any

from dulwich import porcelain
from dulwich.diff_tree import tree_changes
from dulwich.objects import Commit, ObjectID
from dulwich.refs import HEADREF
from dulwich.repo import Repo

MOST_COMMITS, MOST_FILES, MOST_TEXT = 200, 1000, 1000
CHANGES = {"add": "added", "copy": "added", "delete": "deleted", "modify": "modified", "rename": "modified"}
TRAILER = re.compile(r"([A-Za-z0-9][A-Za-z0-9-]*): +(\S.*)")
AI_METADATA = ("AI-Usage", "Agent-IDs", "AI-Prompt-Ref", "AI-Risk-Notes")


def read_changes(workspace: str, heads: dict[str, str]) -> dict[str, Any]:
    """Read the changes of all repositories together. `files` [{path, change, committed}], paths below the
    workspace; `commits` [{id, repository, subject, author, trailers}], newest first; both cut, with the
    full counts beside them. `trailers` {name: [values]}; `ai_metadata` {name: value} of those that every
    commit carries (E15)."""
    files: dict[str, dict[str, Any]] = {}
    commits: list[dict[str, Any]] = []
    for folder, before in sorted(heads.items()):
        with closing(Repo(os.path.join(workspace, folder))) as repository:
            made = list(new_commits(repository, before))
            commits += [commit_fields(commit, folder) for commit in made]
            for path, change in committed_changes(repository, made, before):
                files[joined_path(folder, path)] = {"change": change, "committed": True}
            for path, change in uncommitted_changes(repository):
                files[joined_path(folder, path)] = {"change": change, "committed": False}
    if not files and not commits:
        return {}
    listed = [{"path": path, **files[path]} for path in sorted(files)]
    return {
        "files": listed[:MOST_FILES],
        "file_count": len(listed),
        "commits": commits[:MOST_COMMITS],
        "commit_count": len(commits),
        "trailers": merged_trailers(commits),
        "ai_metadata": shared_metadata(commits),
    }


def new_commits(repository: Repo, before: str) -> Iterator[Commit]:
    """Yield the commits that can be reached now and could not before; in a repository that did not exist
    before, those that no remote has."""
    head = repository.refs.as_dict().get(HEADREF)
    if head is None:
        return
    if before:
        known = [ObjectID(before.encode())]
    else:
        refs = repository.refs.as_dict()
        known = [sha for name, sha in refs.items() if name.startswith(b"refs/remotes/")]
    known = [sha for sha in known if sha in repository.object_store]
    if before and not known:
        return  # the history before is gone: nothing can be told from it
    # The list is cut at MOST_COMMITS; the count beside it goes this far
    for entry in repository.get_walker(include=[head], exclude=known, max_entries=10 * MOST_COMMITS):
        yield entry.commit


def committed_changes(repository: Repo, made: list[Commit], before: str) -> Iterator[tuple[str, str]]:
    """The paths in which the state before and the last commit differ."""
    if not made:
        return
    # The parent of the oldest new commit, where the repository was not there before
    base = ObjectID(before.encode()) if before else next(iter(made[-1].parents), None)
    old = repository[base] if base is not None and base in repository.object_store else None
    tree = old.tree if isinstance(old, Commit) else None
    for change in tree_changes(repository.object_store, tree, made[0].tree):
        # Of a file that was deleted only the old side has a path
        where = change.new if change.new is not None and change.new.path is not None else change.old
        if where is not None and where.path is not None:
            yield storable_text(where.path), CHANGES.get(change.type, "modified")


def uncommitted_changes(repository: Repo) -> Iterator[tuple[str, str]]:
    status = porcelain.status(repository, untracked_files="all")
    for kind, paths in status.staged.items():
        yield from ((storable_text(path), CHANGES.get(kind, "modified")) for path in paths)
    root = repository.path
    for path in status.unstaged:
        there = os.path.lexists(os.path.join(os.fsencode(root), path))
        yield storable_text(path), "modified" if there else "deleted"
    yield from ((storable_text(path), "added") for path in status.untracked)


def commit_fields(commit: Commit, folder: str) -> dict[str, Any]:
    message = storable_text(commit.message)
    return {
        "id": commit.id.decode(),
        "repository": folder or ".",
        "subject": message.strip().partition("\n")[0][:MOST_TEXT],
        "author": storable_text(commit.author)[:MOST_TEXT],
        "trailers": message_trailers(message),
    }


def message_trailers(message: str) -> dict[str, list[str]]:
    """The `Name: value` lines of the last paragraph, if it has nothing else; an indented line goes on."""
    paragraphs = re.split(r"\n[ \t]*\n", message.strip().replace("\r\n", "\n"))
    by_name: dict[str, list[str]] = {}
    last = ""
    for line in paragraphs[-1].split("\n") if len(paragraphs) > 1 else ():
        match = TRAILER.fullmatch(line.rstrip())
        if match:
            last = match[1]
            by_name.setdefault(last, []).append(match[2][:MOST_TEXT])
        elif last and line[:1] in (" ", "\t"):
            by_name[last][-1] = f"{by_name[last][-1]} {line.strip()}"[:MOST_TEXT]
        else:
            return {}
    return by_name


def merged_trailers(commits: Iterable[dict[str, Any]]) -> dict[str, list[str]]:
    """The values of each trailer, each once, oldest first."""
    by_name: dict[str, dict[str, None]] = {}
    for commit in reversed(list(commits)):
        for name, values in commit["trailers"].items():
            by_name.setdefault(name, {}).update(dict.fromkeys(values))
    return {name: list(values)[:MOST_COMMITS] for name, values in by_name.items()}


def shared_metadata(commits: list[dict[str, Any]]) -> dict[str, str]:
    """Return what the newest commit says of the work of agents, if every commit says it."""
    return {
        name: commits[0]["trailers"][name][-1]
        for name in AI_METADATA
        if commits and all(name in commit["trailers"] for commit in commits)
    }


def joined_path(folder: str, path: str) -> str:
    return f"{folder}/{path}" if folder else path


def storable_text(value: bytes | str) -> str:
    """Convert to text without characters that no store accepts."""
    plain = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
    return plain.encode("utf-8", "replace").decode().replace("\x00", "\\x00")


if __name__ == "__main__":
    print(json.dumps(read_changes(sys.argv[1], json.loads(sys.argv[2]))))
