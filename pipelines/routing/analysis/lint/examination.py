"""Everything that lint says of one document, as a value: what the tool, the API, publishing and the pages show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pipelines.routing.analysis.lint.checks import not_publishable
from pipelines.routing.analysis.lint.finding import ERROR, SEVERITIES, WARNING, Finding
from pipelines.routing.analysis.lint.guarantee_findings import GuaranteeFinding
from pipelines.routing.analysis.lint.people import People
from pipelines.routing.analysis.lint.rule_liveness import StationLiveness, liveness_of_all_stations
from pipelines.routing.analysis.lint.run import run_all_checks
from pipelines.routing.analysis.lint.subject import LintSubject, RequiredChecks
from pipelines.routing.analysis.lint.visits import max_entries_by_station
from pipelines.routing.basics.problems import Problem
from pipelines.routing.document.model import ParsedLine

Prove = Callable[[LintSubject], tuple[GuaranteeFinding, ...]]
Locate = Callable[[Iterable[Problem]], tuple[Problem, ...]]
"""Problems with line and column of the text that they came from."""


@dataclass(frozen=True, slots=True)
class Examination:
    """`line`: None where the document could not be read as one; then there are only findings.

    `visits`: how often each station that is reached can be entered at most. `subject`: what the checks looked at, for
    further questions about the same line.
    """

    findings: tuple[Finding, ...]
    line: ParsedLine | None = None
    visits: Mapping[str, int] = field(default_factory=dict)
    stations: tuple[StationLiveness, ...] = ()
    subject: LintSubject | None = field(default=None, compare=False, repr=False)

    @property
    def errors(self) -> tuple[Finding, ...]:
        """Findings that keep the line from being published."""
        return tuple(finding for finding in self.findings if finding.severity == ERROR)

    @property
    def guarantee_findings(self) -> tuple[GuaranteeFinding, ...]:
        """Findings on the guarantees, in their order."""
        return self.subject.promises if self.subject else ()

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The errors as what is wrong with a document elsewhere."""
        return tuple(Problem(f.path, f.message, f.hint, f.line, f.column) for f in self.errors)

    def counts(self) -> dict[str, int]:
        by_severity = Counter(finding.severity for finding in self.findings)
        return {severity: by_severity[severity] for severity in SEVERITIES}

    def with_problems(self, problems: Iterable[Problem]) -> Examination:
        """Return the examination with these problems as errors: they prevent publishing, too."""
        added = tuple(map(not_publishable.problem_finding, problems))
        return replace(
            # Errors stay first, as in the order of lint.
            self,
            findings=(*self.errors, *added, *(f for f in self.findings if f.severity != ERROR)),
        )

    def with_warnings(self, warnings: Iterable[Finding]) -> Examination:
        """Return the examination with these warnings, which have to be acknowledged before publishing."""
        grave = tuple(finding for finding in self.findings if finding.severity in (ERROR, WARNING))
        rest = tuple(finding for finding in self.findings if finding.severity not in (ERROR, WARNING))
        return replace(self, findings=(*grave, *warnings, *rest))

    def with_positions(self, locate: Locate) -> Examination:
        """Return the examination with line and column everywhere. A finding that knows its line already keeps
        it."""
        paths = [finding.path for finding in self.findings]
        paths += [path for station in self.stations for path in station.paths()]
        # Taken below in the order of `paths`: the findings, then each station with its rules.
        places = iter([(p.line, p.column) for p in locate([Problem(path, "") for path in paths])])
        findings = [(finding, next(places)) for finding in self.findings]
        return replace(
            self,
            findings=tuple(f if f.line is not None else f.with_position(*place) for f, place in findings),
            stations=tuple(station.with_positions(places) for station in self.stations),
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "line": self.line.key if self.line else None,
            "readable": self.line is not None,
            "counts": self.counts(),
            "findings": [finding.to_dict() for finding in self.findings],
            "visits": dict(self.visits),
            "stations": [station.to_dict() for station in self.stations],
            "guarantees": [promise.to_dict() for promise in self.guarantee_findings],
        }


def examine_line(
    line: ParsedLine,
    people: People | None = None,
    required: RequiredChecks | None = None,
    prove: Prove | None = None,
) -> Examination:
    """`people`: who there is to decide; without them nothing is said of whether they suffice. `prove`: who proves the
    guarantees of the line; else nothing is said of them."""
    subject = LintSubject(line, people, required)
    # Before the checks: broken_guarantee and unproved_guarantee read them from the subject.
    subject.promises = prove(subject) if prove else ()
    return Examination(
        run_all_checks(subject),
        line,
        max_entries_by_station(subject),
        liveness_of_all_stations(subject),
        subject,
    )


def unreadable_examination(problems: Iterable[Problem]) -> Examination:
    """Return the examination of a document that is no line: its problems as findings."""
    return Examination(tuple(map(not_publishable.problem_finding, problems)))
