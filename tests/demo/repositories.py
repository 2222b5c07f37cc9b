"""Real git repositories, made by dulwich, so that these tests run on a machine without git too."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from dulwich.objects import Blob, Commit, Tree
from dulwich.repo import Repo

WHEN = 1_700_000_000
AUTHOR = b"Author <author@example.com>"

GOOD = {
    "pyproject.toml": '[project]\nname = "sums"\nversion = "1"\n',
    "sums.py": '"""Sums."""\n\n\ndef total(numbers):\n    return sum(numbers)\n',
    "tests/test_sums.py": "from sums import total\n\n\ndef test_it_adds():\n    assert total([1, 2]) == 3\n",
}


class Repository:
    """A repository in `folder`; each `commit` replaces the whole tree."""

    def __init__(
        self, folder: Path, files: Mapping[str, str | bytes] | None = None, bare: bool = False
    ) -> None:
        folder.mkdir(parents=True)
        self.folder = folder
        self.git = Repo.init_bare(folder) if bare else Repo.init(folder)
        self.git.refs.set_symbolic_ref(b"HEAD", b"refs/heads/main")
        if files is not None:
            self.commit(files)

    def commit(self, files: Mapping[str, str | bytes], branch: str = "main", **modes: int) -> str:
        """Commit `files` (path → content; a content of `-> target` is a link); its number."""
        tree = self.tree({os.fsencode(path): content for path, content in files.items()})
        return self.commit_tree(tree, branch)

    def commit_tree(self, tree: Tree, branch: str = "main") -> str:
        name = f"refs/heads/{branch}".encode()
        commit = Commit()
        commit.tree = tree.id
        commit.parents = [self.git.refs[name]] if name in self.git.refs else []
        commit.author = commit.committer = AUTHOR
        commit.author_time = commit.commit_time = WHEN
        commit.author_timezone = commit.commit_timezone = 0
        commit.message = b"Change it"
        self.git.object_store.add_object(commit)
        self.git.refs[name] = commit.id
        return commit.id.decode()

    def tree(self, files: Mapping[bytes, str | bytes]) -> Tree:
        found = Tree()
        folders: dict[bytes, dict[bytes, str | bytes]] = {}
        for path, content in files.items():
            first, _, rest = path.partition(b"/")
            if rest:
                folders.setdefault(first, {})[rest] = content
            else:
                self.add(found, first, content)
        for name, inside in folders.items():
            found.add(name, stat.S_IFDIR, self.tree(inside).id)
        self.git.object_store.add_object(found)
        return found

    def add(self, tree: Tree, name: bytes, content: str | bytes) -> None:
        data = content.encode() if isinstance(content, str) else content
        link = data.startswith(b"-> ")
        blob = Blob.from_string(data.removeprefix(b"-> "))
        self.git.object_store.add_object(blob)
        executable = data.startswith(b"#!")
        tree.add(name, 0o120000 if link else 0o100755 if executable else 0o100644, blob.id)
