"""The commit of an attempt on another machine: its objects are taken into a mirror of the server's own, and everything
that is said of it is found there (law §15). Of the runner's word only the ids count, and those are checked."""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from asgiref.sync import async_to_sync
from django.conf import settings
from dulwich.object_store import BaseObjectStore
from dulwich.objects import S_ISGITLINK, Blob, Commit, ObjectID
from dulwich.pack import PackData

from pipelines.models import Job
from pipelines.work import storage
from pipelines.work.git import base_contents, branch_joins, checkout, facts, trees
from pipelines.work.git.attempt import count_commits_ahead, state_to_start_from
from pipelines.work.git.damage import refusing_damage
from pipelines.work.git.gitignore import MOST_BYTES as MOST_PATTERNS
from pipelines.work.git.gitignore import IgnoreFiles
from pipelines.work.git.lfs.large_files import LargeFiles
from pipelines.work.git.lfs.pointers import Pointer
from pipelines.work.git.mirror import Mirror, Mirrors
from pipelines.work.git.refusals import GitRefused
from pipelines.work.git.remote import Remote
from pipelines.work.git.submodules.modules import pinned_commit_by_path, submodule_text, submodules_of_tree
from pipelines.work.git.submodules.pins import published_files
from pipelines.work.git.task_mirror import open_task_mirror
from pipelines.work.git.trees import LINK, Leaf
from pipelines.work.orders.order import Orders
from pipelines.work.runners import files, server_config
from pipelines.work.spec.repository import GitLeft, GitState, RepositoryAccess
from pipelines.work.transport.local.repositories import branch_state_for_job
from pipelines.work.transport.local.station_values import job_values
from pipelines.work.transport.protocol import Started
from pipelines.work.worker import repository
from pipelines.work.workspaces import Entry

IGNORE_FILE: Final = ".gitignore"
MOST_IGNORE_FILES: Final = 2_000
DELIVERY_TRAILER: Final = b"Gateline-Delivery"
"""By which a delivery is known again after a crash: only commits of ours have it."""


@dataclass(frozen=True)
class CheckedCommit:
    """`facts`: the group `git`. `before`: the tree with which the work began."""

    left: GitLeft
    facts: dict[str, Any]
    before: str


def checked_commit(
    job: Job, lease: uuid.UUID, orders: Orders, git_fields: Mapping[str, Any], manifest: Iterable[Entry]
) -> CheckedCommit:
    """Check the commit that a runner uploaded, and return it with its facts. `git_fields`: {branch,
    base_branch, base, head, pack}; `manifest`: of the files that were stored with it. :raises GitRefused:
    this visit could not have made it, or its files differ"""
    state = branch_state_for_job(job.pk)
    config = server_config.build_config()
    started = Started(orders, lease, job_values(job))
    access = async_to_sync(repository.access_with_git_credential)(
        repository.repository_access(started, state, config, _fetch_artifact)
    )
    head, from_base = _checked_commit_id(git_fields, "head"), _checked_commit_id(git_fields, "base")
    with (
        refusing_damage("What was uploaded is no commit"),
        open_task_mirror(access, _ignore_progress) as (mirror, remote),
    ):
        begun, settles, stood = state_to_start_from(access, mirror, remote, _ignore_progress)
        if git_fields.get("pack"):
            _add_objects_sent_by_runner(mirror, str(git_fields["pack"]), head)
        begun = _state_from_base(access, mirror, begun, from_base)
        for name in ("branch", "base_branch"):
            if git_fields.get(name) != getattr(begun, name):
                raise GitRefused("The commit is on another branch than that of this task.")
        # Without objects it can only be a commit that the server has already
        if head not in {begun.head, *state.heads} and not git_fields.get("pack"):
            raise GitRefused("The objects of the commit were not sent.")
        store = mirror.repository.object_store
        tree = checkout.commit_tree(store, head)
        leaves = trees.leaf_by_path_of_tree(store, tree)
        _check_ancestry(mirror, state, begun, head)
        if settles:
            settles.refuse_remaining_conflict_marks(store, leaves)
        large = LargeFiles(mirror, remote, begun.base, _ignore_progress)
        _check_files_equal_commit(store, leaves, tuple(manifest), large.pointers(leaves))
        base_files = trees.leaf_by_path_of_tree(store, checkout.commit_tree(store, begun.base))
        group = {
            "base": begun.base,
            "head": head,
            "tree": tree.decode(),
            "commits": count_commits_ahead(mirror, begun.base, head),
            **facts.git_facts(store, base_files, leaves, access.order.sensitive),
        }
        # A commit that only the runner has could be fetched by nobody
        _check_pins_are_published(access, remote, store, begun, leaves)
        before = _store_base_contents(job, lease, store, base_files, leaves, large)
        tree_before = settles.tree if settles else checkout.commit_tree(store, begun.head)
    order = access.order
    left = GitLeft(
        order.repository, order.name, begun.branch, begun.base_branch, begun.base, head, tree.decode(),
        str(git_fields.get("pack") or ""), before,
    )  # fmt: skip
    return CheckedCommit(left, group, stood or tree_before.decode())


