"""A rule of which it is not known whether it can be taken, or whether earlier ones take a part; never a guess."""

from __future__ import annotations

from collections.abc import Iterator

from pipelines.routing.analysis.lint.finding import INFO, Finding
from pipelines.routing.analysis.lint.subject import LintSubject, is_unconditional
from pipelines.routing.analysis.satisfiability.liveness import UNKNOWN, Liveness
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.sentences import part_names as named

ID = "undecided"
CAUSE = "Rule that could not be analysed"


def check(subject: LintSubject) -> Iterator[Finding]:
    """Yield findings on undecided rules. Of a rule without a condition, which is meant to take what is left,
    a part that is taken is no matter."""
    for station, index, liveness in subject.liveness_of_all_rules():
        if liveness.status == UNKNOWN or (liveness.why and not is_unconditional(liveness.rule)):
            yield Finding(
                check=ID,
                severity=INFO,
                path=subject.path_of_station_or_rule(station, index),
                message=_message(subject.line, liveness),
                station=station.key,
                rule=liveness.rule.id,
            )


def _message(line: ParsedLine, liveness: Liveness) -> str:
    words = {"rule": named.rule_phrase(line, liveness.rule.id), "why": liveness.why}
    if liveness.status == UNKNOWN:
        return _("Unknown whether rule %(rule)s can be taken: %(why)s", **words)
    return _("Unknown whether an earlier rule takes a part of rule %(rule)s: %(why)s", **words)
