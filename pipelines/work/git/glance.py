"""A look at the files on top of a repository, without its history and without running anything of it: what it is made
of is proposed from that, and people decide."""

from __future__ import annotations

import tempfile
from collections.abc import Collection
from contextlib import closing

from dulwich.object_store import BaseObjectStore
from dulwich.objects import Blob, Commit, ObjectID, Tree
from dulwich.repo import Repo

from pipelines.work.git.refusals import GitRefused
from pipelines.work.git.remote import ERRORS, FetchTooLarge, Remote, _id
from pipelines.work.spec.ecosystems import RepositoryFiles

MOST_FETCHED = 64 * 1024**2
MOST_READ = 8 * 1024**2
"""Of one file: lock files are long."""
SECONDS = 30.0
DEPTH = 1


def glance(remote: Remote, commit: str, wanted: Collection[str]) -> RepositoryFiles:
    """Names on top, and the texts of those that are `wanted`, unless one is longer than MOST_READ.

    :raises GitRefused: it cannot be read, or is too large for a look"""
    try:
        if remote.address.scheme == "folder":
            remote._bounded_folder()
            with closing(Repo(remote.address.path)) as there:
                return _read(there.object_store, _id(commit), wanted)
        with (
            tempfile.TemporaryDirectory(prefix="gateline-look-") as folder,
            closing(Repo.init_bare(folder)) as here,
        ):
            remote.fetch(here, [commit], MOST_FETCHED, lambda text: None, depth=DEPTH, seconds=SECONDS)
            return _read(here.object_store, _id(commit), wanted)
    except FetchTooLarge as error:
        raise GitRefused(f"Its files are more than {MOST_FETCHED // 1024**2} MB.") from error
    except ERRORS as error:
        raise GitRefused(remote.said(error)) from error


def _read(store: BaseObjectStore, commit: ObjectID, wanted: Collection[str]) -> RepositoryFiles:
    head = store[commit]
    top = store[head.tree] if isinstance(head, Commit) else head
    names, texts = set(), {}
    for entry in top.iteritems() if isinstance(top, Tree) else ():
        name = (entry.path or b"").decode("utf-8", "replace")
        is_file = (entry.mode or 0) & 0o170000 == 0o100000
        names.add(name if is_file else f"{name}/")
        if is_file and name in wanted:
            found = store[entry.sha]
            if isinstance(found, Blob) and found.raw_length() <= MOST_READ:
                texts[name] = found.data.decode("utf-8", "replace")
    return RepositoryFiles(frozenset(names), texts)
