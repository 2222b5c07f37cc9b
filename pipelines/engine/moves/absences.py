"""Decisions in the place of somebody who is away: who may make them (law §6, Absence)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pipelines.engine.moves.entitlement import (
    EntitledPerson,
    entitlement_by_project,
    is_barred,
    meets_any_requirement,
    people_by_project_and_id,
    reason_person_is_barred,
)
from pipelines.engine.statements import STAND_INS
from pipelines.models import GateVisit, Task, User, Vote
from pipelines.models.plumbing.compiled_queries import BoundQuery, fetch_bound
from pipelines.routing.document.line import Approval

LONGEST_CHAIN = 3
"""So many stand-ins after one another: whoever stands in may be away, too."""

StandIns = Mapping[int, int]
"""Of one project: who is away → who stands in."""


@dataclass(frozen=True)
class Seat:
    """A place that a person may take at gates: their own, or that of somebody who is away. `people`: the ids of whoever
    is away, everybody between, and the person; a bar on one of them bars the seat."""

    person: EntitledPerson
    people: tuple[int, ...]

    @property
    def is_stand_in(self) -> bool:
        return len(self.people) > 1

    def reason_seat_is_barred(self, task: Task, visit: GateVisit, policy: Approval) -> str:
        """Return why nobody may take the seat here, or ""."""
        if not self.is_stand_in:
            return reason_person_is_barred(self.person, task, visit, policy)
        if any(is_barred(user_id, task, visit, policy) for user_id in self.people):
            return "The requester and the producer can neither stand in here nor be stood in for."
        return ""


def stand_in_by_absent_by_project(project_ids: Collection[int]) -> dict[int, dict[int, int]]:
    """Return who is away in these projects by the clock of the database, and who stands in; one statement."""
    return stand_ins_from_rows(project_ids, *fetch_bound(absences_query(project_ids)))


def absences_query(project_ids: Collection[int]) -> BoundQuery[Any]:
    """Return the question that `stand_ins_from_rows` reads, for callers that ask more besides."""
    return BoundQuery(STAND_INS, [list(project_ids)])


def stand_ins_from_rows(project_ids: Collection[int], away: Iterable[Any]) -> dict[int, dict[int, int]]:
    """Return by project who is away and who stands in, as the answer to `absences_query` tells."""
    by_project: dict[int, dict[int, int]] = {project_id: {} for project_id in project_ids}
    for project_id, user_id, stand_in in away:
        by_project[project_id][user_id] = stand_in
    return by_project


def absent_person_and_stand_ins(stand_ins: StandIns, absent: int) -> tuple[int, ...]:
    """Return the absent person, their stand-in, the stand-in's stand-in and so on: at most three of them, and
    nobody twice."""
    people = [absent]
    # One more than stand-ins: the first of these people is the one who is away
    while len(people) <= LONGEST_CHAIN and people[-1] in stand_ins and stand_ins[people[-1]] not in people:
        people.append(stand_ins[people[-1]])
    return tuple(people)


def _stand_in_chains_to(stand_ins: StandIns, user_id: int) -> Iterator[tuple[int, ...]]:
    """Yield, for each person for whom this one stands in, the people from the one to the other."""
    for absent in stand_ins:
        people = absent_person_and_stand_ins(stand_ins, absent)
        if user_id in people[1:]:
            yield people[: people.index(user_id) + 1]


def seats_of_user_by_project(user: User) -> dict[int, list[Seat]]:
    """Return by project the seats of one person: their own first. No more statements than `everywhere` where
    nobody has named them as a stand-in."""
    return _seats_with_stand_ins(user, entitlement_by_project(user))


def seats_of_person_in_project(user: User, project_id: int, person: EntitledPerson | None) -> list[Seat]:
    """Return the seats in one project, in which they are this `person`; none for somebody who is no member."""
    return _seats_with_stand_ins(user, {project_id: person})[project_id] if person else []


def _seats_with_stand_ins(user: User, own: Mapping[int, EntitledPerson]) -> dict[int, list[Seat]]:
    seats_by_project = {pk: [Seat(person, (user.pk,))] for pk, person in own.items()}
    if any(person.named for person in own.values()):
        chains = {
            pk: list(_stand_in_chains_to(away, user.pk))
            for pk, away in stand_in_by_absent_by_project(own).items()
        }
        absent_ids = {people[0] for project_chains in chains.values() for people in project_chains}
        absent = people_by_project_and_id(list(own), absent_ids) if absent_ids else {}
        for pk, project_chains in chains.items():
            others = [
                Seat(absent[pk][people[0]], people) for people in project_chains if people[0] in absent[pk]
            ]
            seats_by_project[pk] += sorted(others, key=lambda seat: seat.person.username)
    return seats_by_project


def usable_seats_of(
    seats: Iterable[Seat], visit: GateVisit, policy: Approval, votes: Iterable[Vote]
) -> list[Seat]:
    """Select those that the gate asks, nobody has taken by a vote, and no bar is on. A vote in a chat takes the place
    of whoever connected that as well."""
    voters = {pk for vote in votes for pk in (vote.seat_id, vote.connected_by)}
    return [
        seat
        for seat in seats
        if seat.person.user_id not in voters
        and meets_any_requirement(seat.person, policy.who)
        and not seat.reason_seat_is_barred(visit.task, visit, policy)
    ]


def ids_of_deciders(
    people: Mapping[int, EntitledPerson],
    stand_ins: StandIns,
    visit: GateVisit,
    policy: Approval,
    votes: Collection[Vote] = (),
) -> list[int]:
    """The ids of the members of a project who may decide at an open visit, on their own or in somebody's place.
    `votes`: those that were cast there; each takes its seat, and its voter has no other word."""
    filled_seats = {pk for vote in votes for pk in (vote.seat_id, vote.connected_by)}
    eligible = {
        pk: person
        for pk, person in people.items()
        if pk not in filled_seats and meets_any_requirement(person, policy.who)
    }
    decider_ids = [
        pk
        for pk, person in eligible.items()
        if not reason_person_is_barred(person, visit.task, visit, policy)
    ]
    for absent in stand_ins:
        if absent not in eligible or is_barred(absent, visit.task, visit, policy):
            continue
        for pk in absent_person_and_stand_ins(stand_ins, absent)[1:]:
            if is_barred(pk, visit.task, visit, policy):
                # law §6, Absence: nor may anybody stand in through somebody who is barred.
                break
            if pk in people:
                decider_ids.append(pk)
    voters = {vote.user_id for vote in votes}
    return [pk for pk in dict.fromkeys(decider_ids) if pk not in voters]
