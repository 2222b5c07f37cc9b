"""repository-tests: the repository's own tests, with pytest, in a copy of the working copy."""

from __future__ import annotations

import dataclasses
import importlib.util
import shlex
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from . import archive, junit, plugins, tree, verdict
from .process import Ended, environment, stream
from .report import KEPT, Report, StationError, arguments, replace, say

REPORT = KEPT / "tests.xml"
WRONG_USE = 4  # pytest's exit code
ABSENT_PLUGIN = ("unrecognized arguments", "Unknown config option")


def main() -> Report:
    report = tested()
    return dataclasses.replace(report, artifacts=[archive.artifact(REPORT, "application/xml")])


def tested() -> Report:
    """What pytest reported lies at `REPORT`; a report without a test where none ran."""
    given = arguments(
        "Run the tests of the checked-out repository with pytest.",
        tree={"required": True},
        tests={"default": ""},
        triage={"default": "none"},
        limit={"type": float, "default": 1500.0},
    )
    entries = tree.checked(given.tree)
    keep(junit.EMPTY)
    paths = chosen(given.tests)
    if not paths and not any(tree.TEST_FILE.search(tree.name(entry.path)) for entry in entries):
        return verdict.no_tests("The repository has no tests.")
    if importlib.util.find_spec("pytest") is None:
        why = "pytest is not installed for the Python that runs stations on this worker."
        raise StationError(why, "missing_tool", 127)
    with tempfile.TemporaryDirectory(dir=".", prefix=".tests-", ignore_cleanup_errors=True) as folder:
        ended, suite = run(Path(folder).absolute(), paths, given.limit)
    if ended.timed_out:
        return verdict.timed_out(given.limit)
    return verdict.judged(ended, suite, asked=bool(paths), accepted=given.triage == "accept")


def chosen(value: str) -> list[str]:
    """The files and folders to test: the ones typed, else the ones that the repository declares, else none, which is
    the whole suite."""
    try:
        paths = shlex.split(value) or declared("tests")
    except ValueError as error:
        raise StationError(f"The tests to run cannot be read: {error}.", "refused", 2) from error
    for path in paths:
        place = PurePosixPath(path.partition("::")[0])
        if path.startswith("-") or place.is_absolute() or ".." in place.parts or not path.isprintable():
            raise StationError(f"“{path}” is not a path inside the repository.", "refused", 2)
        if not (tree.TREE / place).exists():
            raise StationError(f"The repository has no “{path}” to test.", "refused", 2)
    return paths


def declared(key: str) -> list[str]:
    """A list of words in the repository's pyproject.toml, under `[tool.gateline.repository-check]`: `tests`, the paths
    to test, or `options`, more options for pytest. None where it says nothing."""
    try:
        document: Any = tomllib.loads((tree.TREE / "pyproject.toml").read_text(encoding="utf-8"))
        words = document["tool"]["gateline"]["repository-check"][key]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return []
    return [word for word in words if isinstance(word, str)] if isinstance(words, list) else []


def run(folder: Path, paths: Sequence[str], limit: float) -> tuple[Ended, junit.Suite | None]:
    """Run pytest in a copy, so that what tests write is neither checked nor delivered."""
    copy, home, report = folder / "tree", folder / "home", folder / "junit.xml"
    shutil.copytree(tree.TREE, copy, symlinks=True)
    home.mkdir()
    # Above the copy: without it a repository that has no configuration of its own would get that of whatever folder
    # the workspace lies in.
    (folder / "pytest.ini").write_text("[pytest]\n")
    env = environment(
        HOME=str(home),
        PYTHONPATH=f"{copy}:{copy / 'src'}",
        PYTHONDONTWRITEBYTECODE="1",
        PYTHONUNBUFFERED="1",
    )
    argv = [
        *(sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--color=no", "--tb=short", "-ra"),
        *(f"--rootdir={copy}", f"--confcutdir={copy}", f"--junit-xml={report}", *plugins.unnamed(copy)),
    ]
    more = declared("options")
    ended = stream([*argv, *more, *paths], cwd=copy, env=env, limit=limit)
    if ended.code == WRONG_USE and any(words in ended.tail for words in ABSENT_PLUGIN):
        say("The suite has options of plugins that are not installed. Running it again without its addopts.")
        ended = stream([*argv, "--override-ini=addopts=", *more, *paths], cwd=copy, env=env, limit=limit)
    suite = junit.read(report, f"{copy}/")
    if suite is not None:
        keep(report.read_bytes().replace(f"{copy}/".encode(), f"{tree.TREE}/".encode()))
    return ended, suite


def keep(report: bytes) -> None:
    KEPT.mkdir(exist_ok=True)
    replace(REPORT, report)
