"""Who may say something at a gate (law §6, dialects E30)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pipelines.engine.core.errors import Forbidden, NotFound
from pipelines.models import GateVisit, Group, Membership, Role, Task, User, Vote
from pipelines.models.people import expand
from pipelines.routing.decide.approval import CountedVote as Word
from pipelines.routing.decide.approval import Tally, Voter, fills, tally
from pipelines.routing.document.line import Approval, Requirement


@dataclass(frozen=True)
class EntitledPerson:
    """What entitles somebody in a project at this moment."""

    user_id: int
    username: str
    roles: tuple[str, ...]
    groups: tuple[str, ...]

    @property
    def voter(self) -> Voter:
        """As the tally of votes knows people."""
        return Voter(self.username, expand(self.roles), frozenset(self.groups))

    def to_dict(self) -> dict[str, Any]:
        return {"username": self.username, "roles": list(self.roles), "groups": list(self.groups)}

    @classmethod
    def from_dict(cls, user_id: int, said: dict[str, Any]) -> EntitledPerson:
        """As a vote keeps it. Votes cast before roles were a set name one role, of which a reviewer's included
        designer."""
        roles = said["roles"] if "roles" in said else formerly(said["role"])
        return cls(user_id, said["username"], tuple(roles), tuple(said["groups"]))


def formerly(role: str) -> tuple[str, ...]:
    """The set that gives what this role gave when roles were a ladder."""
    return (Role.DESIGNER, Role.REVIEWER) if role == Role.REVIEWER else (role,)


def people_of(project_id: int) -> dict[int, EntitledPerson]:
    """Everybody who is a member of the project and may sign in."""
    groups: dict[int, list[str]] = {}
    for key, user_id in Group.objects.filter(project=project_id).values_list("key", "members"):
        groups.setdefault(user_id, []).append(key)
    members = Membership.objects.filter(project=project_id, user__is_active=True)
    return {
        user_id: EntitledPerson(user_id, username, tuple(roles), tuple(sorted(groups.get(user_id, ()))))
        for user_id, username, roles in members.values_list("user_id", "user__username", "roles")
    }


def person_of(project_id: int, user: User) -> EntitledPerson | None:
    """One of `people_of`."""
    members = Membership.objects.filter(project=project_id, user=user, user__is_active=True)
    found = members.values_list("user__username", "roles").first()
    if found is None:
        return None
    username, roles = found
    groups = Group.objects.filter(project=project_id, members=user).order_by("key")
    return EntitledPerson(user.pk, username, tuple(roles), tuple(groups.values_list("key", flat=True)))


def everywhere(user: User) -> dict[int, EntitledPerson]:
    """What entitles one person, by the id of the project: one of `people_of` each, in two queries for all."""
    groups: dict[int, list[str]] = {}
    for project_id, key in Group.objects.filter(members=user).values_list("project_id", "key"):
        groups.setdefault(project_id, []).append(key)
    members = Membership.objects.filter(user=user, user__is_active=True)
    return {
        project_id: EntitledPerson(user.pk, username, tuple(roles), tuple(sorted(groups.get(project_id, ()))))
        for project_id, username, roles in members.values_list("project_id", "user__username", "roles")
    }


def entitled(user: User, visit: GateVisit, policy: Approval) -> EntitledPerson:
    """The user as one whose word counts at this visit. Raises NotFound for a stranger to the project, Forbidden for
    who is not asked or barred."""
    person = person_of(visit.task.project_id, user)
    if person is None:
        raise NotFound()
    why = barred(user.pk, visit.task, visit, policy)
    if why or not meets_any(person, policy.who):
        raise Forbidden(why or "This gate does not ask you to review.")
    return person


def meets_any(person: EntitledPerson, who: Iterable[Requirement]) -> bool:
    return any(fills(person.voter, requirement) for requirement in who)


def barred(user_id: int, task: Task, visit: GateVisit, policy: Approval) -> str:
    """Why this person may not decide here whoever they are, or "". The producer is who reported the outcome that
    waits: of a manual job the person, of any other no person."""
    if user_id == task.requester_id and not policy.requester_may:
        return "You requested this task, and the gate does not let the requester decide."
    if visit.job.reported_by == f"person:{user_id}" and not policy.producer_may:
        return "You produced what is reviewed here, and the gate does not let the producer decide."
    return ""


def counted(policy: Approval, votes: Iterable[Vote]) -> Tally:
    """Where a gate visit stands after these votes, each person entitled as they were when they voted."""
    cast = [(vote.word, EntitledPerson.from_dict(vote.user_id, vote.entitled_as).voter) for vote in votes]
    return tally(policy.who, [Word(voter.person, word) for word, voter in cast], [voter for _, voter in cast])
