"""A promise that a path through the line breaks."""

from __future__ import annotations

from collections.abc import Iterator

from pipelines.routing.analysis.lint.finding import ERROR, Finding
from pipelines.routing.analysis.lint.promises import REFUTED
from pipelines.routing.analysis.lint.subject import LintSubject
from pipelines.routing.basics.wording import Wording as _

ID = "broken-guarantee"
CAUSE = _("Guarantee refuted")


def check(subject: LintSubject) -> Iterator[Finding]:
    for index, each in enumerate(subject.promises):
        if each.answer == REFUTED:
            yield Finding(
                check=ID,
                severity=ERROR,
                path=f"guarantees[{index}]",
                message=_("“%(promise)s” is refuted: %(path)s", promise=each.sentence, path=each.path),
                rules=tuple(dict.fromkeys(move.rule for move in each.moves if move.rule)),
                short=each.sentence,
                why=each.path,
                hint=_("change the line so that this path is not possible, or remove the guarantee"),
            )