def _fetch_artifact(stored: str, path: Path) -> None:
    storage.copy_stored_bytes(storage.artifact_storage(), stored, path)


def _ignore_progress(text: str) -> None:
    """Nobody reads along."""


def _checked_commit_id(git_fields: Mapping[str, Any], name: str) -> str:
    value = git_fields.get(name)
    # 40: SHA-1 in hexadecimal, as git names commits
    if not isinstance(value, str) or len(value) != 40 or not set(value) <= files.HEX:
        raise GitRefused(f"{name} is no id of a commit.")
    return value


def _add_objects_sent_by_runner(mirror: Mirror, digest: str, head: str) -> None:
    """Objects that the runner sent, its commit among them. What lies in the mirror for other tasks is not its own."""
    with tempfile.TemporaryDirectory(
        prefix="packs-", dir=Mirrors(Path(settings.WORKSPACES_DIR)).base
    ) as folder:
        place = Path(folder) / "pack"
        storage.copy_stored_bytes(
            storage.artifact_storage(), storage.storage_names_by_digest([digest])[digest], place
        )
        mirror.add_pack(place)
        with closing(
            PackData(str(place), object_format=mirror.repository.object_store.object_format)
        ) as pack:
            ids = {
                entry[0].hex()
                for entry in pack.iterentries(resolve_ext_ref=mirror.repository.object_store.get_raw)
            }
    if head not in ids:
        raise GitRefused("The objects of the commit were not sent.")


def _state_from_base(access: RepositoryAccess, mirror: Mirror, begun: GitState, from_base: str) -> GitState:
    """The base may have moved between the runner's look and ours: then it has to be a commit that it came from."""
    if from_base == begun.base:
        return begun
    fixed = access.state.head and not access.state.moved and not access.state.branches
    if (
        fixed
        or not mirror.has_commit(from_base)
        or not branch_joins.is_ancestor(mirror, from_base, begun.base)
    ):
        raise GitRefused("The commit does not start where this task stands.")
    return replace(begun, base=from_base, head=from_base if not access.state.head else begun.head)


def _check_ancestry(mirror: Mirror, state: GitState, begun: GitState, head: str) -> None:
    """Every commit of the task stays below it, unless the base was rewritten; none of the new ones passes for ours."""
    below = [] if state.moved else list(state.heads or (begun.base,))
    if not all(branch_joins.is_ancestor(mirror, sha, head) for sha in below):
        raise GitRefused("The commit is not on top of what was committed before.")
    new = mirror.repository.get_walker(
        include=[ObjectID(head.encode())],
        exclude=[ObjectID(sha.encode()) for sha in (begun.base, *state.heads)],
        # The runner chooses how many commits it sends
        max_entries=10_000,
    )
    for entry in new:
        commit = entry.commit
        if isinstance(commit, Commit) and DELIVERY_TRAILER in commit.message:
            raise GitRefused("A commit of a station cannot pass for a delivery.")


