"""repository-tests: the repository's own tests, with pytest, in a copy of the working copy."""

from __future__ import annotations

import importlib.util
import re
import shlex
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from . import dependencies, junit, tree
from .process import Ended, environment, stream
from .report import Report, StationError, arguments, say
from .text import clip, count, one_line

TEST_FILE = re.compile(r"(^|/)(tests?/(.*/)?[^/]+|test[^/]*|[^/]*_test)\.py")
LISTED = 50  # failures in a report; the numbers count all of them
NOTHING_COLLECTED = 5  # pytest's exit codes
WRONG_USE = 4
TIMED_OUT = 124  # the exit code of timeout(1)


def main() -> Report:
    given = arguments(
        "Run the tests of the checked-out repository with pytest.",
        tree={"required": True},
        tests={"default": ""},
        triage={"default": "none"},
        limit={"type": float, "default": 1500.0},
    )
    entries = tree.checked(given.tree)
    paths = chosen(given.tests)
    if not paths and not any(TEST_FILE.search(tree.name(entry.path)) for entry in entries):
        return Report("The repository has no tests.", output=numbers(junit.Suite(), has_tests=False))
    if importlib.util.find_spec("pytest") is None:
        raise StationError(
            "pytest is not installed for the Python that runs stations on this worker.", "missing_tool"
        )
    with tempfile.TemporaryDirectory(dir=".", prefix=".tests-", ignore_cleanup_errors=True) as folder:
        ended, suite = run(Path(folder).absolute(), paths, given.limit)
    return judged(ended, suite, bool(paths), given.triage == "accept", given.limit)


def chosen(value: str) -> list[str]:
    """The files and folders to test: the ones typed, else the ones that the repository names in its pyproject.toml
    under `[tool.gateline.repository-check] tests`, else none, which is the whole suite."""
    try:
        paths = shlex.split(value) or declared()
    except ValueError as error:
        raise StationError(f"The tests to run cannot be read: {error}.", "refused", 2) from error
    for path in paths:
        place = PurePosixPath(path.partition("::")[0])
        if path.startswith("-") or place.is_absolute() or ".." in place.parts or not path.isprintable():
            raise StationError(f"“{path}” is not a path inside the repository.", "refused", 2)
        if not (tree.TREE / place).exists():
            raise StationError(f"The repository has no “{path}” to test.", "refused", 2)
    return paths


def declared() -> list[str]:
    try:
        document: Any = tomllib.loads((tree.TREE / "pyproject.toml").read_text(encoding="utf-8"))
        paths = document["tool"]["gateline"]["repository-check"]["tests"]
    except (OSError, ValueError, KeyError, TypeError):
        return []
    return [path for path in paths if isinstance(path, str)] if isinstance(paths, list) else []


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
        *(f"--rootdir={copy}", f"--confcutdir={copy}", f"--junit-xml={report}"),
    ]
    ended = stream([*argv, *paths], cwd=copy, env=env, limit=limit)
    if ended.code == WRONG_USE and "unrecognized arguments" in ended.tail:
        say(
            "The suite asks for options of pytest plugins that are not installed: running it without its addopts."
        )
        ended = stream([*argv, "--override-ini=addopts=", *paths], cwd=copy, env=env, limit=limit)
    return ended, junit.read(report)


def judged(ended: Ended, suite: junit.Suite | None, asked: bool, accepted: bool, limit: float) -> Report:
    """The report on a run of pytest. Its exit code is kept, but for failures that triage has accepted."""
    if ended.timed_out:
        return broken(f"The tests did not end within {limit:.0f} seconds.", "timeout", TIMED_OUT, suite)
    unread = suite.collection if suite else []
    started = suite is not None and ended.code in (0, 1)
    if lacking := dependencies.missing(unread if started else [*unread, ended.tail]):
        return blocked(lacking, ended.code, suite)
    if ended.code == NOTHING_COLLECTED and not asked:
        return Report(
            "The repository has no tests that pytest finds.", output=numbers(suite, has_tests=False)
        )
    if suite is None or ended.code not in (0, 1):
        why = (
            "pytest found no test in what was asked for"
            if ended.code == NOTHING_COLLECTED
            else last_word(ended)
        )
        return broken(f"The tests could not be run: {why}", "suite", ended.code or 1, suite)
    return counted(suite, ended.code, accepted)


def counted(suite: junit.Suite, code: int, accepted: bool) -> Report:
    passed = count(suite.passed, "test")
    words = f"{passed} passed, {suite.failed} failed, {suite.errors} broke, {suite.skipped} skipped."
    output = numbers(suite) | {"exit_code": code, "accepted": accepted and code == 1}
    if code == 0:
        return Report(words, output=output)
    if accepted:
        return Report(f"{words} Accepted in triage.", output=output)
    return Report(words, output, "fail", code, "tests_failed", comment=listed(suite))


def blocked(lacking: list[str], code: int, suite: junit.Suite | None) -> Report:
    names = ", ".join(lacking)
    question = (
        f"The tests cannot be imported without {names}. Install what is missing for the Python that runs stations on "
        "the worker, then answer here, and the tests run again; or cancel the task."
    )
    return Report(
        f"Blocked: the tests cannot be imported without {names}.",
        output=numbers(suite) | {"exit_code": code, "missing": lacking},
        verdict="blocked",
        exit_code=code,
        failure_type="missing_dependencies",
        comment=question,
        blockers=[dependencies.blocker(module, tree.TREE) for module in lacking],
    )


def broken(summary: str, failure_type: str, code: int, suite: junit.Suite | None) -> Report:
    output = numbers(suite) | {"exit_code": code}
    return Report(summary, output, "fail", code if code > 0 else 128 - code, failure_type)


def numbers(suite: junit.Suite | None, has_tests: bool = True) -> dict[str, Any]:
    suite = suite or junit.Suite()
    return {
        "has_tests": has_tests,
        **{key: getattr(suite, key) for key in ("tests", "passed", "failed", "errors", "skipped")},
        "failures": [
            {"kind": kind, "test": clip(test), "message": clip(message or text)}
            for kind, test, message, text in suite.problems[:LISTED]
        ],
        "truncated": len(suite.problems) > LISTED,
        "accepted": False,
        "triage": "none",
    }


def listed(suite: junit.Suite) -> str:
    """The first failures, one a line, for whoever reads them in triage."""
    lines = [
        f"{test}: {clip(one_line(message or text), 200)}" for _, test, message, text in suite.problems[:10]
    ]
    more = len(suite.problems) - len(lines)
    return "\n".join([*lines, *([f"… and {more} more"] if more > 0 else [])])


def last_word(ended: Ended) -> str:
    """The error line that pytest ends with, if any."""
    lines = [line.strip() for line in ended.tail.splitlines() if line.strip(" =")]
    errors = [line for line in lines if line.startswith(("ERROR", "E  ", "INTERNALERROR"))]
    return clip(one_line((errors or lines or [f"pytest ended with {ended.code}"])[-1]))
