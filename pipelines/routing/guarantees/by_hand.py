"""Promises of a line that a move by hand would break (law §17)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal

from pipelines.routing.analysis.lint.subject import LintSubject
from pipelines.routing.document.guarantees import Guarantee, NeverReached
from pipelines.routing.document.line import ParsedLine
from pipelines.routing.guarantees.guarantee_proofs import REFUTED, proved_flags
from pipelines.routing.guarantees.protection import Protection, protection_answers


@dataclass(frozen=True)
class MovedPast:
    """Past of the token that is moved. `passed`: stations whose last visit passed, gates whose last word
    approved; `sent`: gates whose last word did not; `moves`: how many it made."""

    passed: Collection[str] = ()
    sent: Collection[str] = ()
    visits: Mapping[str, int] = field(default_factory=dict)
    moves: int = 0
    spent: Decimal = Decimal()


def guarantees_unproved_after_move(line: ParsedLine, target: str, past: MovedPast) -> tuple[Guarantee, ...]:
    """Return the guarantees, as the line has them, that are no longer proved once the token enters `target` by hand:
    read as those of a task that begins there with this past. What cannot be proved counts as broken."""
    guarantees = tuple(
        remaining
        for guarantee in line.guarantees
        if (remaining := _remaining_guarantee_or_none(guarantee, past)) is not None
    )
    if not guarantees:
        return ()
    begun = replace(line, start=target, guarantees=guarantees)
    proved = proved_flags(LintSubject(begun), guarantees)
    broken = {guarantee.id for guarantee, is_proved in zip(guarantees, proved, strict=True) if not is_proved}
    return tuple(guarantee for guarantee in line.guarantees if guarantee.id in broken)


def unmet_protection_or_empty(line: ParsedLine, target: str, repository: str, protection: Protection) -> str:
    """Return what the protection of the repository asks for and no gate from `target` on would, or ""."""
    begun = replace(line, start=target)
    broken = [
        answer
        for answer in protection_answers(LintSubject(begun), repository, protection)
        if answer.answer == REFUTED
    ]
    return broken[0].sentence if broken else ""


def _remaining_guarantee_or_none(guarantee: Guarantee, past: MovedPast) -> Guarantee | None:
    """Return what is left to keep of the guarantee; None where the past keeps it already."""
    if guarantee.never is not None and not guarantee.after:
        return None if guarantee.never.without in past.passed else guarantee
    if guarantee.after is not None and guarantee.never is not None:
        if guarantee.after.gate in past.sent:
            never = NeverReached(reach=guarantee.never.reach, without=guarantee.after.gate)
            return replace(guarantee, never=never, after=None)
        return guarantee
    if guarantee.at_most is not None:
        times = guarantee.at_most.times - past.visits.get(guarantee.at_most.visit, 0)
        if times < 1:
            never = NeverReached(reach=guarantee.at_most.visit, without="")
            return replace(guarantee, at_most=None, never=never)
        return replace(guarantee, at_most=replace(guarantee.at_most, times=times))
    if guarantee.ends_within is not None:
        return replace(guarantee, ends_within=max(guarantee.ends_within - past.moves - 1, 0))
    if guarantee.cost_at_most is not None:
        left = max(Decimal(guarantee.cost_at_most) - past.spent, Decimal())
        return replace(guarantee, cost_at_most=str(left))
    return guarantee
