"""Matching of people to the requirements of a gate: whether the people of the project can decide it, by the
exact matching of `approval`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pipelines.routing.analysis.lint.people import People
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.basics.wording import joined_wording
from pipelines.routing.decide.approval import Voter, can_people_satisfy, may_voter_fill
from pipelines.routing.document.gates import Approval
from pipelines.routing.document.requirements import OWNER, Requirement

MAX_TRIES = 300
"""Matchings for one gate. People who fill the same places are tried once."""


@dataclass(frozen=True, slots=True)
class ApproverShortage:
    """Reason why too few people can decide at a gate. `barred`: the requester, the producer, or both, without whom
    there are too few; empty: there are too few in any case. `remedy`: whom to let decide."""

    words: str
    barred: tuple[str, ...] = ()
    remedy: str | None = None


def approver_shortage_or_none(
    approval: Approval, people: People, *, by_hand: bool
) -> ApproverShortage | None:
    """Return what is missing; None if nothing is, or more than MAX_TRIES matchings would be needed to tell.

    `by_hand`: whether what is decided may have been produced by a person, who is barred then.
    """
    able = _voters_filling_some_place(approval, people)
    words = _shortage_text_or_none(approval, able)
    if words is not None:
        return ApproverShortage(words)
    for tried, barred in enumerate(_barred_combinations(approval, people, able, by_hand)):
        # Beyond the bound nothing is said: a finding is never a guess (law §10).
        if tried >= MAX_TRIES:
            return None
        if not can_people_satisfy(approval.who, [voter for voter in able if voter.person not in barred]):
            did, remedy = _barred_action_and_remedy(approval, by_hand, barred)
            people_barred = joined_wording(barred, " and ")
            return ApproverShortage(
                _("can never be decided when %(who)s %(did)s", who=people_barred, did=did), barred, remedy
            )
    return None


def _barred_action_and_remedy(approval: Approval, by_hand: bool, barred: tuple[str, ...]) -> tuple[str, str]:
    """Return what the barred people did that bars them, and whom to let decide."""
    if len(barred) == 2:
        return "request the task and do the work", "the requester or the producer"
    if not by_hand or approval.producer_may:
        return "requests the task", "the requester"
    if approval.requester_may:
        return "does the work", "the producer"
    return "requests or does the work", "the requester and the producer"


def _voters_filling_some_place(approval: Approval, people: People) -> list[Voter]:
    """Return the voters who fill some place; of people who fill the same places no more than could be needed."""
    places = approval.min_votes
    voters: list[Voter] = []
    alike: dict[tuple[int, ...], int] = {}
    for voter in people.voters:
        kind = _indices_of_fillable_requirements(approval, voter)
        alike[kind] = alike.get(kind, 0) + 1
        # Two more than there are places: requester and producer may both be barred.
        if kind and alike[kind] <= places + 2:
            voters.append(voter)
    return voters


def _indices_of_fillable_requirements(approval: Approval, voter: Voter) -> tuple[int, ...]:
    return tuple(index for index, need in enumerate(approval.who) if may_voter_fill(voter, need))


def _shortage_text_or_none(approval: Approval, able: list[Voter]) -> str | None:
    """Return in words why too few people can decide, or None."""
    for need in approval.who:
        there = sum(may_voter_fill(voter, need) for voter in able)
        if there < need.count:
            return _missing_people_text(need, there)
    places = sum(need.place_count for need in approval.who)
    # Each requirement can be filled by itself, but one person fills one seat only (law §12).
    if places > len(able) or not can_people_satisfy(approval.who, able):
        return _("it needs %(places)s different people, and too few can decide", places=places)
    return None


def _missing_people_text(need: Requirement, there: int) -> str:
    words = {"name": need.name, "count": need.count, "there": there or "nobody"}
    if need.kind == "user":
        return _("%(name)s is not a member of the project", **words)
    if need.kind == OWNER:
        return _("nobody in the project answers for the agent %(agent)s", agent=need.agent)
    if need.kind == "role":
        return _("it needs %(count)s with the role %(name)s, and the project has %(there)s", **words)
    return _("it needs %(count)s in the group %(name)s, and the project has %(there)s", **words)


def _barred_combinations(
    approval: Approval, people: People, able: list[Voter], by_hand: bool
) -> Iterator[tuple[str, ...]]:
    """Yield the people who may be barred at once: the requester, the producer, or both; one of each kind, who
    could decide. In a project of one nobody is (law §6)."""
    if len(people.voters) == 1:
        return
    kinds: dict[tuple[int, ...], list[str]] = {}
    for voter in able:
        if voter.person in people.operators:
            kinds.setdefault(_indices_of_fillable_requirements(approval, voter), []).append(voter.person)
    bars = int(not approval.requester_may) + int(by_hand and not approval.producer_may)
    if bars:
        yield from ((alike[0],) for alike in kinds.values())
    # Requester and producer may be two people: of one kind, or of two kinds.
    if bars == 2:
        groups = list(kinds.values())
        yield from ((alike[0], alike[1]) for alike in groups if len(alike) > 1)
        yield from ((a[0], b[0]) for i, a in enumerate(groups) for b in groups[:i])
