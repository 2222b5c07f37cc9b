"""Lint of a line document from its text, with line and column."""

from __future__ import annotations

from functools import partial

from pipelines.formats import native
from pipelines.routing.analysis.lint.examination import Examination, examine_line, unreadable_examination
from pipelines.routing.document.line import DocumentError, ParsedLine, Problem
from pipelines.routing.guarantees.guarantee_proofs import guarantee_answers


def lint_text(text: str | bytes) -> Examination:
    """Return the lint of a text; of one that is no line the findings say why. Raises nothing."""
    line = _line_or_problems(text)
    if not isinstance(line, ParsedLine):
        return unreadable_examination(line)
    return examine_line(line, prove=guarantee_answers).with_positions(
        partial(native.problems_with_places, text)
    )


def _line_or_problems(text: str | bytes) -> ParsedLine | tuple[Problem, ...]:
    """A line whose faulty rules are kept; or all problems, those of rules among them."""
    try:
        return native.read_text(text, keep_faulty_rules=True, exact=True)
    except DocumentError as fault:
        problems = fault.problems
    try:
        native.read_text(text, exact=True)
    except DocumentError as fault:
        problems = fault.problems
    return problems
