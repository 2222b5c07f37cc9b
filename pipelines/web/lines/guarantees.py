"""Guarantees of a line, each with the result of its analysis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from pipelines.models import Project
from pipelines.queries import versions
from pipelines.queries.protections import protection_proofs, protections_by_repository
from pipelines.routing.analysis.lint.guarantee_findings import PROVED, REFUTED, UNKNOWN, GuaranteeFinding
from pipelines.routing.analysis.lint.subject import LintSubject
from pipelines.routing.analysis.satisfiability.liveness import DEAD
from pipelines.routing.basics.wording import as_heading, as_sentence
from pipelines.routing.document.line import ParsedLine
from pipelines.routing.guarantees.guarantee_proofs import GuaranteeAnswer, prove_guarantees
from pipelines.routing.guarantees.protection import Protection, line_delivers, protection_answers

MARKS = {
    PROVED: ("Proved", "ok", "guarantee-proved"),
    REFUTED: ("Refuted", "danger", "guarantee-refuted"),
    UNKNOWN: ("Unknown", "attention", "guarantee-unknown"),
}


@dataclass(frozen=True, slots=True)
class GuaranteeView:
    """`label`, `tone` and `icon`: of its mark. `because`: what it rests on, what stopped the proof, or the path that
    breaks it; `tried`: how far an unknown one was searched."""

    id: str
    sentence: str
    answer: str
    label: str
    tone: str
    icon: str
    because: str
    tried: str


def own_and_required_guarantee_views(
    line: ParsedLine, version_id: int | None, project: Project
) -> list[GuaranteeView]:
    """`version`: the id of the one that it is; None for a draft. Behind its own stand those that its repository asks
    for."""
    own = (
        ()
        if not line.guarantees
        else _guarantee_answers_of_version(version_id)
        if version_id is not None
        else prove_guarantees(line)
    )
    # The protection of a repository binds what is delivered to it (law §15).
    if line.workspace is None or not line_delivers(line):
        return list(map(guarantee_view, own))
    repository = line.workspace.repository
    protection = protections_by_repository(project).get(repository, Protection())
    required = (
        protection_answers(LintSubject(line), repository, protection)
        if version_id is None
        else protection_proofs(version_id, repository, protection)
    )
    return list(map(guarantee_view, (*own, *required)))


@lru_cache(maxsize=64)
def _guarantee_answers_of_version(version: int) -> tuple[GuaranteeAnswer, ...]:
    """A version never changes."""
    return prove_guarantees(versions.parsed_line_by_version_id(version))


def first_gate_guarantee_id_or_empty(line: ParsedLine) -> str:
    """Return the id of the first guarantee that nothing passes a gate unapproved; "" if there is none."""
    never = ((promise.id, promise.never) for promise in line.guarantees)
    return next((key for key, form in never if form and form.without in line.gates_by_key), "")


def station_with_covering_second_rule_or_empty(line: ParsedLine) -> str:
    """Return the key of the first station whose second rule, moved to the top, leaves nothing to the first; ""
    if none."""
    for station in line.stations:
        if len(station.rules) < 2:
            continue
        first, second, *rest = station.rules
        turned = replace(station, rules=(second, first, *rest))
        stations = tuple(turned if other is station else other for other in line.stations)
        subject = LintSubject(replace(line, stations=stations))
        # Only an order that matters shows what the order is for
        if subject.analysis(turned).standings[1].status == DEAD:
            return station.key
    return ""


def proved_count(views: Sequence[GuaranteeView]) -> int:
    """Return the number of proved guarantees."""
    return sum(view.answer == PROVED for view in views)


def guarantee_view(answer: GuaranteeFinding) -> GuaranteeView:
    label, tone, icon = MARKS[answer.answer]
    return GuaranteeView(
        answer.id,
        as_heading(answer.sentence),
        answer.answer,
        str(label),
        tone,
        icon,
        as_sentence(answer.path or answer.because),
        as_sentence(answer.tried),
    )
