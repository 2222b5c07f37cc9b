"""The change that a station has made so far, counted as at its end and stored nowhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dulwich.object_store import MemoryObjectStore, OverlayObjectStore
from dulwich.objects import ShaFile

from pipelines.work.git import checkout, facts, trees
from pipelines.work.git.attempt import Prepared, count_commits_ahead
from pipelines.work.git.damage import refusing_damage
from pipelines.work.git.submodules.pins import current_commit_by_path
from pipelines.work.git.task_mirror import open_task_mirror
from pipelines.work.workspaces import Entry


def change_so_far(prepared: Prepared, workspace: Path, manifest: tuple[Entry, ...]) -> dict[str, Any]:
    """Return the facts `git` of the files as `manifest` lists them; without `head`, as nothing is committed. What the
    station writes meanwhile may be in it or not. In a thread. :raises GitRefused"""
    access, state = prepared.access, prepared.state
    with (
        refusing_damage("What the station changed cannot be counted"),
        open_task_mirror(replace(access, state=replace(state, packs=())), lambda text: None) as (
            mirror,
            _remote,
        ),
    ):
        store = mirror.repository.object_store
        leaves, blobs = trees.read_workspace_tree_and_new_blobs(
            workspace, manifest, prepared.files, store, current_commit_by_path(workspace, prepared.files)
        )
        # Built as the commit would be, so that its id is the one that people will approve
        tree, _made = trees.root_id_and_trees(leaves)
        base_files = trees.leaf_by_path_of_tree(store, checkout.commit_tree(store, state.base))
        counted = facts.git_facts(
            store_with_new_blobs(store, blobs), base_files, leaves, access.order.sensitive
        )
        commits = count_commits_ahead(mirror, state.base, state.head)
    changed = leaves != prepared.files or prepared.settles is not None
    return {"base": state.base, "tree": tree.decode(), "commits": commits + changed, **counted}


def store_with_new_blobs(store: Any, blobs: Sequence[ShaFile]) -> OverlayObjectStore:
    """Return a store that has these, too, in memory alone."""
    memory = MemoryObjectStore()
    for blob in blobs:
        memory.add_object(blob)
    return OverlayObjectStore([memory, store])
