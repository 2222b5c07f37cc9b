"""What lint says of a draft, in the words and the shape in which the canvas shows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext as _

from pipelines.linting import examined
from pipelines.models import Project
from pipelines.queries.conditions import describe
from pipelines.routing.difference.words import brief
from pipelines.routing.line import Rule, Station
from pipelines.routing.lint.aftermath import then
from pipelines.routing.lint.checks import not_publishable
from pipelines.routing.lint.checks.no_rule_takes import is_gap
from pipelines.routing.lint.finding import Finding
from pipelines.routing.lint.standings import RuleStanding, StationStandings, Untaken
from pipelines.routing.regions.situations import Witness
from pipelines.routing.regions.stations import DEAD, SHADOWED, UNKNOWN
from pipelines.views.overview import otherwise
from pipelines.views.remedies.of_findings import Remedies, rule_for
from pipelines.views.remedies.of_places import place_of, remedies_of

MAX_REMEDIED = 100
"""Findings that come with remedies: the worst come first."""


def findings_of(draft: Mapping[str, Any], project: Project) -> dict[str, Any]:
    """Of a draft, which may be no line yet. Raises Invalid: what no draft may hold.

    `findings`: each with its remedies. `rules`: of each rule where it stands, by id. `untaken`: of each station what no
    rule takes. `otherwise`: what the policy does. `visits`: how often a station can be entered at most.
    """
    found = examined(draft, project)
    line = found.line
    remedies = Remedies(found.subject, draft) if found.subject else None
    told = {
        "findings": [
            _finding(each, draft, remedies if index < MAX_REMEDIED else None)
            for index, each in enumerate(found.findings)
        ],
        "rules": {},
        "untaken": {},
        "otherwise": {},
        "visits": dict(found.visits),
    }
    if line is None or remedies is None:
        return told
    drawn = list(zip(line.stations, found.stations, strict=True))
    instead = {each.rule: each.witness for each in found.findings if each.check == "dead-rule"}
    return told | {
        "rules": {rule["id"]: rule for pair in drawn for rule in _rules(*pair, instead)},
        "untaken": {
            station.key: [_untaken(remedies, station, each) for each in gaps]
            for station, standings in drawn
            if (gaps := [each for each in standings.untaken if is_gap(station, each.outcomes)])
        },
        "otherwise": {station.key: otherwise(line, station) for station in line.stations},
    }


# Findings


def _finding(finding: Finding, draft: Mapping[str, Any], remedies: Remedies | None) -> dict[str, Any]:
    place = place_of(draft, finding.path) if finding.station is None else None
    return {
        "check": finding.check,
        "severity": finding.severity,
        "path": finding.path,
        "message": finding.message,
        "hint": finding.hint,
        "station": finding.station or (place.station if place else None),
        "rule": finding.rule or (place.rule if place else None),
        "gate": place.gate if place else None,
        "rules": list(finding.rules),
        "witness": _example(finding.witness),
        "help": reverse("help-page", args=[finding.check]),
        "remedies": [each.to_dict() for each in _remedies(finding, draft, remedies)],
    }


def _remedies(finding: Finding, draft: Mapping[str, Any], remedies: Remedies | None) -> Sequence[Any]:
    if finding.check == not_publishable.ID:
        return remedies_of(draft, finding)
    return remedies.of(finding) if remedies else ()


# Rules


def _rules(
    station: Station, standings: StationStandings, instead: Mapping[str | None, Witness | None]
) -> list[dict[str, Any]]:
    pairs = zip(station.rules, standings.rules, strict=True)
    return [_rule(station, rule, standing, instead.get(rule.id)) for rule, standing in pairs]


def _rule(station: Station, rule: Rule, standing: RuleStanding, instead: Witness | None) -> dict[str, Any]:
    """`example`: an outcome that the rule takes; of a dead rule one that it would take, and an earlier one does."""
    return {
        "id": rule.id,
        "status": standing.standing,
        "words": str(rule.fault) if rule.fault else describe(rule.when),
        "faulty": rule.fault is not None,
        "why": _why(station, standing),
        "example": _example(standing.witness or instead),
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


# What no rule takes


def _untaken(remedies: Remedies, station: Station, untaken: Untaken) -> dict[str, Any]:
    remedy = rule_for(remedies, station, untaken.outcomes) if untaken.witness else None
    return {
        "outcomes": untaken.outcomes,
        "example": _example(untaken.witness),
        "then": then(untaken.witness.decision) if untaken.witness else "",
        "why": untaken.why,
        "remedies": [remedy.to_dict()] if remedy else [],
    }


def _example(witness: Witness | None) -> str:
    """The outcome, and the facts that it needs, in words of the document; "" where there is none."""
    if witness is None:
        return ""
    facts = witness.situation.get("facts")
    outcome = brief(witness.situation["outcome"])
    return f"{outcome} {_('with')} {brief(facts)}" if facts else outcome
