"""What lint says of a draft, as the canvas shows it: per finding, per rule, per station."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _

from pipelines.queries.conditions import describe
from pipelines.routing import jsontext
from pipelines.routing.line import DocumentError, Line, Problem, Station, read_line
from pipelines.routing.lint.finding import Finding
from pipelines.routing.lint.run import lint, visits
from pipelines.routing.lint.subject import Subject
from pipelines.routing.regions.stations import DEAD, SHADOWED, UNKNOWN, Standing
from pipelines.views.overview import otherwise

MAX_EXAMPLE = 160


def findings_of(draft: Any) -> dict[str, Any]:
    """Of a draft that may be anything that JSON can hold."""
    try:
        line = read_line(draft, keep_faulty_rules=True)
    except DocumentError as fault:
        found = [_problem(each) for each in fault.problems]
        return {"findings": found, "rules": {}, "otherwise": {}, "visits": {}}
    subject = Subject(line)
    return {
        "findings": [_finding(each) for each in lint(line)],
        "rules": {
            standing.rule.id: _rule(subject, station, standing)
            for station, _at, standing in subject.standings()
        },
        "otherwise": {station.key: otherwise(line, station) for station in line.stations},
        "visits": visits(line),
    }


def _problem(problem: Problem) -> dict[str, Any]:
    """Of a document that cannot be read as a line: an error like any other, without a station to go to."""
    return {
        "check": "not-readable",
        "severity": "error",
        "path": problem.path,
        "message": f"{problem.path}: {problem.message}" if problem.path else problem.message,
        "hint": problem.hint,
        "station": None,
        "rule": None,
    }


def _finding(finding: Finding) -> dict[str, Any]:
    said = finding.to_dict()
    return {key: said[key] for key in ("check", "severity", "path", "message", "hint", "station", "rule")}


def _rule(subject: Subject, station: Station, standing: Standing) -> dict[str, Any]:
    rule = standing.rule
    return {
        "status": standing.status,
        "words": describe(rule.when) if not rule.fault else str(rule.fault),
        "why": _why(subject, station, standing),
        "example": _example(subject.line, station, standing),
    }


def _why(subject: Subject, station: Station, standing: Standing) -> str:
    if standing.status == UNKNOWN:
        return standing.why
    if standing.never:
        return _("Never true: nothing that reaches this station fits.")
    if standing.status == DEAD:
        return _("Never reached: earlier rules (%(rules)s) already take everything.") % {
            "rules": _numbers(station, standing.killers)
        }
    if standing.status == SHADOWED:
        by = tuple(shadow.by for shadow in subject.analysis(station).shadows(standing.rule))
        return (
            _("Earlier rules (%(rules)s) take a part of it.") % {"rules": _numbers(station, by)} if by else ""
        )
    return ""


def _numbers(station: Station, ids: tuple[str, ...]) -> str:
    return ", ".join(str(number) for number, rule in enumerate(station.rules, start=1) if rule.id in ids)


def _example(line: Line, station: Station, standing: Standing) -> str:
    """An outcome that the rule takes; of a dead rule there is none."""
    if standing.witness is None:
        return ""
    text = jsontext.dumps(standing.witness.situation["outcome"])
    return text if len(text) <= MAX_EXAMPLE else text[:MAX_EXAMPLE] + "…"
