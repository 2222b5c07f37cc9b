"""A gate that can be gone round: an earlier rule to the same target takes a part, without this gate."""

from __future__ import annotations

from collections.abc import Iterator

from pipelines.routing.analysis.lint.finding import WARNING, Finding
from pipelines.routing.analysis.lint.subject import LintSubject
from pipelines.routing.analysis.satisfiability.liveness import DEAD
from pipelines.routing.basics.wording import Wording
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.document.rules import Rule
from pipelines.routing.sentences import part_names as named

ID = "shadowed-gate"
CAUSE = "Gate that can be bypassed"


def check(subject: LintSubject) -> Iterator[Finding]:
    for station, index, liveness in subject.liveness_of_all_rules():
        rule = liveness.rule
        # A rule that never matches is told by another check.
        if rule.fault is not None or not rule.gates or liveness.status == DEAD:
            continue
        for shadow in subject.analysis(station).shadows(rule):
            other = subject.line.rules_by_id[shadow.by][1]
            missing = _missing_gates(subject.line, rule, other)
            if missing:
                yield Finding(
                    check=ID,
                    severity=WARNING,
                    path=f"{subject.path_of_station_or_rule(station, index)}.gates",
                    message=_message(subject.line, rule, other, missing),
                    hint=_hint(subject.line, rule, other),
                    station=station.key,
                    rule=rule.id,
                    rules=(other.id,),
                    witness=shadow.witness,
                )


def _message(line: ParsedLine, rule: Rule, other: Rule, missing: list[str]) -> str:
    words = {
        "rule": named.rule_phrase(line, rule.id),
        "other": named.rule_phrase(line, other.id),
        "gates": named.gate_part_names(line, missing),
    }
    return Wording.of(
        f"Rule {other.id} leads to the same target past the gate {', '.join(missing)} of {rule.id}",
        _("Rule %(other)s leads to the same target past the gate %(gates)s of rule %(rule)s", **words),
    )


def _hint(line: ParsedLine, rule: Rule, other: Rule) -> str:
    words = {"rule": named.rule_phrase(line, rule.id), "other": named.rule_phrase(line, other.id)}
    return Wording.of(
        f"put the gate on {other.id}, too, or move {rule.id} up",
        _("put the gate on rule %(other)s, too, or move rule %(rule)s up", **words),
    )


def _missing_gates(line: ParsedLine, rule: Rule, other: Rule) -> list[str]:
    """Gates of the rule that do something, and that the other, to the same target, has not."""
    if not set(rule.to) & set(other.to):
        return []
    return [key for key in rule.gates if key not in other.gates and line.gate(key).mode != "skip"]
