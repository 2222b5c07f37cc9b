"""A name that stands for nothing in this line."""

from __future__ import annotations

from collections.abc import Iterator

from pipelines.routing.analysis.lint.finding import ERROR, WARNING, Finding
from pipelines.routing.analysis.lint.subject import LintSubject, edge_count_tests, gate_checks
from pipelines.routing.analysis.lint.transitions import ANYWHERE
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.sentences import part_names as named

ID = "unknown-reference"
CAUSE = "Name that does not exist"


def check(subject: LintSubject) -> Iterator[Finding]:
    yield from _rule_findings(subject)
    yield from _field_findings(subject)


def _rule_findings(subject: LintSubject) -> Iterator[Finding]:
    edges = {(transition.source, transition.target) for transition in subject.transitions}
    for station in subject.line.stations:
        for index, rule in enumerate(station.rules):
            place = subject.path_of_station_or_rule(station, index)
            if rule.fault is not None:
                fault = rule.fault
                yield Finding(ID, ERROR, fault.path, fault.message, fault.hint, station.key, rule.id)
                continue
            for edge in edge_count_tests(rule.when):
                # `at_least: 0` is true anyway.
                if edge.at_least and not edges & {(edge.source, edge.target), (edge.source, ANYWHERE)}:
                    message = _(
                        "Rule %(rule)s counts %(source)s → %(target)s, and no way leads there",
                        rule=named.rule_phrase(subject.line, rule.id),
                        source=named.target_part_name(subject.line, edge.source),
                        target=named.target_part_name(subject.line, edge.target),
                    )
                    yield Finding(ID, WARNING, f"{place}.when", message, "", station.key, rule.id)


def _field_findings(subject: LintSubject) -> Iterator[Finding]:
    known = {"gates": set(subject.line.gates_by_key), "input": {field.key for field in subject.line.inputs}}
    for place, gate, test in gate_checks(subject.line):
        family, _dot, name = test.field.partition(".")
        if name and name not in known.get(family, {name}):
            message = _(
                "Gate %(gate)s checks %(field)s, and the line has no such %(family)s",
                gate=named.gate_part_name(subject.line, gate.key),
                field=test.field,
                family=family,
            )
            yield Finding(ID, ERROR, place, message, "correct the name")
