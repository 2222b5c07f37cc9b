"""A promise that a path through the line breaks."""

from __future__ import annotations

from collections.abc import Iterator

from pipelines.routing.analysis.lint.finding import ERROR, Finding
from pipelines.routing.analysis.lint.guarantee_findings import REFUTED, guarantee_path
from pipelines.routing.analysis.lint.subject import LintSubject
from pipelines.routing.basics.wording import Wording as _

ID = "broken-guarantee"
CAUSE = "Guarantee refuted"


def check(subject: LintSubject) -> Iterator[Finding]:
    for index, promise in enumerate(subject.promises):
        if promise.answer == REFUTED:
            yield Finding(
                check=ID,
                severity=ERROR,
                path=guarantee_path(subject.line, index),
                message=_("“%(promise)s” is refuted: %(path)s", promise=promise.sentence, path=promise.path),
                rules=tuple(dict.fromkeys(move.rule for move in promise.moves if move.rule)),
                short=promise.sentence,
                why=promise.path,
                hint="change the line so that this path is not possible, or remove the guarantee"
                # law §14: behind the line's own stand those that a protection asks for.
                if index < len(subject.line.guarantees)
                else "change the line so that others approve, or the protection in the project settings",
            )
