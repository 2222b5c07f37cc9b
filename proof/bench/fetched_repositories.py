"""Repositories of others, with submodules and Git LFS, worked on and merged: bare clones that are here already are
served from a loopback address, and nothing of them is kept.

    python -m proof.bench.fetched_repositories FOLDER CLONE [CLONE…]

`FOLDER` is made and thrown away. Each clone is a bare repository; a submodule is served where a clone has the last part
of its address as its name, as `gene_lists` or `owner+gene_lists`. What a clone lacks (objects that were left out of it)
is left out of the one commit that is served; large files, whose content no clone has, get made-up content of at most a
megabyte."""

from __future__ import annotations

import random
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from hashlib import sha256
from pathlib import Path

from dulwich.objects import Blob, Commit, ObjectID
from dulwich.porcelain import clone
from dulwich.refs import HEADREF, Ref
from dulwich.repo import Repo

from pipelines.work.git import checkout, trees
from pipelines.work.git.lfs.large_files import CONFIG
from pipelines.work.git.lfs.pointers import Pointer, lfs_pointers_by_path
from pipelines.work.git.refusals import GitRefused
from pipelines.work.git.submodules.modules import MODULES, pinned_commit_by_path, submodules_of_tree
from pipelines.work.outgoing.authorities import SETTING, configured_authorities, set_trusted_authorities
from tests.outgoing.authority import company_authority
from tests.work.large.conftest import TOKEN, Visits
from tests.work.large.git_host import GitHost, git_host

MOST_MADE_UP = 1024**2
MAIN = Ref(b"refs/heads/main")


def main() -> None:
    folder, *clones = map(Path, sys.argv[1:])
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "host").mkdir(parents=True)
    by_name = {repository_name(place): place for place in clones}
    authority = company_authority(folder)
    set_trusted_authorities(configured_authorities({SETTING: str(authority.bundle)}))
    print("| repository | files | submodules | large files | seconds | landed |\n|---|---|---|---|---|---|")
    try:
        with git_host(folder / "host", authority.server, TOKEN) as host:
            for place in clones:
                # One that is there as a submodule of another
                if (folder / "host" / f"{repository_name(place)}.git").exists():
                    continue
                print(f"| {worked_on(folder, place, by_name, host)} |", flush=True)
    finally:
        shutil.rmtree(folder)


def repository_name(place: Path) -> str:
    parts = [part for part in place.parts if part not in ("repo", "/")]
    return parts[-1].rpartition("+")[2].removesuffix(".git")


def worked_on(folder: Path, place: Path, by_name: dict[str, Path], host: GitHost) -> str:
    name = repository_name(place)
    counts = serve(folder / "host" / f"{name}.git", place, by_name, host)
    home = folder / f"home-{name}"
    home.mkdir()
    visits = Visits(home, host.url(f"{name}.git"), TOKEN)
    began = time.monotonic()
    ready, workspace = visits.begin()
    with closing(Repo(str(folder / "host" / f"{name}.git"))) as repo:
        check_files(repo, ready.files, workspace, host)
        (workspace / "added-by-a-task.txt").write_text("one line\n")
        large = lfs_pointers_by_path(repo.object_store, ready.files)
    for path in list(large)[:1]:
        (workspace / path).write_bytes(b"another content of a large file\n" * 99)
    visits.end(ready, workspace)
    landed = visits.deliver()
    seconds = time.monotonic() - began
    with closing(Repo(str(folder / "host" / f"{name}.git"))) as repo:
        head = repo[repo.refs[MAIN]]
        assert isinstance(head, Commit) and head.tree.decode() == landed.tree == visits.state.tree
        after = trees.leaf_by_path_of_tree(repo.object_store, head.tree)
        missing = [
            p
            for p, one in lfs_pointers_by_path(repo.object_store, after).items()
            if one.oid not in host.objects
        ]
        assert not missing, missing
        assert pinned_commit_by_path(after) == pinned_commit_by_path(ready.files)
    return " | ".join((name, *map(str, counts), f"{seconds:.1f}", landed.commit[:7]))


