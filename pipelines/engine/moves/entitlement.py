"""Entitlement to decide at a gate (law §6, dialects E30)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import (
    BigIntegerField,
    BooleanField,
    Case,
    Exists,
    ExpressionWrapper,
    OuterRef,
    Q,
    QuerySet,
    Value,
    When,
)
from django.db.models.functions import Now

from pipelines.models import Absence, Agent, GateVisit, Group, Membership, Project, Role, Task, User, Vote
from pipelines.models.people import included_roles
from pipelines.models.plumbing.compiled_queries import BoundQuery, array_field, fetch_bound, server_prepared
from pipelines.routing.decide.approval import (
    APPROVE,
    Tally,
    Voter,
    barring_role_or_none,
    may_voter_fill,
    missing_approvers,
    tally_votes,
)
from pipelines.routing.decide.approval import CountedVote as Word
from pipelines.routing.document.line import Approval, Requirement

OWNED = ArraySubquery(
    Agent.objects.filter(project=OuterRef("project"), owner=OuterRef("user")).order_by("key").values("key")
)
"""Of a membership: the keys of the agents of its project that the person answers for."""
GROUPS = ArraySubquery(
    Group.objects.filter(project=OuterRef("project"), members=OuterRef("user")).values("key")
)
"""Of a membership: the keys of the groups of its project that the person is in."""
REMEMBERED = timedelta(days=30)
"""For how long a member who left or was deactivated counts as another one, so that nobody gets alone by that."""
DEPARTURE = ExpressionWrapper(Q(project__left_at__gt=Now() - Value(REMEMBERED)), BooleanField())


@dataclass(frozen=True)
class EntitledPerson:
    """Entitlement of a person in a project right now. `alone`: no other member can sign in, and none has left
    for a month. `named`: somebody who is away has named them as a stand-in, where the question was for one
    person."""

    user_id: int
    username: str
    roles: tuple[str, ...]
    groups: tuple[str, ...]
    alone: bool = False
    named: bool = False
    agents: tuple[str, ...] = ()
    """Keys of the agents of the project that they answer for."""

    @property
    def as_voter(self) -> Voter:
        """Person as the tally of votes knows them."""
        return Voter(
            self.username, included_roles(self.roles), frozenset(self.groups), frozenset(self.agents)
        )

    def to_dict(self) -> dict[str, Any]:
        fields: dict[str, Any] = {
            "username": self.username,
            "roles": list(self.roles),
            "groups": list(self.groups),
        }
        fields |= {"agents": list(self.agents)} if self.agents else {}
        return fields | {"alone": True} if self.alone else fields

    @classmethod
    def from_dict(cls, user_id: int, stored: dict[str, Any]) -> EntitledPerson:
        """Read back from a vote. Votes cast before roles were a set name one role; reviewer then included designer."""
        roles = stored["roles"] if "roles" in stored else roles_equal_to_old_single_role(stored["role"])
        return cls(
            user_id,
            stored["username"],
            tuple(roles),
            tuple(stored["groups"]),
            stored.get("alone", False),
            agents=tuple(stored.get("agents", ())),
        )


def roles_equal_to_old_single_role(role: str) -> tuple[str, ...]:
    """Return the set of roles that equals one role from when roles were a ladder."""
    return (Role.DESIGNER, Role.REVIEWER) if role == Role.REVIEWER else (role,)


def entitled_people_by_id(project_id: int) -> dict[int, EntitledPerson]:
    """Everybody who is a member of the project and may sign in."""
    return people_by_project_and_id([project_id])[project_id]


def people_by_project_and_id(
    project_ids: Collection[int], only_user_ids: Collection[int] | None = None
) -> dict[int, dict[int, EntitledPerson]]:
    """Return the people by project, in one statement for all projects. `only_user_ids`: the ids of some people, of
    whom nobody is alone."""
    if only_user_ids is None:
        return people_from_rows(project_ids, *fetch_bound(entitled_people_query(project_ids)))
    members = _entitlement_rows(Membership.objects.filter(project__in=project_ids, user__in=only_user_ids))
    return people_from_rows(project_ids, members, everybody=False)


def entitled_people_query(project_ids: Collection[int]) -> BoundQuery[Any]:
    """Return the query whose rows `people_from_rows` reads, for callers that send it together with others."""
    return _members_of_projects.bind(projects=list(project_ids))


def people_from_rows(
    project_ids: Collection[int], members: Iterable[Any], *, everybody: bool = True
) -> dict[int, dict[int, EntitledPerson]]:
    """Return the people by project, as the answer to `entitled_people_query` tells. `everybody`: whether these
    are all members, so that whoever is the only one is alone."""
    rows = list(members)
    sizes = Counter(project_id for project_id, *_rest in rows)
    people: dict[int, dict[int, EntitledPerson]] = {project_id: {} for project_id in project_ids}
    for project_id, user_id, username, roles, groups, owns, left in rows:
        # law §6, A project of one
        alone = everybody and sizes[project_id] == 1 and not left
        people[project_id][user_id] = EntitledPerson(
            user_id, username, tuple(roles), tuple(sorted(groups)), alone, agents=tuple(owns)
        )
    return people


Member: TypeAlias = tuple[int, int, str, list[str], list[str], list[str], bool | None]


@server_prepared(projects=array_field())
def _members_of_projects(projects: Any) -> QuerySet[Membership, Member]:
    return _entitlement_rows(Membership.objects.filter(project__among=projects))


def _entitlement_rows(members: QuerySet[Membership, Membership]) -> QuerySet[Membership, Member]:
    """Select (project, user, user name, roles, groups, agents that they answer for, whether somebody left within a
    month) of those who may sign in."""
    described = members.filter(user__is_active=True).annotate(in_groups=GROUPS, owns=OWNED, left=DEPARTURE)
    return described.values_list(
        "project_id", "user_id", "user__username", "roles", "in_groups", "owns", "left"
    )


def entitled_person_or_none(project_id: int, user: User) -> EntitledPerson | None:
    """Return the person, as one of `people_of`."""
    return person_from_rows_or_none(user, *fetch_bound(entitled_person_query(project_id, user)))


def entitled_person_query(project_id: int, user: User) -> BoundQuery[Any]:
    """Return the query whose rows `person_from_rows_or_none` reads, for callers that send it together with others."""
    return _membership_in_project_query.bind(user=user.pk, project=project_id)


def person_from_rows_or_none(user: User, memberships: Iterable[Any]) -> EntitledPerson | None:
    """The person as the answer to `entitled_person_query` tells; None for who is no member."""
    return next(iter(_entitlement_by_project(user, memberships).values()), None)


def entitlement_by_project(user: User) -> dict[int, EntitledPerson]:
    """Return what entitles one person, by the id of the project: one of `people_of` each, in one query for
    all."""
    return _entitlement_by_project(user, _all_memberships(user=user.pk))


def _entitlement_by_project(user: User, memberships: Iterable[Any]) -> dict[int, EntitledPerson]:
    return {
        project_id: EntitledPerson(
            user.pk, username, tuple(roles), tuple(sorted(groups)), not others, is_stand_in, tuple(owns)
        )
        for project_id, username, roles, groups, others, is_stand_in, owns in memberships
    }


Own: TypeAlias = tuple[int, str, list[str], list[str], bool, bool, list[str]]


@server_prepared(user=BigIntegerField(), project=BigIntegerField())
def _membership_in_project_query(user: Any, project: Any) -> QuerySet[Membership, Own]:
    return _membership_rows_of_user(user).filter(project=project)


@server_prepared(user=BigIntegerField())
def _all_memberships(user: Any) -> QuerySet[Membership, Own]:
    return _membership_rows_of_user(user)


def _membership_rows_of_user(user: Any) -> QuerySet[Membership, Own]:
    """Select (project, user name, roles, groups, whether the project has others or had within a month, whether somebody
    named them as a stand-in, agents that they answer for) of one person who may sign in."""
    others = Membership.objects.filter(project=OuterRef("project"), user__is_active=True).exclude(user=user)
    absences = Absence.objects.filter(stand_in=user, until__gt=Now())
    memberships = Membership.objects.filter(user=user, user__is_active=True).annotate(
        in_groups=GROUPS,
        # law §6: who left or was deactivated within 30 days counts as another member.
        others=Case(When(DEPARTURE, then=Value(True)), default=Exists(others)),
        named=Exists(absences),
        owns=OWNED,
    )
    return memberships.values_list(
        "project_id", "user__username", "roles", "in_groups", "others", "named", "owns"
    )


def has_several_members(project_id: int) -> bool:
    """Return whether the project has more than one member, or had within a month."""
    members = _members_of_projects(projects=[project_id])
    return len(members) > 1 or any(left for *_rest, left in members)


def single_member_approves_from(project: Project, now: datetime) -> datetime | None:
    """Return when the only member of the project may approve their own work: `None` where that is so already."""
    approves_from = project.left_at + REMEMBERED if project.left_at else now
    return approves_from if approves_from > now else None


def meets_any_requirement(person: EntitledPerson, who: Iterable[Requirement]) -> bool:
    return any(may_voter_fill(person.as_voter, requirement) for requirement in who)


BARRED = {
    None: "",
    "requester": "You requested this task, yourself, by an issue or by a machine token that you made, "
    "and the gate does not let the requester decide.",
    "producer": "You produced what is reviewed here, and the gate does not let the producer decide.",
}


def reason_person_is_barred(person: EntitledPerson, task: Task, visit: GateVisit, policy: Approval) -> str:
    """Return why this person may not decide here whoever they are, or ""."""
    return "" if person.alone else BARRED[_bar_kind_or_none(person.user_id, task, visit, policy)]


def is_allowed_only_as_sole_member(
    person: EntitledPerson, task: Task, visit: GateVisit, policy: Approval
) -> bool:
    """Return whether they may decide only because the project has nobody else; their approval is then
    self-approved."""
    return person.alone and _bar_kind_or_none(person.user_id, task, visit, policy) is not None


def barred_person_ids(task: Task, visit: GateVisit, policy: Approval) -> list[int]:
    """The ids of those whom `reason_person_is_barred` keeps out, in order. Of an open visit they do not change."""
    involved = {*map(_person_id_or_none, (*_requesting_actors(task), *_actors_behind_visit(visit)))} - {None}
    return sorted(pk for pk in involved if pk and _bar_kind_or_none(pk, task, visit, policy) is not None)


def _person_id_or_none(actor: str) -> int | None:
    kind, _colon, number = actor.partition(":")
    return int(number) if kind == "person" and number.isdigit() else None


def _requesting_actors(task: Task) -> tuple[str, ...]:
    """Return the people who started the task, or asked for it on a code host."""
    return (f"person:{task.requester_id}", *task.requesters)


def _actors_behind_visit(visit: GateVisit) -> tuple[str, ...]:
    """The person who reported a manual job, and those who pushed to the branch."""
    return (visit.job.reported_by, *visit.producers)


def is_barred(user_id: int, task: Task, visit: GateVisit, policy: Approval) -> bool:
    """Return whether this person is barred while others in the project could decide."""
    return _bar_kind_or_none(user_id, task, visit, policy) is not None


def _bar_kind_or_none(user_id: int, task: Task, visit: GateVisit, policy: Approval) -> str | None:
    """Return what bars this person."""
    return barring_role_or_none(
        policy, f"person:{user_id}", _requesting_actors(task), _actors_behind_visit(visit)
    )


def tally_of_votes(policy: Approval, votes: Iterable[Vote], everyone: Iterable[Voter] | None = None) -> Tally:
    """The tally of a gate visit after these votes, with each person's entitlement as of their vote. `everyone`: from
    `unanimous_voters_or_none`, where the policy is unanimous."""
    cast = [(vote, EntitledPerson.from_dict(vote.seat_id, vote.entitled_as).as_voter) for vote in votes]
    words = [
        Word(voter.person, vote.word, _stand_in_username_if_unanimous_or_empty(vote, policy))
        for vote, voter in cast
    ]
    return tally_votes(policy.who, words, [voter for _, voter in cast], everyone)


def _stand_in_username_if_unanimous_or_empty(vote: Vote, policy: Approval) -> str:
    # law §6, All: who voted in the place of somebody else need not vote again.
    return vote.user.username if policy.is_unanimous and vote.stands_for_id else ""


def unanimous_voters_or_none(task: Task, visit: GateVisit, policy: Approval) -> list[Voter] | None:
    """Return, for a unanimous policy, the members who have to approve at this moment and are not barred;
    otherwise

    None."""
    if not policy.is_unanimous:
        return None
    people = entitled_people_by_id(task.project_id).values()
    needs = [need for need in policy.who if need.everyone]
    return [
        person.as_voter
        for person in people
        if meets_any_requirement(person, needs) and not reason_person_is_barred(person, task, visit, policy)
    ]


def usernames_yet_to_approve(visit: GateVisit, policy: Approval) -> frozenset[str]:
    """User names of those who are asked as one of all, and have not approved yet."""
    everyone = unanimous_voters_or_none(visit.task, visit, policy)
    if everyone is None:
        return frozenset()
    approvers = {
        name for vote in visit.votes.all() if vote.word == APPROVE for name in _entitled_and_voter_names(vote)
    }
    return missing_approvers(policy.who, everyone, approvers)


def _entitled_and_voter_names(vote: Vote) -> tuple[str, str]:
    return vote.entitled_as["username"], vote.user.username
