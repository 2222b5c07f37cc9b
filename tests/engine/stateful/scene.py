"""One example: its tasks, the clock, what is remembered of attempts that were lost, and where choices come from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, TypeVar
from uuid import UUID

from django.db import connection
from django.utils import timezone

from pipelines import engine
from pipelines.models import LineVersion, Migration, Pause, Task, Worker
from pipelines.ports.leases import WorkOffer
from tests.engine.stateful import clock
from tests.engine.stateful.lines import LINES
from tests.engine.stateful.people import Cast
from tests.engine.stateful.sight import Row, Sight
from tests.factories import World, document

T = TypeVar("T")
HOUR = timedelta(hours=1)
# Longer than an example takes, shorter than a jump of the clock.
LEASE = 600.0
SPENT = "DELETE FROM procrastinate_jobs WHERE (args ->> 'token_id')::bigint = ANY(%s)"


def first(name: str, options: Sequence[T]) -> T:
    """Always the first: what is tried where nobody draws."""
    return options[0]


@dataclass
class Scene:
    world: World
    cast: Cast
    pick: Callable[[str, Sequence[Any]], Any] = first
    task_ids: list[int] = field(default_factory=list)
    live: dict[str, LineVersion] = field(default_factory=dict)
    lost: dict[int, engine.Report] = field(default_factory=dict)
    chosen: dict[str, Any] = field(default_factory=dict)
    migrated: dict[int, Migration] = field(default_factory=dict)
    companions: list[int] = field(default_factory=list)
    earliest: timedelta = timedelta()
    latest: timedelta = timedelta()
    now: timedelta = timedelta()

    def __post_init__(self) -> None:
        clock.set_ahead(timedelta())

    @property
    def claim(self) -> WorkOffer:
        able = frozenset({"model"})
        return WorkOffer(worker=self.world.worker.pk, labels=frozenset({"gpu"}), seconds=LEASE, answers=able)

    @property
    def by_worker(self) -> str:
        return f"worker:{self.world.worker.pk}"

    def look(self) -> Sight:
        return Sight.of(self.task_ids)

    def choice(self, name: str, options: Sequence[T]) -> T:
        """One of the options: what was said beforehand, else as drawn."""
        found: T = self.chosen[name] if name in self.chosen else self.pick(name, options)
        return found

    def version(self, key: str) -> LineVersion:
        return self.live.get(key) or self.publish(key)

    def publish(self, key: str) -> LineVersion:
        number = self.live[key].number + 1 if key in self.live else 1
        self.live[key] = self.world.line(LINES[key](number))
        return self.live[key]

    def submit(self, key: str) -> int:
        """A new task; the id of its token."""
        actor = engine.Actor.person(self.cast.requester)
        task = engine.submit(self.version(key), actor=actor, title="A task")
        self.task_ids.append(task.pk)
        return int(task.tokens.get().pk)

    def companion(self, **more: Any) -> Task:
        """Another task of the project, at a station that does nothing; nobody looks at it."""
        if "beside" not in self.live:
            self.live["beside"] = self.world.line(document(["only"], "beside"))
        actor = engine.Actor.person(self.cast.requester)
        made = engine.submit(self.live["beside"], actor=actor, title="Another", **more)
        self.companions.append(made.pk)
        return made

    @contextmanager
    def able(self) -> Iterator[None]:
        """While a machine can be asked."""
        worker = Worker.objects.filter(pk=self.world.worker.pk)
        worker.update(answers=["model"], seen_at=timezone.now() + timedelta(days=365))
        yield
        worker.update(answers=[], seen_at=timezone.now())

    @contextmanager
    def later(self, by: timedelta) -> Iterator[None]:
        """The clock is further than it ever was, and then where it was before; the tasks' own times stay there."""
        self.latest += by
        clock.set_ahead(self.latest)
        yield
        clock.set_ahead(self.now)

    def jump(self) -> None:
        """Later than it ever was: whatever lease was in force has run out."""
        self.latest += HOUR
        self.now = self.latest
        clock.set_ahead(self.now)

    def jump_back(self) -> None:
        """Earlier than it ever was: whatever lease had run out is in force again."""
        self.earliest -= HOUR
        self.now = self.earliest
        clock.set_ahead(self.now)

    def remember(self, before: Sight, after: Sight) -> None:
        """Attempts whose lease was taken away: their workers may still report."""
        jobs: dict[int, Row] = {job["id"]: job for job in after.rows["jobs"]}
        for subject in before.subjects.values():
            had = subject.leased
            if (
                had
                and jobs[had["id"]]["state"] != "done"
                and jobs[had["id"]]["lease_key"] != had["lease_key"]
            ):
                self.lost[subject.id] = report_of(had, {"result": "success", "eval": "two"}, self.by_worker)

    def is_paused(self) -> bool:
        """Whether anything of the project is paused."""
        return Pause.objects.filter(project=self.world.project, ended_at=None).exists()

    def close(self) -> None:
        """Everything ends, so that no later example finds anything of this one to sweep."""
        for subject in self.look().subjects.values():
            if not subject.over and subject.token["parent_id"] is None:
                engine.cancel(subject.token["task_id"], actor=engine.ENGINE)
        for task in Task.objects.filter(pk__in=self.companions, ended_at=None):
            engine.cancel(task.pk, actor=engine.ENGINE)
        for pause in Pause.objects.filter(project=self.world.project, ended_at=None):
            scope = engine.PauseScope(pause.project, pause.line, pause.station, pause.task)
            engine.resume(scope, user=self.world.admin)
        self.spend(list(self.look().subjects))
        self.task_ids.clear()
        self.companions.clear()

    @staticmethod
    def spend(token_ids: list[int]) -> None:
        """A ticket that a worker took is gone, whatever it found to do."""
        with connection.cursor() as cursor:
            cursor.execute(SPENT, [token_ids])


def report_of(job: Row, outcome: dict[str, Any], by: str, **more: Any) -> engine.Report:
    given = {"attempt": job["attempt"], "lease": as_uuid(job["lease_key"]), **more}
    return engine.Report(job["id"], outcome=outcome, by=by, **given)


def as_uuid(text: str | None) -> UUID | None:
    return UUID(text) if text else None
