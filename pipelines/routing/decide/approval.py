"""Votes matched to requirements, exactly (law §6, Approval).

A vote fills one place of one requirement. Which one is found as a maximum matching, not greedily: a person
who is reviewer and in the security group takes the place that leaves the others theirs.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass

from pipelines.routing.document.gates import Approval, Requirement

APPROVE = "approve"


@dataclass(frozen=True, slots=True)
class Voter:
    """A person who may be asked. `person` is what votes and `user` requirements name."""

    person: str
    roles: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class CountedVote:
    """One person's vote: approve, or a word that decides at once."""

    person: str
    word: str = APPROVE


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


def entitled(
    approval: Approval, people: Iterable[Voter], requester: str | None, producers: Iterable[str] = ()
) -> tuple[Voter, ...]:
    """The people who may decide: those who fill some requirement and are not barred. `people`: all members of the
    project; of a project of one nobody is barred.

    The requester and the producers of what is reviewed may not, unless the gate says so (E30).
    """
    members, producers = tuple(people), frozenset(producers)
    alone = len(members) == 1
    wanted = [each for each in members if alone or not bar(approval, each.person, requester, producers)]
    return tuple(each for each in wanted if any(fills(each, need) for need in approval.who))


def bar(
    approval: Approval, person: Hashable, requester: Hashable, producers: Collection[Hashable]
) -> str | None:
    """What bars a person while others in the project could decide: `requester`, `producer` or None."""
    if person == requester and not approval.requester_may:
        return "requester"
    if person in producers and not approval.producer_may:
        return "producer"
    return None


def fills(voter: Voter, requirement: Requirement) -> bool:
    if requirement.kind == "user":
        return voter.person == requirement.name
    return requirement.name in (voter.roles if requirement.kind == "role" else voter.groups)


def fillable(voter: Voter) -> frozenset[tuple[str, str]]:
    """(kind, name) of every requirement that this voter `fills`, so that SQL can ask the same."""
    roles = {("role", name) for name in voter.roles}
    return frozenset({("user", voter.person), *roles, *(("group", name) for name in voter.groups)})


def tally(
    requirements: Sequence[Requirement], votes: Iterable[CountedVote], eligible: Iterable[Voter]
) -> Tally:
    """The state of a gate after `votes`, in the order they were cast. Votes of people who are not eligible do not
    count. The vote that completes the requirements, or the first word other than approve, decides; later votes change
    nothing. `eligible`: from `entitled`."""
    voters = {voter.person: voter for voter in eligible if any(fills(voter, need) for need in requirements)}
    approved: dict[str, Voter] = {}
    filled: dict[str, int] = {}
    for vote in votes:
        if vote.person not in voters:
            continue
        if vote.word != APPROVE:
            return Tally("rejected", vote.word, vote.person, *_standing(requirements, filled))
        approved[vote.person] = voters[vote.person]
        filled = _match(requirements, list(approved.values()))
        if len(filled) == _places(requirements):
            return Tally("approved", APPROVE, vote.person, *_standing(requirements, filled))
    possible = len(_match(requirements, list(voters.values()))) == _places(requirements)
    return Tally("open" if possible else "unsatisfiable", None, None, *_standing(requirements, filled))


def satisfiable(requirements: Sequence[Requirement], eligible: Iterable[Voter]) -> bool:
    """Whether these people together could fill every place."""
    return len(_match(requirements, list(eligible))) == _places(requirements)


def _places(requirements: Sequence[Requirement]) -> int:
    return sum(need.count for need in requirements)


def _standing(
    requirements: Sequence[Requirement], filled: dict[str, int]
) -> tuple[tuple[tuple[str, int], ...], tuple[int, ...]]:
    taken = list(filled.values())
    lacking = tuple(need.count - taken.count(index) for index, need in enumerate(requirements))
    return tuple(filled.items()), lacking


def _match(requirements: Sequence[Requirement], voters: Sequence[Voter]) -> dict[str, int]:
    """A maximum matching: person → index of the requirement, found by augmenting paths."""
    filled: dict[str, int] = {}
    candidates = [[v.person for v in voters if fills(v, need)] for need in requirements]
    for index, need in enumerate(requirements):
        for _ in range(need.count):
            if not _augment(index, candidates, filled, set()):
                break
    return filled


def _augment(index: int, candidates: list[list[str]], filled: dict[str, int], tried: set[int]) -> bool:
    """Give the requirement one more person, moving others to other requirements where that is needed."""
    tried.add(index)
    for person in candidates[index]:
        if person not in filled:
            filled[person] = index
            return True
    for person in candidates[index]:
        other = filled[person]
        if other not in tried and _augment(other, candidates, filled, tried):
            filled[person] = index
            return True
    return False
