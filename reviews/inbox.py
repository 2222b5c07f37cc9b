"""What waits for people: gates first, and beside them every other item that only a person can free."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from django.db.models import Q, QuerySet
from django.urls import reverse
from django.utils.translation import gettext as _

from pipelines import access
from pipelines.models import GateVisit, Job, Project, Status, Task, Token, User
from pipelines.versions import parsed
from reviews.gates import gate_of
from reviews.standing import Standings

# An inbox is read, not scrolled for ever: the rest comes up as these are done.
LIMIT = 200
WAITING = (Status.BLOCKED, Status.HELD, Status.STUCK)
TABS = (
    ("needs-me", _("Needs me")),
    ("mine", _("Mine")),
    ("others", _("Waiting on others")),
    ("done", _("Done")),
)
VERBS = {
    Status.BLOCKED: _("Answer"),
    Status.HELD: _("Resolve"),
    Status.STUCK: _("Repair"),
}


@dataclass(frozen=True)
class Item:
    """One row. `shape` is gate or station; `status` what the task shows; `key` marks it in the address."""

    key: str
    shape: str
    status: str
    line: str
    place: str
    number: str
    title: str
    requester: str
    url: str
    verb: str
    since: datetime
    due_at: datetime | None = None
    round: int = 1
    votes: str = ""
    note: str = ""

    @property
    def order(self) -> tuple[bool, datetime]:
        """Due first, then the oldest."""
        return (self.due_at is None, self.due_at or self.since)


def items(user: User, tab: str) -> list[Item]:
    """The rows of one tab, due first. Unknown tabs are the first one."""
    projects = list(access.visible_projects(user))
    if tab == "mine":
        return _sorted(_gate_item(v) for v in _open(projects).filter(task__requester=user)[:LIMIT])
    if tab == "others":
        return _sorted(map(_gate_item, islice(_gates(user, projects, mine=False), LIMIT)))
    if tab == "done":
        return [_gate_item(v) for v in _decided(projects, user)[:50]]
    return _sorted([*needed_gates(user, projects), *_other_work(user, projects)])


def count(user: User) -> int:
    """How many items need this person: the number beside Inbox."""
    return len(items(user, "needs-me"))


def needed_gates(user: User, projects: Sequence[Project]) -> Iterable[Item]:
    """Open gates at which a word of this person would count now."""
    return map(_gate_item, islice(_gates(user, projects, mine=True), LIMIT))


def _gates(user: User, projects: Sequence[Project], *, mine: bool) -> Iterator[GateVisit]:
    """Every open gate that asks this person, or that does not: gates of others must never crowd out one's own."""
    standings = Standings(user)
    return (visit for visit in _open(projects).iterator(chunk_size=LIMIT) if standings.at(visit).may == mine)


def _other_work(user: User, projects: Sequence[Project]) -> Iterable[Item]:
    """Manual stations to complete, questions to answer, stuck and held tasks to free: whoever operates may."""
    able = set(access.projects_where(user, "operate"))
    mine = [project for project in projects if project in able]
    manual = Job.objects.filter(
        kind="manual", state=Job.State.RUNNING, task__project__in=mine
    ).select_related("task__project__owner", "task__line", "pinned")
    for job in manual.order_by("created_at")[:LIMIT]:
        yield _item(
            job.task,
            key=f"job-{job.pk}",
            status=Status.RUNNING,
            place=parsed(job.pinned).station(job.station).name,
            verb=_("Complete"),
            since=job.created_at,
            note=_("manual station"),
        )
    waiting = Token.objects.filter(status__in=WAITING, ended_at=None, task__project__in=mine).select_related(
        "task__project__owner", "task__line", "task__pinned"
    )
    for token in waiting.order_by("changed_at")[:LIMIT]:
        yield _waiting_item(token)


def _waiting_item(token: Token) -> Item:
    stations = parsed(token.task.pinned).stations_by_key
    station = stations.get(token.station)
    return _item(
        token.task,
        key=f"token-{token.pk}",
        status=token.status,
        place=station.name if station else token.station,
        verb=str(VERBS[Status(token.status)]),
        since=token.changed_at,
        note=token.error or str(token.wait.get("question") or ""),
    )


def _item(task: Task, *, key: str, status: str, place: str, verb: str, since: datetime, note: str) -> Item:
    project = task.project
    return Item(
        key=key,
        shape="station",
        status=status,
        line=task.line.name,
        place=place,
        number=task.name,
        title=task.title,
        requester=task.requested_by,
        url=reverse("task", args=[project.owner.key, project.key, task.name]),
        verb=verb,
        since=since,
        note=note[:200],
    )


def _gate_item(visit: GateVisit) -> Item:
    line = parsed(visit.asked_by.pinned)
    rule = visit.evidence.get("rule") or {}
    return Item(
        key=str(visit.pk),
        shape="gate",
        status=Status.AWAITING_REVIEW,
        line=line.name,
        place=gate_of(line, visit.gate).name,
        number=visit.task.name,
        title=visit.task.title,
        requester=visit.task.requested_by,
        url=reverse("gate-visit", args=[visit.pk]),
        verb=_("Review") if visit.state == GateVisit.State.OPEN else visit.get_word_display() or _("Closed"),
        since=visit.opened_at,
        due_at=visit.due_at if visit.state == GateVisit.State.OPEN else None,
        round=visit.round,
        votes=_votes(visit),
        note=_("rule: %(rule)s") % {"rule": rule.get("label") or rule.get("id")} if rule else "",
    )


def _votes(visit: GateVisit) -> str:
    need = sum(
        requirement.count for requirement in gate_of(parsed(visit.asked_by.pinned), visit.gate).approval.who
    )
    have = sum(vote.word == "approve" for vote in visit.votes.all())
    return f"{have}/{need}" if need > 1 else ""


def _visits(projects: Sequence[Project]) -> QuerySet[GateVisit]:
    return (
        GateVisit.objects.filter(task__project__in=projects)
        .select_related("task__project__owner", "task__line", "task__requester", "job", "asked_by__pinned")
        .prefetch_related("votes__user")
    )


def _open(projects: Sequence[Project]) -> QuerySet[GateVisit]:
    return _visits(projects).filter(state=GateVisit.State.OPEN).order_by("opened_at", "position")


def _decided(projects: Sequence[Project], user: User) -> QuerySet[GateVisit]:
    mine = Q(decided_by=user) | Q(votes__user=user)
    return (
        _visits(projects).filter(mine).exclude(state=GateVisit.State.OPEN).distinct().order_by("-decided_at")
    )


def _sorted(found: Iterable[Item]) -> list[Item]:
    return sorted(found, key=lambda item: item.order)