def _check_files_equal_commit(
    store: BaseObjectStore,
    leaves: Mapping[str, Leaf],
    manifest: tuple[Entry, ...],
    pointers: Mapping[str, Pointer],
) -> None:
    """Check that what people see is what is committed: each file of the tree was stored as it is, and besides
    them only what `.gitignore` names."""
    stored = {str(entry["path"]): entry for entry in manifest if not entry.get("folder")}
    for path, (mode, sha) in leaves.items():
        entry = stored.pop(path, None)
        # The file was stored with its content, the commit has the pointer
        if pointer := pointers.get(path):
            if entry is None or (entry.get("digest"), entry.get("size")) != (pointer.oid, pointer.size):
                raise GitRefused(f"{path} was stored otherwise than its pointer of Git LFS says.")
            continue
        blob = None if S_ISGITLINK(mode) else store[sha]
        data = blob.data if isinstance(blob, Blob) else submodule_text(sha) if S_ISGITLINK(mode) else b""
        if entry is None or not _is_same_file(entry, mode, data):
            raise GitRefused(f"{path} was stored otherwise than it was committed.")
    extra = [path for path in stored if not trees.is_git_like_path(path)]
    if extra:
        _check_all_ignored(extra, manifest)


def _check_pins_are_published(
    access: RepositoryAccess,
    remote: Remote,
    store: BaseObjectStore,
    begun: GitState,
    leaves: Mapping[str, Leaf],
) -> None:
    """Check that the remotes of submodules have the commits to which the runner set them."""
    pins = pinned_commit_by_path(leaves)
    if not pins:
        return
    old = pinned_commit_by_path(trees.leaf_by_path_of_tree(store, checkout.commit_tree(store, begun.head)))
    base_files = trees.leaf_by_path_of_tree(store, checkout.commit_tree(store, begun.base))
    trusted = {module.url for module in submodules_of_tree(store, base_files).values()}
    modules = submodules_of_tree(store, leaves)
    for path, pin in pins.items():
        if old.get(path) != pin:
            published_files(access, remote, modules, path, pin, trusted)


def _is_same_file(entry: Entry, mode: int, data: bytes) -> bool:
    if mode == LINK:
        # The target of a link may be no UTF-8: its bytes are compared
        return "link" in entry and str(entry["link"]).encode(errors="surrogateescape") == data
    return "digest" in entry and entry["size"] == len(data) and entry["digest"] == sha256(data).hexdigest()


def _check_all_ignored(paths: list[str], manifest: tuple[Entry, ...]) -> None:
    patterns = [e for e in manifest if Path(str(e["path"])).name == IGNORE_FILE and "digest" in e]
    patterns = [entry for entry in patterns if entry["size"] <= MOST_PATTERNS][:MOST_IGNORE_FILES]
    places = storage.storage_names_by_digest({str(entry["digest"]) for entry in patterns})
    with tempfile.TemporaryDirectory(prefix="ignored-") as folder:
        for entry in patterns:
            place = Path(folder) / str(entry["path"])
            place.parent.mkdir(parents=True, exist_ok=True)
            storage.copy_stored_bytes(storage.artifact_storage(), places[str(entry["digest"])], place)
        ignored = IgnoreFiles(Path(folder))
        for path in paths:
            if not ignored.is_ignored(path):
                raise GitRefused(f"{path} was stored and not committed.")


def _store_base_contents(
    job: Job,
    lease: uuid.UUID,
    store: BaseObjectStore,
    base_files: Mapping[str, Leaf],
    leaves: Mapping[str, Leaf],
    large: LargeFiles,
) -> dict[str, Any]:
    """The changed files as the base has them, stored here: the difference can be shown without the repository."""
    with tempfile.TemporaryDirectory(prefix="base-") as folder:
        before, base_blobs = base_contents.base_entries_and_stored_sources(
            store, base_files, leaves, Path(folder), large
        )
        for digest, (name, size) in base_blobs.items():
            with (Path(folder) / name).open("rb") as file:
                files.keep_file(job, lease, digest, size, file)
    return before
