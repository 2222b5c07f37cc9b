"""Problems that keep the line from being published, from the same place that publishing asks."""

from __future__ import annotations

from collections.abc import Iterator

from pipelines.routing.analysis.lint.finding import ERROR, Finding
from pipelines.routing.analysis.lint.subject import LintSubject
from pipelines.routing.basics.problems import Problem
from pipelines.routing.document.publishable import publishing_problems

ID = "not-publishable"
CAUSE = "Incomplete or invalid"


def check(subject: LintSubject) -> Iterator[Finding]:
    """Faulty rules are told by unknown-reference."""
    reported = set(subject.line.faults)
    for problem in publishing_problems(subject.line):
        if problem not in reported:
            yield problem_finding(problem)


def problem_finding(problem: Problem) -> Finding:
    return Finding(
        ID, ERROR, problem.path, problem.message, problem.hint, line=problem.line, column=problem.column
    )
