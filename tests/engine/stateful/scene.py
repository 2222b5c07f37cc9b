"""One example: its tasks, the clock, what is remembered of attempts that were lost, and where choices come from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, TypeVar
from uuid import UUID

from django.db import connection

from pipelines import engine
from pipelines.leases import Claim
from pipelines.models import LineVersion, Migration
from tests.engine.stateful import clock
from tests.engine.stateful.lines import LINES
from tests.engine.stateful.people import Cast
from tests.engine.stateful.sight import Row, Sight
from tests.factories import World

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
    earliest: timedelta = timedelta()
    latest: timedelta = timedelta()

    def __post_init__(self) -> None:
        clock.set_ahead(timedelta())

    @property
    def claim(self) -> Claim:
        return Claim(worker=self.world.worker.pk, labels=frozenset({"gpu"}), seconds=LEASE)

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

    def jump(self) -> None:
        """Later than it ever was: whatever lease was in force has run out."""
        self.latest += HOUR
        clock.set_ahead(self.latest)

    def jump_back(self) -> None:
        """Earlier than it ever was: whatever lease had run out is in force again."""
        self.earliest -= HOUR
        clock.set_ahead(self.earliest)

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

    def close(self) -> None:
        """Everything ends, so that no later example finds anything of this one to sweep."""
        for subject in self.look().subjects.values():
            if not subject.over and subject.token["parent_id"] is None:
                engine.cancel(subject.token["task_id"], actor=engine.ENGINE)
        self.spend(list(self.look().subjects))
        self.task_ids.clear()

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
