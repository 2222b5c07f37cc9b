"""A rule of which an earlier rule takes a part; the situation shows what."""

from __future__ import annotations

from collections.abc import Iterator

from pipelines.routing.analysis.lint.finding import INFO, Finding
from pipelines.routing.analysis.lint.subject import LintSubject, is_unconditional
from pipelines.routing.analysis.satisfiability.liveness import SHADOWED
from pipelines.routing.basics.wording import PartName
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.sentences import part_names as named

ID = "shadowed-rule"
CAUSE = "Rule that is partly shadowed"
MAX_NAMED = 5
"""In a sentence for machines."""


def check(subject: LintSubject) -> Iterator[Finding]:
    """A rule without a condition is meant to take what is left: nothing is said of it."""
    for station, index, liveness in subject.liveness_of_all_rules():
        if liveness.status != SHADOWED or is_unconditional(liveness.rule):
            continue
        shadows = subject.analysis(station).shadows(liveness.rule)
        if shadows:
            names = [shadow.by for shadow in shadows]
            yield Finding(
                check=ID,
                severity=INFO,
                path=subject.path_of_station_or_rule(station, index),
                message=_message(subject.line, names, liveness.rule.id),
                station=station.key,
                rule=liveness.rule.id,
                rules=tuple(names),
                witness=shadows[0].witness,
            )


def _message(line: ParsedLine, names: list[str], rule: str) -> str:
    if len(names) == 1:
        return _(
            "Rule %(other)s takes some of what rule %(rule)s would take",
            other=named.rule_phrase(line, names[0]),
            rule=named.rule_phrase(line, rule),
        )
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    others = PartName(
        f"Rules {', '.join(names[:MAX_NAMED])}{more}", named.rules_phrase(line, names).people_text
    )
    return _(
        "%(others)s take some of what rule %(rule)s would take",
        others=others,
        rule=named.rule_phrase(line, rule),
    )
