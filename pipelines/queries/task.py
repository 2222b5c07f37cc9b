"""One task, whole: its positions, jobs, decisions, gates, artifacts and events."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from pipelines import versions
from pipelines.models import ENDED, Artifact, Decision, Event, GateVisit, Job, Status, Task, Token
from pipelines.queries import why as whys
from pipelines.queries.history import Item, history
from pipelines.queries.words import Sentence, waiting
from pipelines.routing.line import Line as Parsed


@dataclass
class Position:
    """A living token with what it waits for."""

    token: Token
    sentence: Sentence | None
    job: Job | None
    visits: list[GateVisit]

    @property
    def manual(self) -> bool:
        return self.job is not None and self.job.kind == "manual" and self.job.state == Job.State.RUNNING


class TaskView:
    """Reads lazily: a fragment asks only for its part."""

    def __init__(self, task: Task, now: datetime) -> None:
        self.task, self.now = task, now

    @cached_property
    def line(self) -> Parsed:
        return versions.by_id(self.task.pinned_id)

    @cached_property
    def jobs(self) -> list[Job]:
        """Oldest first."""
        return list(Job.objects.filter(task=self.task).select_related("worker").order_by("pk"))

    @cached_property
    def tokens(self) -> list[Token]:
        return list(Token.objects.filter(task=self.task).order_by("pk"))

    @cached_property
    def events(self) -> list[Event]:
        return list(Event.objects.filter(task=self.task).order_by("seq"))

    @cached_property
    def history(self) -> list[Item]:
        return history(self.task, self.events, self.now)

    @cached_property
    def artifacts(self) -> list[Artifact]:
        return list(
            Artifact.objects.filter(task=self.task).select_related("blob", "job").order_by("job_id", "name")
        )

    @cached_property
    def open_visits(self) -> list[GateVisit]:
        return list(GateVisit.objects.filter(task=self.task, state=GateVisit.State.OPEN).order_by("position"))

    @cached_property
    def positions(self) -> list[Position]:
        last = {job.token_id: job for job in self.jobs}
        return [
            Position(
                token,
                waiting(token, self.line),
                last.get(token.pk),
                [visit for visit in self.open_visits if visit.token_id == token.pk],
            )
            for token in self.tokens
            if token.status not in ENDED and not token.forked
        ]

    def why(self, wanted: str = "") -> whys.Why | None:
        """The decision `wanted` (an id), else the last one; None where nothing has been decided yet."""
        decisions = list(
            Decision.objects.filter(task=self.task).order_by("at", "pk").values_list("pk", flat=True)
        )
        if not decisions:
            return None
        ids = [str(pk) for pk in decisions]
        place = ids.index(wanted) if wanted in ids else len(ids) - 1
        found = whys.why(Decision.objects.get(pk=decisions[place]))
        found.position, found.total = place + 1, len(ids)
        found.before = ids[place - 1] if place else ""
        found.after = ids[place + 1] if place + 1 < len(ids) else ""
        event = next((event for event in self.events if str(event.decision_id) == ids[place]), None)
        found.event = f"EVT-{event.pk}" if event else ""
        return found

    @property
    def waits(self) -> bool:
        return self.task.status in (Status.AWAITING_REVIEW, Status.BLOCKED, Status.HELD, Status.STUCK)

    @property
    def elapsed(self) -> float:
        return ((self.task.ended_at or self.now) - self.task.created_at).total_seconds()

    @property
    def expected(self) -> float | None:
        """The sum over the stations that say what is expected of them; None if none does."""
        said = [station.limits.expected for station in self.line.stations if station.limits.expected]
        return float(sum(said)) if said else None
