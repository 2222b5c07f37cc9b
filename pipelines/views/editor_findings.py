"""What lint says of a draft, in the words and the shape in which the canvas shows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _

from pipelines.linting import examined
from pipelines.models import Project
from pipelines.queries.conditions import describe
from pipelines.routing import jsontext
from pipelines.routing.line import Rule, Station
from pipelines.routing.lint.finding import Finding
from pipelines.routing.lint.standings import RuleStanding, StationStandings
from pipelines.routing.regions.stations import DEAD, SHADOWED, UNKNOWN
from pipelines.views.overview import otherwise

MAX_EXAMPLE = 160


def findings_of(draft: Mapping[str, Any], project: Project) -> dict[str, Any]:
    """Of a draft, which may be no line yet. Raises Invalid: what no draft may hold."""
    found = examined(draft, project)
    stations = found.line.stations if found.line else ()
    drawn = list(zip(stations, found.stations, strict=False))
    return {
        "findings": [_finding(each) for each in found.findings],
        "rules": {rule["id"]: rule for station, standings in drawn for rule in _rules(station, standings)},
        "otherwise": {station.key: otherwise(found.line, station) for station in stations}
        if found.line
        else {},
        "visits": dict(found.visits),
    }


def _finding(finding: Finding) -> dict[str, Any]:
    said = finding.to_dict()
    return {key: said[key] for key in ("check", "severity", "path", "message", "hint", "station", "rule")}


def _rules(station: Station, standings: StationStandings) -> list[dict[str, Any]]:
    pairs = zip(station.rules, standings.rules, strict=True)
    return [_rule(station, rule, standing) for rule, standing in pairs]


def _rule(station: Station, rule: Rule, standing: RuleStanding) -> dict[str, Any]:
    return {
        "id": rule.id,
        "status": standing.standing,
        "words": str(rule.fault) if rule.fault else describe(rule.when),
        "why": _why(station, standing),
        "example": _example(standing),
    }


def _why(station: Station, standing: RuleStanding) -> str:
    if standing.standing == UNKNOWN:
        return standing.why
    if standing.standing == DEAD and not standing.killers:
        return _("Never true: nothing that reaches this station fits.")
    if standing.standing == DEAD:
        numbers = _numbers(station, standing.killers)
        return _("Never reached: earlier rules (%(rules)s) already take everything.") % {"rules": numbers}
    if standing.standing == SHADOWED and standing.shadowed_by:
        return _("Earlier rules (%(rules)s) take a part of it.") % {
            "rules": _numbers(station, standing.shadowed_by)
        }
    return ""


def _numbers(station: Station, ids: Sequence[str]) -> str:
    return ", ".join(str(number) for number, rule in enumerate(station.rules, start=1) if rule.id in ids)


def _example(standing: RuleStanding) -> str:
    """An outcome that the rule takes; of a dead rule there is none."""
    if standing.witness is None:
        return ""
    text = jsontext.dumps(standing.witness.situation["outcome"])
    return text if len(text) <= MAX_EXAMPLE else text[:MAX_EXAMPLE] + "…"
