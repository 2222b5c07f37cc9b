"""Lint results of a draft, in the words and the shape in which the canvas displays them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import lru_cache, partial
from typing import Any

from django.urls import reverse

from pipelines.lines.project_lint import examine_document
from pipelines.models import Project
from pipelines.routing.analysis.lint.checks import not_publishable
from pipelines.routing.analysis.lint.checks.no_rule_takes import is_untaken_worth_finding
from pipelines.routing.analysis.lint.examination import Examination
from pipelines.routing.analysis.lint.finding import INFO, Finding
from pipelines.routing.analysis.lint.guarantee_findings import GuaranteeFinding
from pipelines.routing.analysis.lint.policy_outcome import policy_outcome_text
from pipelines.routing.analysis.lint.rule_liveness import UntakenOutcomes
from pipelines.routing.analysis.lint.run import cause_label_of_check
from pipelines.routing.analysis.lint.station_analysis import RememberedAnalysis, StationAnalysis
from pipelines.routing.analysis.lint.transitions import rejection_target_by_gate
from pipelines.routing.analysis.lint.visits import unbounded_cycle_targets_by_rule
from pipelines.routing.analysis.satisfiability.liveness import DEAD, SHADOWED, UNKNOWN, Liveness
from pipelines.routing.analysis.satisfiability.situations import Witness
from pipelines.routing.basics.plural import singular_or_plural
from pipelines.routing.basics.wording import as_heading, as_sentence, people_text
from pipelines.routing.document.algebra import EdgeCountTest, condition_leaf_tests
from pipelines.routing.document.line import ParsedLine, Station
from pipelines.routing.sentences.conditions import condition_words
from pipelines.routing.sentences.names import station_name
from pipelines.routing.sentences.values import shortened_unquoted_json
from pipelines.web.editor.fixes.finding_fixes import last_rule_remedy_or_none, safe_remedies_likeliest_first
from pipelines.web.editor.fixes.path_fixes import document_place, path_remedies
from pipelines.web.editor.fixes.remedies import Remedies
from pipelines.web.lines.badges import line_badges
from pipelines.web.lines.findings import finding_message
from pipelines.web.lines.guarantees import guarantee_view
from pipelines.web.lines.overview import fallback_text

MAX_REMEDIED = 100
"""Findings that come with remedies: the worst come first."""
MAX_NOTES = 100
"""Findings that are neither errors nor warnings; of the others none is left out."""
# Analyses whose rules a process remembers in words
REMEMBERED = 4_000


def draft_findings(draft: Mapping[str, Any], project: Project) -> dict[str, Any]:
    """Return the findings of a draft, which may be no line yet. Raises Invalid: content that no draft may
    hold."""
    return examination_data(examine_document(draft, project), draft)


def examination_data(examination: Examination, draft: Mapping[str, Any]) -> dict[str, Any]:
    """Return the results of examining this draft. `findings`: each with its remedies, `left_out` the number
    of notes beyond them. `rules`: where each rule stands, by id. `untaken`: by station, the outcomes that
    no rule takes. `otherwise`: what the policy does. `visits`: how often a station can be entered at most.
    `onward`: where the policy leads passed outcomes that no rule takes. `rejected`: by gate, the station
    that a rejection leads to. `endless`: by rule id, the targets that go on round a cycle that no budget
    crosses. `guarantees`: the result for each. `signs`: see `line_badges`."""
    remedies = Remedies(examination.subject, draft) if examination.subject else None
    grave = sum(finding.severity != INFO for finding in examination.findings)
    # The worst come first, so all errors and warnings stand before the notes.
    visible = examination.findings[: grave + MAX_NOTES]
    answer: dict[str, Any] = {
        "findings": [
            _finding_data(finding, draft, remedies if index < MAX_REMEDIED else None)
            for index, finding in enumerate(visible)
        ],
        "left_out": len(examination.findings) - len(visible),
        "rules": {},
        "untaken": {},
        "otherwise": {},
        "visits": dict(examination.visits),
        "onward": {},
        "rejected": {},
        "endless": {},
        "guarantees": [_guarantee_data(guarantee) for guarantee in examination.guarantee_findings],
        "signs": {"stations": {}, "rules": {}, "line": []},
    }
    # A draft that is no line yet has findings about its document alone.
    if remedies is None:
        return answer
    line = remedies.line
    studies = ((station, remedies.subject.analysis(station)) for station in line.stations)
    return answer | {
        "rules": {
            rule["id"]: _rule_with_station_names(line, rule)
            for _station, study in studies
            for rule in _rules_data(RememberedAnalysis(study))
        },
        "untaken": {
            station.key: [_untaken_outcomes_data(remedies, station, gap) for gap in gaps]
            for station, standings in zip(line.stations, examination.stations, strict=True)
            if (gaps := [gap for gap in standings.untaken if is_untaken_worth_finding(station, gap.outcomes)])
        },
        "otherwise": {station.key: fallback_text(line, station) for station in line.stations},
        "onward": remedies.subject.policy_target_by_station,
        "rejected": rejection_target_by_gate(line),
        "endless": unbounded_cycle_targets_by_rule(remedies.subject),
        "signs": line_badges(remedies.subject),
    }


# Findings


def _finding_data(finding: Finding, draft: Mapping[str, Any], remedies: Remedies | None) -> dict[str, Any]:
    # A finding about the document has no station of its own, only a path.
    place = document_place(draft, finding.path) if finding.station is None else None
    message = finding_message(finding, draft)
    return {
        "check": finding.check,
        "severity": finding.severity,
        "path": finding.path,
        "cause": people_text(cause_label_of_check(finding.check)),
        "message": message,
        "short": as_heading(finding.short) or message.removesuffix("."),
        "why": as_sentence(finding.why),
        "hint": as_sentence(finding.hint),
        "station": finding.station or (place.station if place else None),
        "rule": finding.rule or (place.rule if place else None),
        "gate": place.gate if place else None,
        "rules": list(finding.rules),
        "witness": _example_text(finding.witness),
        "help": reverse("help-page", args=[finding.check]),
        "remedies": [remedy.to_dict() for remedy in _finding_remedies(finding, draft, remedies)],
    }


def _finding_remedies(finding: Finding, draft: Mapping[str, Any], remedies: Remedies | None) -> Sequence[Any]:
    if finding.check == not_publishable.ID:
        return path_remedies(draft, finding)
    return safe_remedies_likeliest_first(remedies, finding) if remedies else ()


# Guarantees


def _guarantee_data(answer: GuaranteeFinding) -> dict[str, Any]:
    """Return the result of one guarantee. `because`: what stopped an unknown proof, or the path that breaks a
    refuted one, whose moves are in `ways`."""
    view = guarantee_view(answer)
    return {
        "id": view.id,
        "sentence": view.sentence,
        "answer": view.answer,
        "because": view.because,
        "tried": view.tried,
        "ways": [asdict(move) for move in answer.moves],
    }


# Rules


@lru_cache(maxsize=REMEMBERED)
def _rules_data(known: RememberedAnalysis) -> tuple[dict[str, Any], ...]:
    """Return the rules of one station; an analysis covers certain rules, and after most changes it is the
    same one as before."""
    standings = known.study.standings
    numbers = {liveness.rule.id: number for number, liveness in enumerate(standings, start=1)}
    return tuple(_rule_data(known.study, numbers, liveness) for liveness in standings)


def _rule_with_station_names(line: ParsedLine, rule: dict[str, Any]) -> dict[str, Any]:
    """An analysis knows the rules of one station only, so a condition on edges has keys of stations in its words."""
    when = line.rules_by_id[rule["id"]][1].when
    if not any(isinstance(leaf, EdgeCountTest) for leaf in condition_leaf_tests(when)):
        return rule
    return {**rule, "words": condition_words(when, called=partial(station_name, line))}


def _rule_data(study: StationAnalysis, numbers: Mapping[str, int], liveness: Liveness) -> dict[str, Any]:
    """`example`: an outcome that the rule takes; of a dead rule one that it would take, and an earlier one does."""
    rule = liveness.rule
    return {
        "id": rule.id,
        "status": liveness.status,
        "words": as_sentence(rule.fault.message) if rule.fault else condition_words(rule.when),
        "faulty": rule.fault is not None,
        "why": _liveness_reason(study, numbers, liveness),
        "example": _example_text(liveness.witness or liveness.instead),
    }


def _liveness_reason(study: StationAnalysis, numbers: Mapping[str, int], liveness: Liveness) -> str:
    if liveness.status == UNKNOWN:
        return people_text(liveness.why)
    if liveness.status == DEAD and not liveness.killers:
        return "Never matches: nothing that reaches this station satisfies it."
    if liveness.status == DEAD:
        rules = [str(numbers[rule_id]) for rule_id in liveness.killers]
        return singular_or_plural(
            "Never matches: rule %(rules)s already takes everything.",
            "Never matches: rules %(rules)s already take everything.",
            len(rules),
        ) % {"rules": ", ".join(rules)}
    # By their numbers: the canvas shows no ids
    shadows = [str(numbers[shadow.by]) for shadow in study.shadows(liveness.rule)]
    if liveness.status == SHADOWED and shadows:
        return singular_or_plural(
            "Rule %(rules)s takes a part of it.", "Rules %(rules)s take a part of it.", len(shadows)
        ) % {"rules": ", ".join(shadows)}
    return ""


# What no rule takes


def _untaken_outcomes_data(remedies: Remedies, station: Station, untaken: UntakenOutcomes) -> dict[str, Any]:
    remedy = last_rule_remedy_or_none(remedies, station, untaken.outcomes) if untaken.witness else None
    return {
        "outcomes": untaken.outcomes,
        "example": _example_text(untaken.witness),
        "then": people_text(policy_outcome_text(remedies.line, untaken.witness.decision))
        if untaken.witness
        else "",
        "why": people_text(untaken.why),
        "remedies": [remedy.to_dict()] if remedy else [],
    }


def _example_text(witness: Witness | None) -> str:
    """The outcome, and the facts that it needs, in words of the document; "" where there is none."""
    if witness is None:
        return ""
    facts = witness.situation.get("facts")
    outcome = shortened_unquoted_json(witness.situation["outcome"])
    return f"{outcome} with {shortened_unquoted_json(facts)}" if facts else outcome
