"""A project with its standing people, and the verbs of engine tests: `world.line(document)`, `world.start(line)`,
`world.report(task, …)`, `world.vote(task, …)`. Everything goes through the real doors: publishing and engine.

    def test_it_moves_on(world):
        task = world.start(world.line(stations=["build", "ship"]))
        world.report(task)
        assert world.at(task) == ["ship"]
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from pipelines import engine
from pipelines.lines import publishing
from pipelines.models import (
    ENDED,
    ApiToken,
    GateVisit,
    Group,
    Job,
    Lease,
    Line,
    LineVersion,
    Membership,
    Owner,
    Project,
    Role,
    Task,
    Token,
    User,
    Worker,
)
from pipelines.people import accounts
from pipelines.ports.leases import WorkOffer

_numbers = itertools.count(1)
Document = Mapping[str, Any]


def make_user(name: str, **more: Any) -> User:
    return User.objects.create_user(f"{name}-{next(_numbers)}", email=f"{name}@example.com", **more)


def make_project(key: str = "app", owner: str = "acme") -> Project:
    found, _ = Owner.objects.get_or_create(key=owner, defaults={"name": owner.title()})
    return Project.objects.create(owner=found, key=key, name=key.title())


def make_member(
    project: Project, role: str | Sequence[str], name: str = "", *, execute: bool = False
) -> User:
    """With one role, or several."""
    roles = [role] if isinstance(role, str) else list(role)
    user = make_user(name or roles[0])
    Membership.objects.create(project=project, user=user, roles=roles, execute=execute)
    return user


def make_worker(**more: Any) -> Worker:
    """Seen an hour ahead: on a slow machine, too, it lives as long as its test."""
    now = timezone.now()
    facts = {"name": "worker", "host": "localhost", "pid": 1, "isolation": "none", "started_at": now}
    return Worker.objects.create(**facts | {"seen_at": now + timedelta(hours=1)} | more)


def document(
    stations: Iterable[str | Document] = ("build", "ship"), key: str = "line", **more: Any
) -> dict[str, Any]:
    """A line document; a station may be its key alone, then it is a `noop` without rules."""
    return {
        "gateline": 1,
        "key": key,
        "name": key.title(),
        "stations": [
            {"key": each, "work": {"kind": "noop"}} if isinstance(each, str) else dict(each)
            for each in stations
        ],
        **more,
    }


def station(key: str, *rules: Document, kind: str = "noop", **more: Any) -> dict[str, Any]:
    return {"key": key, "work": {"kind": kind, **more.pop("work", {})}, "rules": list(rules), **more}


@dataclass
class World:
    """One project, one worker, and the people: each property is made at its first use."""

    project: Project
    worker: Worker
    people: dict[str, User] = field(default_factory=dict)

    def person(self, role: str) -> User:
        if role not in self.people:
            self.people[role] = make_member(self.project, role, execute=role == Role.ADMIN)
        return self.people[role]

    @property
    def viewer(self) -> User:
        return self.person(Role.VIEWER)

    @property
    def operator(self) -> User:
        return self.person(Role.OPERATOR)

    @property
    def designer(self) -> User:
        return self.person(Role.DESIGNER)

    @property
    def reviewer(self) -> User:
        return self.person(Role.REVIEWER)

    @property
    def admin(self) -> User:
        """Has the permission `execute`, too."""
        return self.person(Role.ADMIN)

    @property
    def stranger(self) -> User:
        """Signed in, member of another project only."""
        if "stranger" not in self.people:
            self.people["stranger"] = make_member(make_project("elsewhere", "other"), Role.ADMIN, "stranger")
        return self.people["stranger"]

    def reviewers(self, count: int) -> list[User]:
        return [make_member(self.project, Role.REVIEWER) for _ in range(count)]

    def group(self, key: str, *members: User) -> Group:
        group = Group.objects.create(project=self.project, key=key, name=key.title())
        group.members.set(members)
        return group

    def machine(self, *scopes: str, role: str = Role.OPERATOR) -> tuple[ApiToken, str]:
        return accounts.mint_token_and_secret(
            kind="machine",
            name="machine",
            scopes=scopes or ("read", "submit", "report"),
            now=timezone.now(),
            created_by=self.admin,
            project=self.project,
            role=role,
        )

    def runner(self, *labels: str, project: Project | None = None) -> tuple[ApiToken, str]:
        return accounts.mint_token_and_secret(
            kind="runner",
            name="runner",
            scopes=(),
            labels=labels,
            now=timezone.now(),
            created_by=self.admin,
            project=project or self.project,
        )

    def token_of(self, user: User, *scopes: str) -> tuple[ApiToken, str]:
        return accounts.mint_token_and_secret(
            kind="person",
            name="token",
            scopes=scopes or ("read", "submit", "report", "decide", "design"),
            now=timezone.now(),
            created_by=user,
            user=user,
            lasts=timedelta(days=1),
        )

    # Lines

    def line(self, given: Document | None = None, **more: Any) -> LineVersion:
        """Publish a line: a whole document, or the arguments of `document`."""
        said = dict(given) if given is not None else document(**more)
        line = Line.objects.filter(project=self.project, key=said["key"]).first()
        if line is None:
            line = publishing.create_line(self.project, said["key"], said["name"], said, self.admin)
        else:
            line = publishing.save_draft(line, said, self.admin, line.draft_number)
        return publishing.publish_draft(line, user=self.admin, based_on=line.draft_number)

    # Tasks

    def start(
        self, version: LineVersion, *, by: User | None = None, title: str = "A task", **more: Any
    ) -> Task:
        return engine.submit(version, actor=engine.Actor.person(by or self.operator), title=title, **more)

    def claim(self) -> WorkOffer:
        return WorkOffer(worker=self.worker.pk, answers=frozenset(self.worker.answers))

    def able(self, *answers: str) -> None:
        """Let the worker be able to answer evaluations: `model`, `worker`."""
        self.worker.answers = list(answers)
        self.worker.save()

    def job(self, task: Task, station: str | None = None) -> Job:
        """The task's open job (at that station)."""
        jobs = Job.objects.filter(task=task).exclude(state=Job.State.DONE)
        return jobs.get(station=station) if station else jobs.get()

    def started(self, task: Task, station: str | None = None) -> Job:
        """The open job, given to the worker if it is still queued."""
        job = self.job(task, station)
        if job.state == Job.State.QUEUED:
            started = engine.start_claimed_job_or_none(job.pk, self.claim())
            assert started is not None
            return started
        return job

    def expire(self, task: Task) -> None:
        """Let the leases of the task's jobs have run out."""
        past = timezone.now() - timedelta(minutes=1)
        Lease.objects.filter(job__task=task).update(expires_at=past)

    def lose(self, task: Task) -> str:
        """Let the lease of the task's job run out, and be swept."""
        self.expire(task)
        job = self.job(task)
        assert job.lease_key is not None
        return engine.expire_lease(job.pk, job.attempt, job.lease_key)

    def report_of(self, job: Job, outcome: Document | None = None, **more: Any) -> engine.Report:
        version = Token.objects.get(pk=job.token_id).version if job.kind == "manual" else None
        said = dict(outcome) if outcome is not None else {"result": "success"}
        by = f"person:{self.operator.pk}" if job.kind == "manual" else f"worker:{self.worker.pk}"
        observed = by if by.startswith("worker:") else ""
        values = {"by": by, "token_version": version, "observed_by": observed, **more}
        return engine.Report(job.pk, job.attempt, job.lease_key, said, **values)

    def report(
        self, task: Task, outcome: Document | None = None, *, station: str | None = None, **more: Any
    ) -> engine.ReportResult:
        """Do the task's open job with this outcome (default: success)."""
        return engine.report([self.report_of(self.started(task, station), outcome, **more)])[0]

    def visit(self, task: Task, gate: str | None = None) -> GateVisit:
        """The task's open gate visit."""
        visits = GateVisit.objects.filter(task=task, state=GateVisit.State.OPEN)
        return visits.get(gate=gate) if gate else visits.get()

    def vote(
        self,
        task: Task,
        word: str = "approve",
        *,
        by: User | None = None,
        reason: str = "",
        gate: str | None = None,
        visit: GateVisit | None = None,
        **more: Any,
    ) -> engine.VoteResult:
        """Say a word at the task's open gate visit, about what is shown there."""
        visit = visit or self.visit(task, gate)
        shown = {"token_version": visit.token_version, "evidence_digest": visit.evidence_digest}
        said = {"route": "", "via": "page", **shown, **more}
        return engine.vote(visit, user=by or self.reviewer, word=word, reason=reason, **said)

    # What came of it

    def at(self, task: Task) -> list[str]:
        """The stations of the living positions."""
        living = Token.objects.filter(task=task, forked=False).exclude(status__in=ENDED)
        return list(living.order_by("pk").values_list("station", flat=True))

    def token(self, task: Task, station: str | None = None) -> Token:
        """The living position (at that station)."""
        living = Token.objects.filter(task=task, forked=False).exclude(status__in=ENDED)
        return living.get(station=station) if station else living.get()

    def status(self, task: Task) -> str:
        return Task.objects.values_list("status", flat=True).get(pk=task.pk)

    def kinds(self, task: Task) -> list[str]:
        """The kinds of the task's events, in order."""
        return list(task.events.order_by("seq").values_list("kind", flat=True))


def make_world() -> World:
    return World(make_project(f"app{next(_numbers)}"), make_worker())


@pytest.fixture
def world(request: pytest.FixtureRequest) -> World:
    """A `World` on the real database. Threads see it only in a test marked `django_db(transaction=True)`."""
    if not request.node.get_closest_marker("django_db"):
        request.getfixturevalue("db")
    return make_world()
