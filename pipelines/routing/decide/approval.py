"""Votes matched to requirements, exactly (law §6, Approval).

A vote fills one place of one requirement. Which one is found as a maximum matching, not greedily: a person
who is reviewer and in the security group takes the place that leaves the others theirs.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace

from pipelines.routing.document.gates import Approval
from pipelines.routing.document.requirements import OWNER, Requirement

APPROVE = "approve"
UNPROVEN = "unknown"
"""Among the producers of what is reviewed: somebody pushed it, and no host vouches for who that was."""
UNKNOWN_REQUESTER = "unknown_requester"
"""Beside the producers: an issue started the task, and nobody is known who may have asked for it there."""


@dataclass(frozen=True, slots=True)
class Voter:
    """A person who may be asked. `person` is what votes and `user` requirements name; `agents`: keys of those that they
    answer for."""

    person: str
    roles: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()
    agents: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class CountedVote:
    """Vote of one person: approve, or a vote that decides at once. `by`: the person who cast it on their
    behalf."""

    person: str
    word: str = APPROVE
    by: str = ""


@dataclass(frozen=True, slots=True)
class Tally:
    """`status`: open, approved, rejected (some word other than approve), unsatisfiable.

    `word` and `by`: the deciding word and its author, if there is one. `filled` says which person fills which
    requirement, by its index; `lacking` how many places each requirement still has open, by index.
    """

    status: str
    word: str | None = None
    by: str | None = None
    filled: tuple[tuple[str, int], ...] = ()
    lacking: tuple[int, ...] = ()


def barring_role_or_none(
    approval: Approval, person: Hashable, requesters: Collection[Hashable], producers: Collection[Hashable]
) -> str | None:
    """Return why a person may not decide while others in the project could: `requester`, `producer` or None."""
    if person in requesters and not approval.requester_may:
        return "requester"
    if person in producers and not approval.producer_may:
        return "producer"
    return None


def approval_policy_with_extra_votes(approval: Approval, producers: Collection[Hashable]) -> Approval:
    """Return the approval with one more vote where nobody vouches for the pusher, and one more where the
    person who requested the task on a host is unknown: at most one of the approvers was that person (law
    §15)."""
    unknown = {UNPROVEN: not approval.producer_may, UNKNOWN_REQUESTER: not approval.requester_may}
    extra = sum(counts for who, counts in unknown.items() if who in producers)
    if not extra:
        return approval
    for number, need in enumerate(approval.who):
        # The first role or group that it asks is asked for more, else a reviewer (law §15).
        if need.kind in ("role", "group") and not need.everyone:
            more = replace(need, count=need.count + extra)
            return replace(approval, who=(*approval.who[:number], more, *approval.who[number + 1 :]))
    # Law §6: who is one of all may fill a reviewer's place besides, and would be no approval more
    others = Requirement("role", "reviewer", extra + approval.is_unanimous)
    return replace(approval, who=(*approval.who, others))


def may_voter_fill(voter: Voter, requirement: Requirement) -> bool:
    if requirement.kind == "user":
        return voter.person == requirement.name
    memberships = {"role": voter.roles, "group": voter.groups, OWNER: voter.agents}[requirement.kind]
    return requirement.lookup_key in memberships


def fillable_requirements(voter: Voter) -> frozenset[tuple[str, str]]:
    """(kind, what is asked) of every requirement that this voter `fills`, so that SQL can ask the same."""
    memberships = (("role", voter.roles), ("group", voter.groups), (OWNER, voter.agents))
    return frozenset(
        {("user", voter.person), *((kind, name) for kind, names in memberships for name in names)}
    )


def tally_votes(
    requirements: Sequence[Requirement],
    votes: Iterable[CountedVote],
    eligible: Iterable[Voter],
    everyone: Iterable[Voter] | None = None,
) -> Tally:
    """The state of a gate after `votes`, in the order they were cast. Votes of people who are not eligible do not
    count. The vote that completes the requirements, or the first word other than approve, decides; later votes change
    nothing. `eligible`: from `entitled`. `everyone`: of whom a requirement asks all, where that is more than
    `eligible`."""
    voters = {
        voter.person: voter for voter in eligible if any(may_voter_fill(voter, need) for need in requirements)
    }
    required_voters = tuple(voters.values()) if everyone is None else tuple(everyone)
    approved: dict[str, Voter] = {}
    approvers: set[str] = set()
    filled: dict[str, int] = {}
    for vote in votes:
        if vote.person not in voters:
            continue
        # The first word other than approve decides at once (law §5).
        if vote.word != APPROVE:
            return Tally(
                "rejected",
                vote.word,
                vote.person,
                *_filled_places_and_lacking_counts(requirements, filled, ()),
            )
        approved[vote.person] = voters[vote.person]
        # Who voted in the place of somebody else need not vote again (law §6, All).
        approvers |= {vote.person, vote.by}
        filled = _maximum_matching(requirements, list(approved.values()))
        missing = _missing_counts(requirements, approved.values(), required_voters, approvers)
        if len(filled) == _place_count(requirements) and not any(missing):
            return Tally(
                "approved",
                APPROVE,
                vote.person,
                *_filled_places_and_lacking_counts(requirements, filled, missing),
            )
    missing = _missing_counts(requirements, approved.values(), required_voters, approvers)
    # Asked of all who may vote, not of those who did.
    possible = can_people_satisfy(requirements, voters.values())
    return Tally(
        "open" if possible else "unsatisfiable",
        None,
        None,
        *_filled_places_and_lacking_counts(requirements, filled, missing),
    )


def missing_approvers(
    requirements: Sequence[Requirement], everyone: Collection[Voter], approvers: Collection[str]
) -> frozenset[str]:
    """Return the people whose approval is still missing where all have to approve. `approvers`: those who
    approved, themselves or through a substitute."""
    unanimous = [need for need in requirements if need.everyone]
    return frozenset(
        v.person
        for v in everyone
        if v.person not in approvers and any(may_voter_fill(v, need) for need in unanimous)
    )


def _missing_counts(
    requirements: Sequence[Requirement],
    approved: Iterable[Voter],
    everyone: Sequence[Voter],
    approvers: set[str],
) -> tuple[int, ...]:
    """Return the number of approvals that each requirement of all people still lacks; one where none of them
    approved. No places are filled: a member of such a requirement may also fill a place of another
    requirement."""
    voters = tuple(approved)
    return tuple(
        max(
            len(missing_approvers((need,), everyone, approvers)),
            int(not any(may_voter_fill(voter, need) for voter in voters)),
        )
        if need.everyone
        else 0
        for need in requirements
    )


def can_people_satisfy(requirements: Sequence[Requirement], eligible: Iterable[Voter]) -> bool:
    """Return whether these people together could fill every place, and at least one person exists where all
    have to approve."""
    people = list(eligible)
    somebody = all(
        any(may_voter_fill(voter, need) for voter in people) for need in requirements if need.everyone
    )
    return somebody and len(_maximum_matching(requirements, people)) == _place_count(requirements)


def _place_count(requirements: Sequence[Requirement]) -> int:
    return sum(need.place_count for need in requirements)


def _filled_places_and_lacking_counts(
    requirements: Sequence[Requirement], filled: dict[str, int], missing: Sequence[int]
) -> tuple[tuple[tuple[str, int], ...], tuple[int, ...]]:
    indices = list(filled.values())
    lacking = tuple(
        missing[index] if missing and need.everyone else need.place_count - indices.count(index)
        for index, need in enumerate(requirements)
    )
    return tuple(filled.items()), lacking


def _maximum_matching(requirements: Sequence[Requirement], voters: Sequence[Voter]) -> dict[str, int]:
    """A maximum matching: person → index of the requirement, found by augmenting paths."""
    filled: dict[str, int] = {}
    candidates = [[v.person for v in voters if may_voter_fill(v, need)] for need in requirements]
    for index, need in enumerate(requirements):
        for _ in range(need.place_count):
            # Who fills one place may be needed for another: a greedy choice would miss approvals that are
            # there
            if not _try_to_fill_place(index, candidates, filled, set()):
                break
    return filled


def _try_to_fill_place(
    index: int, candidates: list[list[str]], filled: dict[str, int], tried: set[int]
) -> bool:
    """Give the requirement one more person, moving others to other requirements where that is needed."""
    tried.add(index)
    for person in candidates[index]:
        # Free people first: nobody has to be moved for them.
        if person not in filled:
            filled[person] = index
            return True
    for person in candidates[index]:
        other = filled[person]
        if other not in tried and _try_to_fill_place(other, candidates, filled, tried):
            filled[person] = index
            return True
    return False
