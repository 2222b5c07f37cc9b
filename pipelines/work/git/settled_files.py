"""The files that a station left, as they are stored and shown: what only stands for a file is replaced by it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path

from dulwich.objects import ObjectID

from pipelines.work.git.attempt import Prepared, fetchable_state
from pipelines.work.git.checkout import commit_tree
from pipelines.work.git.damage import refusing_damage
from pipelines.work.git.lfs.large_files import LargeFiles
from pipelines.work.git.lfs.pointers import (
    MOST_POINTER,
    Pointer,
    lfs_attributes_of_workspace,
    parsed_pointer_or_none,
)
from pipelines.work.git.submodules.modules import submodule_text, submodules_of_tree
from pipelines.work.git.submodules.pins import check_submodules, current_commit_by_path
from pipelines.work.git.task_mirror import open_task_mirror
from pipelines.work.git.trees import is_in_submodule, leaf_by_path_of_tree
from pipelines.work.results.files import open_plain_file
from pipelines.work.workspaces import Entry, Picture, file_stamp


@dataclass(frozen=True)
class SettledFiles:
    """`sources`: {digest: (path below the root of the attempt, size)} of what came in. `pins`: {path: commit} of the
    submodules, each of which the picture has as one file that says its commit."""

    picture: Picture
    sources: dict[str, tuple[str, int]] = field(default_factory=dict)
    pins: dict[str, ObjectID] = field(default_factory=dict)


def settle_files(prepared: Prepared, root: Path, workspace: Path, picture: Picture) -> SettledFiles:
    """Put each large file in the place of its pointer, where a station wrote that: a git without LFS does so when it
    checks a file out. Put its commit in the place of each submodule. In a thread.

    :raises GitRefused: nobody has the file; or what changed in a submodule is not its pinned commit"""
    with refusing_damage("What the station left cannot be read"):
        pins = current_commit_by_path(workspace, prepared.files)
        settled = _settled_files_with_pins(picture, root, pins)
        pointers = dict(_pointers_left(workspace, settled.picture))
        # So it is for most stations, which then wait for no lock of the mirror
        if not pointers and not pins:
            return settled
        access, state = prepared.access, prepared.state
        with open_task_mirror(replace(access, state=fetchable_state(prepared)), lambda text: None) as (
            mirror,
            remote,
        ):
            store = mirror.repository.object_store
            if pins:
                # What the station wrote into `.gitmodules` gets no credential
                base_files = leaf_by_path_of_tree(store, commit_tree(store, state.base))
                trusted = {module.url for module in submodules_of_tree(store, base_files).values()}
                check_submodules(access, remote, workspace, prepared.files, prepared.modules, pins, trusted)
            large = LargeFiles(mirror, remote, state.base, lambda text: None, access.stored, access.fetch)
            large.bring_into_mirror(pointers)
            modes = {str(entry["path"]): entry.get("mode", 0) for entry in picture.manifest}
            for path, pointer in pointers.items():
                large.replace_file(workspace, path, pointer, modes[path])
    return _settled_files_with_large_files(
        settled, workspace, workspace.relative_to(root).as_posix(), pointers
    )


def _settled_files_with_pins(picture: Picture, root: Path, pins: Mapping[str, ObjectID]) -> SettledFiles:
    if not pins:
        return SettledFiles(picture)
    # The station could write beside its workspace, links too: what we write goes where it has never been.
    own = Path(tempfile.mkdtemp(prefix="pins-", dir=root))
    manifest = [entry for entry in picture.manifest if not is_in_submodule(str(entry["path"]), pins)]
    sources = {}
    for path, pin in pins.items():
        text = submodule_text(pin)
        digest = sha256(text).hexdigest()
        (own / digest).write_bytes(text)
        manifest.append({"path": path, "mode": 0o644, "digest": digest, "size": len(text)})
        sources[digest] = (f"{own.name}/{digest}", len(text))
    manifest.sort(key=lambda entry: str(entry["path"]))
    stamps = {path: stamp for path, stamp in picture.stamps.items() if not is_in_submodule(path, pins)}
    settled = replace(picture, manifest=tuple(manifest), stamps=stamps)
    return SettledFiles(settled, sources, dict(pins))


def _pointers_left(workspace: Path, picture: Picture) -> Iterator[tuple[str, Pointer]]:
    attributes = lfs_attributes_of_workspace(workspace)
    for path in picture.stamps:
        size = picture.stamps[path][0][0]
        # The size first: it is known already, and rules out most files
        if 0 < size < MOST_POINTER and attributes.is_kept_by_lfs(path):
            with open_plain_file(workspace, path) as file:
                if pointer := parsed_pointer_or_none(file.read(MOST_POINTER)):
                    yield path, pointer


def _settled_files_with_large_files(
    settled: SettledFiles, workspace: Path, below: str, pointers: dict[str, Pointer]
) -> SettledFiles:
    manifest: list[Entry] = []
    stamps, sources = dict(settled.picture.stamps), dict(settled.sources)
    for entry in settled.picture.manifest:
        path = str(entry["path"])
        if pointer := pointers.get(path):
            entry = {**entry, "digest": pointer.oid, "size": pointer.size}
            # By its old stamp the file that was just replaced would be read once more
            stamps[path] = (file_stamp((workspace / path).lstat()), pointer.oid)
            sources[pointer.oid] = (f"{below}/{path}", pointer.size)
        manifest.append(entry)
    picture = replace(settled.picture, manifest=tuple(manifest), stamps=stamps)
    return replace(settled, picture=picture, sources=sources)
