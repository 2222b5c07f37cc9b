"""A promise that can neither be proved nor refuted within the bounds."""

from __future__ import annotations

from collections.abc import Iterator

from pipelines.routing.analysis.lint.finding import WARNING, Finding
from pipelines.routing.analysis.lint.promises import UNKNOWN
from pipelines.routing.analysis.lint.subject import LintSubject
from pipelines.routing.basics.wording import Wording as _

ID = "unproved-guarantee"
CAUSE = _("Guarantee unknown")


def check(subject: LintSubject) -> Iterator[Finding]:
    for index, each in enumerate(subject.promises):
        if each.answer == UNKNOWN:
            yield Finding(
                check=ID,
                severity=WARNING,
                path=f"guarantees[{index}]",
                message=_("“%(promise)s” is unknown: %(why)s", promise=each.sentence, why=each.why),
                hint=_("limit what leads there, or acknowledge it when you publish"),
                short=each.sentence,
                why=each.because,
            )
