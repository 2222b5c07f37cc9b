"""A promise that can neither be proved nor refuted within the bounds."""

from __future__ import annotations

from collections.abc import Iterator

from pipelines.routing.analysis.lint.finding import WARNING, Finding
from pipelines.routing.analysis.lint.guarantee_findings import UNKNOWN, guarantee_path
from pipelines.routing.analysis.lint.subject import LintSubject
from pipelines.routing.basics.wording import Wording as _

ID = "unproved-guarantee"
CAUSE = "Guarantee unknown"


def check(subject: LintSubject) -> Iterator[Finding]:
    for index, promise in enumerate(subject.promises):
        if promise.answer == UNKNOWN:
            yield Finding(
                check=ID,
                severity=WARNING,
                path=guarantee_path(subject.line, index),
                message=_(
                    "“%(promise)s” is unknown: %(why)s", promise=promise.sentence, why=promise.explanation
                ),
                hint="limit what leads there, or acknowledge it when you publish",
                short=promise.sentence,
                why=promise.because,
            )
