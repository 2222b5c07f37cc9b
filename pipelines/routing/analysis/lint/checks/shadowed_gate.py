"""A gate that can be gone round: an earlier rule to the same target takes a part, without this gate."""

from __future__ import annotations

from collections.abc import Iterator

from pipelines.routing.analysis.lint.finding import WARNING, Finding
from pipelines.routing.analysis.lint.subject import LintSubject
from pipelines.routing.analysis.regions.stations import DEAD
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.document.model import Line
from pipelines.routing.document.rules import Rule
from pipelines.routing.sentences import references as named

ID = "shadowed-gate"


def check(subject: LintSubject) -> Iterator[Finding]:
    for station, index, standing in subject.standings():
        rule = standing.rule
        if rule.fault is not None or not rule.gates or standing.status == DEAD:
            continue
        for shadow in subject.analysis(station).shadows(rule):
            other = subject.line.rules_by_id[shadow.by][1]
            missing = _missing(subject.line, rule, other)
            if missing:
                words = {
                    "rule": named.rule(subject.line, rule.id),
                    "other": named.rule(subject.line, other.id),
                    "gates": named.gates(subject.line, missing),
                }
                yield Finding(
                    check=ID,
                    severity=WARNING,
                    path=f"{subject.path(station, index)}.gates",
                    message=_(
                        "Rule %(other)s leads to the same target past the gate %(gates)s of %(rule)s", **words
                    ),
                    hint=_("put the gate on %(other)s, too, or move %(rule)s up", **words),
                    station=station.key,
                    rule=rule.id,
                    rules=(other.id,),
                    witness=shadow.witness,
                )


def _missing(line: Line, rule: Rule, other: Rule) -> list[str]:
    """Gates of the rule that do something, and that the other, to the same target, has not."""
    if not set(rule.to) & set(other.to):
        return []
    return [key for key in rule.gates if key not in other.gates and line.gate(key).mode != "skip"]
