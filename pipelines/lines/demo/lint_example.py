"""The repository on which *Fix lint findings* and *Repository check* are tried: a small bare one, with findings that
ruff can fix, and a branch to check and merge."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import closing
from pathlib import Path

from dulwich.objects import Blob, Commit, ObjectID, Tree
from dulwich.refs import HEADREF, Ref
from dulwich.repo import Repo

# Modes of git's tree entries
FOLDER, FILE = 0o040000, 0o100644
BRANCH = Ref(b"refs/heads/main")
OFFERED = "discount"
FINDINGS, IN_FILES = 20, 3
"""What ruff finds in FILES, as the repository sets it up."""
WHO = b"Gateline <gateline@gateline.invalid>"
MESSAGE = b"Compute what a basket costs\n"
OFFER = b"Take off a discount\n"
# 2026-01-01 00:00 UTC; fixed, so that the commits have the same ids everywhere
BEGAN = 1_767_225_600
FILES = {
    ".gitignore": "__pycache__/\n.ruff_cache/\n",
    "README.md": "# Basket\n\nComputes what a basket costs. `python -m unittest` runs its tests.\n",
    "pyproject.toml": """[project]
name = "basket"
version = "1.0"

[tool.ruff.lint]
select = ["E4", "E7", "E9", "F", "I", "UP"]

[tool.pytest.ini_options]
testpaths = ["tests"]
""",
    "basket/__init__.py": "",
    "basket/prices.py": '''import sys
import os
from typing import Dict, List, Optional


def price_of(name: str, prices: Dict[str, int]) -> Optional[int]:
    """In cents; None for what is not sold."""
    return prices.get(name)


def total(names: List[str], prices: Dict[str, int]) -> int:
    found = [price_of(name, prices) for name in names]
    return sum(each for each in found if each is not None)
''',
    "basket/receipt.py": """from basket.prices import total
import json
from typing import Dict, List


def receipt(names: List[str], prices: Dict[str, int]) -> str:
    lines = [f"Receipt"]
    lines += ["{}".format(name) for name in names]
    lines.append("Total: {}".format(total(names, prices)))
    return "\\n".join(lines)
""",
    "tests/__init__.py": "",
    "tests/test_basket.py": """import unittest
import os

from basket.receipt import receipt
from basket.prices import total

PRICES = {"apple": 30, "pear": 45}


class BasketTest(unittest.TestCase):
    def test_total(self) -> None:
        self.assertEqual(total(["apple", "pear", "stone"], PRICES), 75)

    def test_receipt(self) -> None:
        self.assertEqual(receipt(["apple"], PRICES), "Receipt\\napple\\nTotal: 30")
""",
}
# Of files that no fixer touches: it can be merged before and after the findings are fixed.
OFFERED_FILES = {
    "basket/discount.py": '''"""What a customer pays less."""

from random import randrange


def discounted(total: int, percent: int) -> int:
    """In cents, rounded in favour of the customer."""
    return total * (100 - percent) // 100


def lucky() -> int:
    """A discount by lot, in percent."""
    return randrange(1, 6)
''',
    "tests/test_discount.py": """import unittest

from basket.discount import discounted, lucky


class DiscountTest(unittest.TestCase):
    def test_rounds_down(self) -> None:
        self.assertEqual(discounted(75, 10), 67)

    def test_lot(self) -> None:
        self.assertIn(lucky(), range(1, 6))
""",
}


def ensure_repository_and_return_folder(place: Path) -> str:
    """Make the repository and its branch, unless they are there; return its folder. Whoever is first makes it whole."""
    if not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        # Beside its place: on one file system a rename is a single step.
        folder = Path(tempfile.mkdtemp(prefix=".making-", dir=place.parent))
        with closing(Repo.init_bare(str(folder))) as repository:
            repository.refs.set_symbolic_ref(HEADREF, BRANCH)
            repository.refs[BRANCH] = _write_commit(repository, FILES, MESSAGE)
        try:
            folder.rename(place)
        except OSError:  # somebody else was first
            shutil.rmtree(folder)
    _add_branch(place)
    return str(place)


def _add_branch(place: Path) -> None:
    """Add the branch to a repository that was made here and has none."""
    branch = Ref(b"refs/heads/" + OFFERED.encode())
    with closing(Repo(str(place))) as repository:
        # The same commit as when it was made, wherever the branch `main` points by now.
        first = _write_commit(repository, FILES, MESSAGE)
        if branch not in repository.refs and BRANCH in repository.refs:
            repository.refs[branch] = _write_commit(repository, FILES | OFFERED_FILES, OFFER, first)


def _write_commit(
    repository: Repo, files: dict[str, str], message: bytes, parent: ObjectID | None = None
) -> ObjectID:
    """Write a commit, the same one wherever it is written."""
    commit = Commit()
    commit.tree = _write_tree(repository, files)
    commit.parents = [parent] if parent else []
    commit.author = commit.committer = WHO
    # A fixed time, so that every installation has the same ids
    commit.author_time = commit.commit_time = BEGAN
    commit.author_timezone = commit.commit_timezone = 0
    commit.message = message
    repository.object_store.add_object(commit)
    return commit.id


def _write_tree(repository: Repo, files: dict[str, str]) -> ObjectID:
    tree, folders = Tree(), dict[str, dict[str, str]]()
    for path, text in files.items():
        name, below, rest = path.partition("/")
        if below:
            folders.setdefault(name, {})[rest] = text
        else:
            blob = Blob.from_string(text.encode())
            repository.object_store.add_object(blob)
            tree.add(name.encode(), FILE, blob.id)
    for name, inner in folders.items():
        tree.add(name.encode(), FOLDER, _write_tree(repository, inner))
    repository.object_store.add_object(tree)
    return tree.id