def serve(target: Path, place: Path, by_name: dict[str, Path], host: GitHost) -> tuple[int, int, int]:
    """Serve the last commit of a clone, and return how many files, submodules and large files it has."""
    with closing(Repo(str(place))) as source, closing(Repo.init_bare(str(target), mkdir=True)) as repo:
        old = source.object_store
        head = source[source.head()]
        assert isinstance(head, Commit)
        files = dict(present_files(source, head))
        pins, modules = (
            pinned_commit_by_path(files),
            submodules_of_tree(old, files) if MODULES in files else {},
        )
        for path in pins:
            # Where nobody has the submodule, it is taken out
            if path not in modules or not serve_submodule(
                target.parent, modules[path].url, by_name, pins[path]
            ):
                files.pop(path)
        pins = pinned_commit_by_path(files)
        store = repo.object_store
        for _path, (mode, sha) in files.items():
            if mode != trees.SUBMODULE:
                store.add_object(old[sha])
        large = lfs_pointers_by_path(store, files)
        for path, pointer in large.items():
            content = random.Random(path).randbytes(min(pointer.size, MOST_MADE_UP))
            oid = sha256(content).hexdigest()
            host.objects[oid] = content
            files[path] = (files[path][0], added(repo, Pointer(oid, len(content)).text))
        texts = (
            f'[submodule "{p}"]\n\tpath = {p}\n\turl = ../{url_name(modules[p].url)}.git\n' for p in pins
        )
        if pins:
            files[MODULES] = (trees.FILE, added(repo, "".join(texts).encode()))
        # It names a server elsewhere
        files.pop(CONFIG, None)
        tree, made = trees.root_id_and_trees(files)
        for one in made:
            store.add_object(one)
        top = head.copy()
        assert isinstance(top, Commit)
        top.tree, top.parents = tree, []
        store.add_object(top)
        repo.refs[MAIN] = top.id
        repo.refs.set_symbolic_ref(HEADREF, MAIN)
        return len(files), len(pins), len(large)


def present_files(source: Repo, head: Commit) -> Iterator[tuple[str, tuple[int, ObjectID]]]:
    store = source.object_store
    for path, mode, sha in checkout.tree_nodes(store, head.tree, lambda _fault: None):
        if mode == trees.SUBMODULE or (mode != trees.FOLDER and sha in store):
            yield path, (mode, sha)


def url_name(url: str) -> str:
    return url.rstrip("/").rpartition("/")[2].removesuffix(".git")


def serve_submodule(root: Path, url: str, by_name: dict[str, Path], pin: ObjectID) -> bool:
    name = url_name(url)
    place = by_name.get(name)
    if place is None:
        return False
    with closing(Repo(str(place))) as there:
        if pin not in there.object_store:
            return False
    if not (root / f"{name}.git").exists():
        clone(str(place), str(root / f"{name}.git"), bare=True).close()
    return True


def added(repo: Repo, data: bytes) -> ObjectID:
    blob = Blob.from_string(data)
    repo.object_store.add_object(blob)
    return blob.id


def check_files(repo: Repo, files: dict[str, trees.Leaf], workspace: Path, host: GitHost) -> None:
    """Check that a station finds each file, the content of each large one, and a commit in each submodule."""
    for path, pointer in lfs_pointers_by_path(repo.object_store, files).items():
        assert (workspace / path).read_bytes() == host.objects[pointer.oid], path
    for path, pin in pinned_commit_by_path(files).items():
        with closing(Repo(str(workspace / path))) as own:
            assert own.head() == pin, path
    for path, (mode, sha) in files.items():
        assert mode == trees.SUBMODULE or ((workspace / path).lstat() and sha)


if __name__ == "__main__":
    try:
        main()
    except GitRefused as refused:
        sys.exit(str(refused))
