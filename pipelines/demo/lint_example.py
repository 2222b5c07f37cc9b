"""The repository on which *Fix lint findings* is tried: a small bare one, with findings that ruff can fix."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import closing
from pathlib import Path

from dulwich.objects import Blob, Commit, ObjectID, Tree
from dulwich.refs import HEADREF, Ref
from dulwich.repo import Repo

FOLDER, FILE = 0o040000, 0o100644
BRANCH = Ref(b"refs/heads/main")
WHO = b"Gateline <gateline@gateline.invalid>"
MESSAGE = b"Compute what a basket costs\n"
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


def ready(place: Path) -> str:
    """Its folder; made unless it is there. Whoever is first makes it whole."""
    if place.exists():
        return str(place)
    place.parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix=".making-", dir=place.parent))
    with closing(Repo.init_bare(str(made))) as repository:
        repository.refs.set_symbolic_ref(HEADREF, BRANCH)
        commit = Commit()
        commit.tree = _tree(repository, FILES)
        commit.author = commit.committer = WHO
        commit.author_time = commit.commit_time = BEGAN
        commit.author_timezone = commit.commit_timezone = 0
        commit.message = MESSAGE
        repository.object_store.add_object(commit)
        repository.refs[BRANCH] = commit.id
    try:
        made.rename(place)
    except OSError:  # somebody else was first
        shutil.rmtree(made)
    return str(place)


def _tree(repository: Repo, files: dict[str, str]) -> ObjectID:
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
        tree.add(name.encode(), FOLDER, _tree(repository, inner))
    repository.object_store.add_object(tree)
    return tree.id
