"""What puts right a guarantee that is refuted: one that a rejection breaks, by ending the task at that gate."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from django.utils.translation import gettext as _

from pipelines.routing.analysis.lint.finding import INFO, Finding
from pipelines.routing.analysis.lint.promises import PROVED
from pipelines.routing.analysis.lint.run import findings_of
from pipelines.routing.analysis.lint.subject import LintSubject
from pipelines.routing.document.guarantees import REJECT, Guarantee
from pipelines.routing.document.line import Gate, Line
from pipelines.routing.guarantees.proving import answers, prove
from pipelines.web.editor.fixes import edits
from pipelines.web.editor.fixes.fix import Remedy

if TYPE_CHECKING:
    from pipelines.web.editor.fixes.of_findings import Remedies

ENDS = "fail"
"""What follows a rejection that ends the task."""
MAX_TRIED = 2
"""Gates of one line that are tried: each costs the proof and lint of the whole line."""

_tried: WeakKeyDictionary[LintSubject, dict[int, bool]] = WeakKeyDictionary()
"""By the place of the guarantee. An examination is remembered, and what is told of it is asked again and again."""


def refuted(of: Remedies, finding: Finding) -> Iterator[Remedy]:
    """At the gate, also where the line's policy says what follows: the other gates stay as they are."""
    found = re.fullmatch(r"guarantees\[(\d+)\]", finding.path)
    index = int(found[1]) if found else -1
    if not 0 <= index < len(of.line.guarantees):
        return
    after = of.line.guarantees[index].after
    gate = of.line.gates_by_key.get(after.gate) if after and after.word == REJECT else None
    if gate and (gate.on_reject or of.line.policy.on_reject) != ENDS and _helps(of.subject, index, gate):
        yield Remedy(
            _("End the task"),
            _("Fix: end the task"),
            (edits.change_gate(gate.key, on_reject=ENDS),),
            "end-failed",
        )


def _helps(subject: LintSubject, index: int, gate: Gate) -> bool:
    """Whether it is proved then, and nothing is worse. What was not tried is no remedy."""
    known = _tried.setdefault(subject, {})
    if index not in known and len(known) < MAX_TRIED:
        known[index] = _proves(subject, subject.line.guarantees[index], gate)
    return known.get(index, False)


def _proves(subject: LintSubject, guarantee: Guarantee, gate: Gate) -> bool:
    after = LintSubject(_ending(subject.line, gate), subject.people, subject.required)
    if prove(after.line, after, (guarantee,))[0].answer != PROVED:
        return False
    after.promises = answers(after)
    return not _grave(after) - _grave(subject)


def _ending(line: Line, gate: Gate) -> Line:
    ends = replace(gate, on_reject=ENDS)
    return replace(line, gates=tuple(ends if each is gate else each for each in line.gates))


def _grave(subject: LintSubject) -> set[tuple[str, str, str | None]]:
    return {(each.check, each.path, each.rule) for each in findings_of(subject) if each.severity != INFO}
