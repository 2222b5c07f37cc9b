"""A look at the files of a repository, without its history and without running anything of it: what it is made of is
proposed from those on top, and people decide; what no station would get is told before one fails."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass

from dulwich.object_store import BaseObjectStore
from dulwich.objects import Blob, Commit, ObjectID, ShaFile, Tree
from dulwich.repo import Repo

from pipelines.work.git.checkout import tree_faults
from pipelines.work.git.folder_state import missing_parts_text_or_empty
from pipelines.work.git.refusals import GitRefused
from pipelines.work.git.remote import ERRORS, Remote, _object_id
from pipelines.work.git.submodules.modules import (
    pinned_commit_by_path,
    submodule_repository_address,
    submodules_of_tree,
)
from pipelines.work.spec.ecosystems import RepositoryFiles

MOST_FETCHED = 64 * 1024**2
MOST_READ = 8 * 1024**2
"""Of one file: lock files are long."""
SECONDS = 30.0
DEPTH = 2
"""The commit and those before it: a server that cannot give these has a shallow clone."""


@dataclass(frozen=True)
class RepositoryOverview:
    """`reasons`: why entries are not taken; `count`: of files at any depth."""

    files: RepositoryFiles
    reasons: list[str]
    count: int


def read_overview(remote: Remote, commit: str, file_names: Collection[str]) -> RepositoryOverview:
    """Return the names of the files at the top, and the texts of those in `file_names`, unless one is longer
    than MOST_READ. :raises GitRefused: it cannot be read, or lacks something; FetchTooLarge"""
    try:
        if remote.address.scheme == "folder":
            remote._check_folder_sizes()
            with closing(Repo(remote.address.path)) as there:
                if reason := missing_parts_text_or_empty(there):
                    raise GitRefused(reason)
                return _overview_of_commit(there.object_store, _object_id(commit), file_names, remote)
        with (
            tempfile.TemporaryDirectory(prefix="gateline-look-") as folder,
            closing(Repo.init_bare(folder)) as here,
        ):
            remote.fetch(here, [commit], MOST_FETCHED, lambda text: None, depth=DEPTH, seconds=SECONDS)
            return _overview_of_commit(here.object_store, _object_id(commit), file_names, remote)
    except ERRORS as error:
        raise GitRefused(remote.describe_error(error)) from error


def _overview_of_commit(
    store: BaseObjectStore, commit: ObjectID, file_names: Collection[str], remote: Remote
) -> RepositoryOverview:
    head = store[commit]
    top = store[head.tree] if isinstance(head, Commit) else head
    faults = tree_faults(store, top.id)
    reasons = [*faults.reasons, *_submodule_faults(store, faults.files, remote)]
    return RepositoryOverview(_read_top_files(store, top, file_names), reasons, faults.count)


def _submodule_faults(
    store: BaseObjectStore, files: Mapping[str, tuple[int, ObjectID]], remote: Remote
) -> Iterator[str]:
    """Say of each submodule why its address is not taken: none is asked for anything."""
    pins = pinned_commit_by_path(files)
    try:
        modules = submodules_of_tree(store, files) if pins else {}
    except GitRefused as refused:
        yield str(refused)
        return
    for path in pins:
        try:
            submodule_repository_address(path, modules, remote.address, remote.folders)
        except GitRefused as refused:
            yield str(refused)


def _read_top_files(store: BaseObjectStore, top: ShaFile, file_names: Collection[str]) -> RepositoryFiles:
    names, texts = set(), {}
    for entry in top.iteritems() if isinstance(top, Tree) else ():
        name = (entry.path or b"").decode("utf-8", "replace")
        # The kind of the entry: no link, no folder, no submodule
        is_file = (entry.mode or 0) & 0o170000 == 0o100000
        names.add(name if is_file else f"{name}/")
        if is_file and name in file_names:
            git_object = store[entry.sha]
            # A repository of any size may be looked at here
            if isinstance(git_object, Blob) and git_object.raw_length() <= MOST_READ:
                texts[name] = git_object.data.decode("utf-8", "replace")
    return RepositoryFiles(frozenset(names), texts)
