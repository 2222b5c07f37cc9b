"""A condition that is never true, or never false, of anything that reaches the rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pipelines.routing.analysis.lint.finding import ERROR, WARNING, Finding
from pipelines.routing.analysis.lint.subject import LintSubject, is_unconditional
from pipelines.routing.analysis.satisfiability.entrances import StationGate
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.document.stations import Station
from pipelines.routing.sentences import part_names as named

ID = "constant-condition"
CAUSE = "Condition that is always the same"


def check(subject: LintSubject) -> Iterator[Finding]:
    for station in subject.line.stations:
        analysis = subject.analysis(station)
        for index, rule in enumerate(analysis.readable):
            constant = None if is_unconditional(rule) else analysis.constant_truth_of_rule(rule)
            if constant is not None:
                words: dict[str, Any] = {
                    "rule": named.rule_phrase(subject.line, rule.id),
                    "when": named.condition_text(rule.when),
                }
                words["gate"] = _deciding_gate_name(subject.line, station)
                yield Finding(
                    check=ID,
                    severity=WARNING if constant else ERROR,
                    path=f"{subject.path_of_station_or_rule(station, index)}.when",
                    message=_message(constant, words),
                    hint="leave `when` out, if that is meant"
                    if constant
                    else "correct it, or remove the rule",
                    station=station.key,
                    rule=rule.id,
                )


def _deciding_gate_name(line: ParsedLine, station: Station) -> Any:
    """The gate whose checks or words decide what comes to the rules, if one does."""
    if station.gate is None or not StationGate(line, station).decides_before_rules:
        return ""
    return named.gate_part_names(line, [station.gate])


def _message(constant: bool, words: Mapping[str, Any]) -> str:
    if not words["gate"]:
        if constant:
            return _("The condition of rule %(rule)s is never false: %(when)s", **words)
        return _("The condition of rule %(rule)s is never true: %(when)s", **words)
    if constant:
        return _("The condition of rule %(rule)s is never false behind gate %(gate)s: %(when)s", **words)
    return _("The condition of rule %(rule)s is never true behind gate %(gate)s: %(when)s", **words)
