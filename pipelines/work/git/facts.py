"""What changed between two trees, as facts (law §13): counted from our own objects, never said by the work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from fnmatch import fnmatchcase
from typing import Any

from dulwich.object_store import BaseObjectStore
from dulwich.objects import Blob, ObjectID

from pipelines.work.git.trees import Leaf

# How a change is checked: tests, how it is built, what runs in CI (law §13). `**/` is any folder, or none.
SENSITIVE = (
    "**/tests/**", "**/test/**", "**/__tests__/**", "**/spec/**", "**/test_*", "**/*_test.*", "**/*.test.*",
    "**/*.spec.*", "**/conftest.py", ".github/**", ".gitlab-ci.yml", ".circleci/**", ".buildkite/**", ".forgejo/**",
    ".gitea/**", "**/Jenkinsfile", "azure-pipelines.yml", "**/Makefile", "**/Dockerfile", "**/*.mk", "**/setup.py",
    "**/setup.cfg", "**/pyproject.toml", "**/tox.ini", "**/noxfile.py", "**/package.json", "**/Cargo.toml", "**/go.mod",
    "**/pom.xml", "**/build.gradle*", "**/CMakeLists.txt", "**/.pre-commit-config.yaml", "**/*.lock",
    "**/package-lock.json", "**/requirements*.txt", "**/.gitattributes", "**/.gitmodules",
)  # fmt: skip
MOST_PATHS = 2000
# Files with more lines than this are counted by which lines they have, not in which order.
MOST_LINES = 4000


def git_facts(
    store: BaseObjectStore,
    before: Mapping[str, Leaf],
    after: Mapping[str, Leaf],
    sensitive: Sequence[str] = SENSITIVE,
) -> dict[str, Any]:
    """files_changed, insertions, deletions, paths and sensitive of the way from one set of files to the other."""
    paths = sorted(path for path in {*before, *after} if before.get(path) != after.get(path))
    inserted = deleted = 0
    for path in paths:
        more, less = lines_changed(_data(store, before.get(path)), _data(store, after.get(path)))
        inserted, deleted = inserted + more, deleted + less
    return {
        "files_changed": len(paths),
        "insertions": inserted,
        "deletions": deleted,
        "paths": paths[:MOST_PATHS],
        "sensitive": [path for path in paths if is_sensitive(path, sensitive)][:MOST_PATHS],
    }


def is_sensitive(path: str, patterns: Sequence[str]) -> bool:
    return any(
        fnmatchcase(path, pattern) or (pattern.startswith("**/") and fnmatchcase(path, pattern[3:]))
        for pattern in patterns
    )


def lines_changed(old: bytes, new: bytes) -> tuple[int, int]:
    """Lines added and removed; none of what is not text."""
    if b"\x00" in old[:8000] or b"\x00" in new[:8000]:
        return 0, 0
    was, now = old.splitlines(), new.splitlines()
    if len(was) + len(now) > MOST_LINES:
        more, less = Counter(now), Counter(was)
        return (more - less).total(), (less - more).total()
    inserted = deleted = 0
    for kind, a, b, c, d in SequenceMatcher(None, was, now, autojunk=False).get_opcodes():
        if kind != "equal":
            inserted, deleted = inserted + d - c, deleted + b - a
    return inserted, deleted


def _data(store: BaseObjectStore, leaf: Leaf | None) -> bytes:
    if leaf is None:
        return b""
    found = store[ObjectID(leaf[1])]
    return found.data if isinstance(found, Blob) else b""
