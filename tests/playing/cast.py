"""Who plays: people and a worker that exist only as long as the script is played. No real person's word is used."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from pipelines.errors import Refused
from pipelines.models import Agent, Blob, Group, Membership, Project, Role, Upload, User, Worker
from pipelines.models.people import smallest_equal_roles
from pipelines.ports.leases import WorkOffer
from pipelines.routing.document.escalations import group_key_of_role
from pipelines.routing.document.evaluations import MACHINES
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.document.requirements import Requirement
from tests.playing.script import ScriptedPerson


class Cast:
    """Of one script in one project. People come as the script names them; whoever else is needed is made up."""

    def __init__(self, project: Project, people: Mapping[str, ScriptedPerson], now: datetime) -> None:
        self._project, self._now = project, now
        self._people: dict[str, User] = {}
        self._workers: dict[str, Worker] = {}
        for name, person in people.items():
            self._people[name] = self._make(name, person.roles, person.groups)

    def hire(self, line: ParsedLine, states: Mapping[str, str]) -> None:
        """The agents that the stations name, as the script says they are; those of the project are left as they are
        where it says nothing."""
        there = set(Agent.objects.filter(project=self._project).values_list("key", flat=True))
        for key in dict.fromkeys((*line.agents, *states)):
            if key not in states and key in there:
                continue
            state = states.get(key, "available")
            Agent.objects.filter(project=self._project, key=key).delete()
            if state != "unknown":
                self._hire(key, state)

    def _hire(self, key: str, state: str) -> None:
        suspended = {
            "suspended_at": self._now,
            "suspended_by": "script",
            "suspended_why": "As the script says.",
        }
        Agent.objects.create(
            project=self._project,
            key=key,
            owner=self.person(f"owner-of-{key}"),
            contract_version="" if state == "no_contract" else "1.0.0",
            allowed_inputs=["what was handed over"],
            allowed_outputs=["what the station reports"],
            required_checks=["those of the station's gate"],
            capacity=0 if state == "busy" else None,
            created_at=self._now,
            **(suspended if state == "suspended" else {}),
        )

    def upload(self, file: Mapping[str, str]) -> None:
        """As somebody of the project has, so that an input may name it. Nothing reads it, so it has no bytes."""
        told = {"size": 0, "name": file["name"], "created_at": self._now}
        blob, _new = Blob.objects.get_or_create(digest=file["digest"], defaults=told)
        Upload.objects.get_or_create(
            project=self._project, blob=blob, name=file["name"], defaults={"by": "script", "at": self._now}
        )

    def person(self, name: str, role: str = Role.OPERATOR) -> User:
        """The person of this name; "" is somebody of that role who has no other part."""
        wanted = name or f"some-{role}"
        if wanted not in self._people:
            self._people[wanted] = self._make(wanted, (role,))
        return self._people[wanted]

    def voters(self, first: str, who: Iterable[Requirement]) -> Iterator[User]:
        """Whom the script names, then the people of the script, then one made up for each vote that is asked for."""
        if first:
            yield self.person(first, Role.REVIEWER)
        yield from (user for name, user in list(self._people.items()) if name != first)
        for requirement in who:
            for number in range(requirement.count):
                yield self._filling(requirement, number + 1)

    def holder(self, role: str) -> User:
        """Somebody who stands for a role that a line names in words, such as “Development Manager”."""
        key = group_key_of_role(role) or "nobody"
        if key not in self._people:
            self._people[key] = self._make(key, (key if key in Role.values else Role.OPERATOR,), (key,))
        return self._people[key]

    def _filling(self, requirement: Requirement, number: int) -> User:
        name = f"some-{requirement.name}-{number}"
        match requirement.kind:
            case "role":
                return self._people.setdefault(name, self._make(name, (requirement.name,)))
            case "group":
                return self._people.setdefault(name, self._make(name, (Role.VIEWER,), (requirement.name,)))
            case "owner":
                agent = Agent.objects.filter(project=self._project, key=requirement.agent).first()
                owner = agent.owner.username if agent else f"owner-of-{requirement.agent or requirement.name}"
                return self._make(owner, (Role.OPERATOR,))
            case _:
                return self._make(requirement.name, (Role.REVIEWER,))

    def claim(self, name: str, labels: Iterable[str]) -> WorkOffer:
        """Of the worker that plays this agent; it has every label that is asked for, and answers every question."""
        if name not in self._workers:
            self._workers[name] = Worker.objects.create(
                id=uuid.uuid4(), name=name, host="script", pid=0, isolation="none",
                started_at=self._now, seen_at=self._now, stopped_at=self._now,
            )  # fmt: skip
        worker = self._workers[name]
        return WorkOffer(worker.pk, labels=frozenset(labels), answers=frozenset(MACHINES))

    def _make(self, name: str, roles: Iterable[str], groups: Iterable[str] = ()) -> User:
        given = list(roles)
        unknown = next((role for role in given if role not in Role.values), None)
        if unknown is not None:
            raise Refused(f"{name}: there is no role {unknown}; use one of {', '.join(Role.values)}")
        user, _new = User.objects.get_or_create(username=name[:150], defaults={"is_active": True})
        if not user.is_active:
            raise Refused(f"{name}: this person cannot sign in; choose somebody else")
        Membership.objects.update_or_create(
            project=self._project, user=user, defaults={"roles": smallest_equal_roles(given)}
        )
        for key in groups:
            group, _new = Group.objects.get_or_create(project=self._project, key=key, defaults={"name": key})
            group.members.add(user)
        return user
