"""What a run of pytest means for the line."""

from __future__ import annotations

from typing import Any

from . import dependencies, junit, plugins, tree
from .process import Ended
from .report import Report, asks
from .text import clip, count, one_line

NOTHING_COLLECTED = 5  # pytest's exit code
TIMED_OUT = 124  # the exit code of timeout(1)
SAID: dict[str, Any] = {
    "has_tests": True,
    "accepted": False,
    "triage": "none",
}  # beside what the report counts


def no_tests(words: str) -> Report:
    return Report(words, output=SAID | {"has_tests": False})


def timed_out(limit: float) -> Report:
    return broken(f"The tests did not end within {limit:.0f} seconds.", "timeout", TIMED_OUT)


def judged(ended: Ended, suite: junit.Suite | None, *, asked: bool, accepted: bool) -> Report:
    """The report on a run that ended. pytest's exit code is kept, but for failures that triage has accepted.

    `asked`: somebody named what to test, so that finding nothing is a mistake.
    """
    if lacking := missing(ended, suite):
        return blocked(lacking, ended.code)
    if ended.code == NOTHING_COLLECTED:
        if not asked:
            return no_tests("The repository has no tests that pytest finds.")
        return broken("pytest found no test in what was asked for.", "suite", ended.code)
    if suite is None or ended.code not in (0, 1):
        return broken(f"The tests could not be run: {last_word(ended)}", "suite", ended.code or 1)
    return counted(suite, ended.code, accepted)


def missing(ended: Ended, suite: junit.Suite | None) -> list[str]:
    """What the suite needs and this worker has not, as far as it could not even start for want of it."""
    texts = suite.collection if suite else []
    if suite is None or ended.code not in (0, 1):
        texts = [*texts, ended.tail]
    if lacking := dependencies.missing(texts):
        return lacking
    if suite and any(dependencies.FIXTURE.search(problem.text) for problem in suite.problems):
        return plugins.absent(tree.TREE)
    return []


def counted(suite: junit.Suite, code: int, accepted: bool) -> Report:
    passed = count(suite.passed, "test")
    words = f"{passed} passed, {suite.failed} failed, {suite.errors} broke, {suite.skipped} skipped."
    output = SAID | {"exit_code": code, "accepted": accepted and code == 1}
    if code == 0:
        return Report(words, output)
    if accepted:
        return Report(f"{words} Accepted in triage.", output)
    return Report(words, output, "fail", code, "tests_failed", comment=listed(suite))


def blocked(lacking: list[str], code: int) -> Report:
    names = ", ".join(lacking)
    question = (
        f"The tests cannot run without {names}. Can you install what is missing for the Python that runs stations on "
        "the worker? They run again when you answer."
    )
    return Report(
        f"Blocked: the tests cannot run without {names}.",
        output=SAID | {"exit_code": code, "missing": lacking},
        verdict="blocked",
        exit_code=code,
        failure_type="missing_dependencies",
        blockers=[dependencies.blocker(module, tree.TREE) for module in lacking],
        signals=asks(question),
    )


def broken(summary: str, failure_type: str, code: int) -> Report:
    """A run that says nothing about the code. A signal's number becomes a shell's exit code."""
    exit_code = code if code > 0 else 128 - code
    return Report(summary, SAID | {"exit_code": code}, "fail", exit_code, failure_type)


def listed(suite: junit.Suite) -> str:
    """The first failures, one a line, for whoever reads them in triage."""
    lines = [f"{problem.test}: {clip(one_line(problem.message), 200)}" for problem in suite.problems[:10]]
    more = len(suite.problems) - len(lines)
    return "\n".join([*lines, *([f"… and {more} more"] if more > 0 else [])])


def last_word(ended: Ended) -> str:
    """The error line that pytest ends with, if any."""
    lines = [line.strip() for line in ended.tail.splitlines() if line.strip(" =")]
    errors = [line for line in lines if line.startswith(("ERROR", "E  ", "INTERNALERROR"))]
    return clip(one_line((errors or lines or [f"pytest ended with {ended.code}"])[-1]))
