"""Real bare repositories in a folder of the test, made and read with dulwich."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from django.utils import timezone
from dulwich.object_store import iter_tree_contents
from dulwich.objects import Blob, Commit, ObjectID, Tree
from dulwich.refs import HEADREF, Ref
from dulwich.repo import Repo

from pipelines.models import AllowedFolder, Owner, Project, Repository
from pipelines.ports.server_folders import PermittedFolder, ServerFolders

WHO = b"Somebody <somebody@example.com>"
FILE, LINK, FOLDER = 0o100644, 0o120000, 0o040000
Files = Mapping[str, bytes | tuple[int, bytes]]


@dataclass(frozen=True)
class RemoteRepository:
    path: Path

    def head(self, branch: str = "main") -> str:
        """ "" where there is no such branch."""
        with closing(Repo(str(self.path))) as repo:
            return repo.refs.as_dict().get(Ref(f"refs/heads/{branch}".encode()), ObjectID(b"")).decode()

    def branch(self, name: str, of: str = "main") -> None:
        with closing(Repo(str(self.path))) as repo:
            repo.refs[Ref(f"refs/heads/{name}".encode())] = ObjectID(self.head(of).encode())

    def commit(self, of: str = "main") -> Commit:
        with closing(Repo(str(self.path))) as repo:
            found = repo[ObjectID((self.head(of) or of).encode())]
            assert isinstance(found, Commit)
            return found

    def files(self, branch: str = "main") -> dict[str, bytes]:
        with closing(Repo(str(self.path))) as repo:
            tree = self.commit(branch).tree
            found = {
                entry.path.decode(): repo[entry.sha] for entry in iter_tree_contents(repo.object_store, tree)
            }
            return {path: blob.data for path, blob in found.items() if isinstance(blob, Blob)}

    def history(self, branch: str = "main") -> set[str]:
        """All commits that lead to it."""
        with closing(Repo(str(self.path))) as repo:
            walker = repo.get_walker(include=[ObjectID(self.head(branch).encode())])
            return {entry.commit.id.decode() for entry in walker}

    def point(self, branch: str, commit: str) -> None:
        """Move a branch by force; "": delete it."""
        with closing(Repo(str(self.path))) as repo:
            ref = Ref(f"refs/heads/{branch}".encode())
            if commit:
                repo.refs[ref] = ObjectID(commit.encode())
            else:
                repo.refs.remove_if_equals(ref, None)

    def add(self, files: Files, message: str = "Change it", *, branch: str = "main", merges: str = "") -> str:
        """A commit with exactly these files on top of the branch. `merges`: another parent."""
        with closing(Repo(str(self.path))) as repo:
            parent = self.head(branch)
            tree = _tree(repo, files)
            commit = Commit()
            parents = [each for each in (parent, merges) if each]
            commit.tree, commit.parents = tree, [ObjectID(each.encode()) for each in parents]
            commit.author = commit.committer = WHO
            commit.author_time = commit.commit_time = 1_700_000_000
            commit.author_timezone = commit.commit_timezone = 0
            commit.message = message.encode()
            repo.object_store.add_object(commit)
            repo.refs[Ref(f"refs/heads/{branch}".encode())] = commit.id
            return commit.id.decode()

    def raw(self, entries: Sequence[tuple[bytes, int, bytes]], branch: str = "main") -> None:
        """A commit whose tree has these entries, whatever git says of them: (name, mode, blob)."""
        with closing(Repo(str(self.path))) as repo:
            text = b""
            for name, mode, data in entries:
                blob = Blob.from_string(data)
                repo.object_store.add_object(blob)
                text += b"%o %s\x00" % (mode, name) + bytes.fromhex(blob.id.decode())
            tree = Tree.from_string(text)
            repo.object_store.add_object(tree)
            commit = Commit()
            commit.tree, commit.author, commit.committer = tree.id, WHO, WHO
            commit.author_time = commit.commit_time = 1_700_000_000
            commit.author_timezone = commit.commit_timezone = 0
            commit.message = b"Raw"
            repo.object_store.add_object(commit)
            repo.refs[Ref(f"refs/heads/{branch}".encode())] = commit.id


def _tree(repo: Repo, files: Files) -> ObjectID:
    folders: dict[str, dict[str, bytes | tuple[int, bytes]]] = {}
    tree = Tree()
    for path, said in files.items():
        name, slash, rest = path.partition("/")
        if slash:
            folders.setdefault(name, {})[rest] = said
            continue
        mode, data = said if isinstance(said, tuple) else (FILE, said)
        blob = Blob.from_string(data)
        repo.object_store.add_object(blob)
        tree.add(name.encode(), mode, blob.id)
    for name, inner in folders.items():
        tree.add(name.encode(), FOLDER, _tree(repo, inner))
    repo.object_store.add_object(tree)
    return tree.id


def remote(path: Path, files: Files | None = None) -> RemoteRepository:
    with closing(Repo.init_bare(str(path), mkdir=True)) as repo:
        repo.refs.set_symbolic_ref(HEADREF, Ref(b"refs/heads/main"))
    made = RemoteRepository(path)
    if files is not None:
        made.add(files, "Begin")
    return made


def allow(owner: Owner, folder: str | Path) -> None:
    """Allow a folder for an owner, as an administrator of the installation does."""
    path = os.path.realpath(folder)
    place = os.stat(path) if os.path.isdir(path) else None
    AllowedFolder.objects.get_or_create(
        owner=owner,
        path=path,
        defaults={
            "device": place.st_dev if place else 0,
            "inode": place.st_ino if place else 0,
            "allowed_at": timezone.now(),
        },
    )


def folders(*paths: str | Path) -> ServerFolders:
    """These folders allowed, as a job brings them along."""
    return ServerFolders(tuple(PermittedFolder(os.path.realpath(path)) for path in paths))


def connect(project: Project, at: RemoteRepository, name: str = "app", **more: str) -> Repository:
    return Repository.objects.create(
        project=project, name=name, address=str(at.path), connected_at=timezone.now(), **more
    )
