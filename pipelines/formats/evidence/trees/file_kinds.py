"""Kinds of a file by its path: written by a program, a picture, or one that decides whether the rest is
checked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Final

from pipelines.formats.evidence.trees.lock_files import LOCK_FILES

PICTURES: Final = frozenset(("png", "jpeg", "gif", "webp"))
"""Of `signatures.content_kind`, what holds no markup."""
_GENERATED: Final = [
    "*.lock",
    "*.min.js",
    "*.min.css",
    "*.map",
    "*.pb.go",
    "*_pb2.py",
    "*.snap",
    "*.designer.cs",
    *LOCK_FILES,
]
_GENERATED_FOLDERS: Final = frozenset(["dist", "vendor", "node_modules", "__snapshots__", "__pycache__"])
_WRITTEN: Final = re.compile(rb"@generated\b|[Cc]ode generated .{0,80}DO NOT EDIT|AUTO-?GENERATED FILE")
LEAD: Final = 2048
"""Bytes in which a file says that a program wrote it."""

TESTS, BUILD, CI, LISTED = "tests", "build", "ci", "listed"
_CI: Final = [
    ".github/*",
    ".gitlab-ci.yml",
    ".gitlab/ci/*",
    ".circleci/*",
    ".buildkite/*",
    ".forgejo/workflows/*",
    ".gitea/workflows/*",
    ".woodpecker/*",
    ".woodpecker.yml",
    "Jenkinsfile",
    "*/Jenkinsfile",
    "azure-pipelines.yml",
    ".travis.yml",
    ".pre-commit-config.yaml",
    ".drone.yml",
]
_BUILD: Final = frozenset(
    [
        ".gitattributes",
        ".gitmodules",
        "Makefile",
        "makefile",
        "GNUmakefile",
        "Dockerfile",
        "Containerfile",
        "compose.yaml",
        "docker-compose.yml",
        "pyproject.toml",
        "setup.py",
        "setup.cfg",
        "tox.ini",
        "noxfile.py",
        "pytest.ini",
        ".coveragerc",
        "ruff.toml",
        "mypy.ini",
        "package.json",
        "tsconfig.json",
        "vite.config.ts",
        "vitest.config.ts",
        "jest.config.js",
        "biome.json",
        "biome.jsonc",
        "eslint.config.js",
        "go.mod",
        "Cargo.toml",
        "pom.xml",
        "CMakeLists.txt",
        "requirements.txt",
        "Gemfile",
        "composer.json",
        *LOCK_FILES,
    ]
)
_BUILD_NAMES: Final = ["requirements*.txt", "*.lock", "*.mk", "build.gradle*"]
_TEST_FOLDERS: Final = frozenset(["test", "tests", "spec", "specs", "__tests__", "testdata", "e2e"])
_TEST_NAMES: Final = [
    "test_*",
    "*_test.*",
    "conftest.py",
    "*.test.*",
    "*.spec.*",
    "*Test.java",
    "*Tests.cs",
    "*_spec.rb",
]


def is_generated(path: str, lead: bytes = b"") -> bool:
    *folders, name = path.split("/")
    return (
        any(fnmatchcase(name, pattern) for pattern in _GENERATED)
        or not _GENERATED_FOLDERS.isdisjoint(folders)
        or _WRITTEN.search(lead[:LEAD]) is not None
    )


def sensitivity_or_empty(path: str, patterns: Sequence[str] = ()) -> str:
    """TESTS, BUILD or CI of a file by which the rest is judged, else "". Where a line lists `patterns`, these and no
    others count (law §13); LISTED is what they name besides."""
    if patterns and not any(_path_matches(path, pattern) for pattern in patterns):
        return ""
    return _default_sensitivity_or_empty(path) or (LISTED if patterns else "")


def _path_matches(path: str, pattern: str) -> bool:
    """`**/` is any folder, or none."""
    return fnmatchcase(path, pattern) or (
        pattern.startswith("**/") and fnmatchcase(path, pattern.removeprefix("**/"))
    )


def _default_sensitivity_or_empty(path: str) -> str:
    *folders, name = path.split("/")
    if any(fnmatchcase(path, pattern) for pattern in _CI):
        return CI
    if name in _BUILD or any(fnmatchcase(name, pattern) for pattern in _BUILD_NAMES):
        return BUILD
    if not _TEST_FOLDERS.isdisjoint(folders) or any(fnmatchcase(name, pattern) for pattern in _TEST_NAMES):
        return TESTS
    return ""
