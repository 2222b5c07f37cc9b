"""Migrating running tasks to another version of their line (law §1, LineVersion; docs/versions.md).

A token at rest is migrated at once: a queued job starts under the new version, an outcome that waits is decided again,
open gate visits are closed and asked again. A working one goes over at its next move: its job is judged by the version
it started under, and `landing` reads where that leads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import structlog

from pipelines.engine.core import rows
from pipelines.engine.core.batch import Batch
from pipelines.engine.core.decision_context import DecisionContext, counts, settle
from pipelines.engine.core.state import job_ref, merge_counts, token_state
from pipelines.engine.core.transaction import run
from pipelines.engine.core.unassigned import UNLEASED, begin, kind_of, unbegin
from pipelines.engine.core.values import Actor
from pipelines.engine.migration import joins
from pipelines.engine.migration.snapshot import MigrationSnapshot, Planned
from pipelines.engine.moves import effects
from pipelines.engine.moves.completion import close_visit, finish_job
from pipelines.engine.moves.job_creation import open_job
from pipelines.models import ENDED, Job, LineVersion, MigrationEntry, Purpose, Status, Task, Token
from pipelines.ports import observers
from pipelines.queries import versions
from pipelines.routing.analysis import impact
from pipelines.routing.analysis.impact import MigrationEffect
from pipelines.routing.decide.effects import asked_anew, told
from pipelines.routing.document.line import REVISION

LARGEST_BATCH = 50
WHY = "migrate"
JOB = ("pinned", "kind", "agent", "state", "started_at", "mapping")
log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Migrating:
    """One task to another version of its line. `mapping`: {old station: new station}.

    `expected`: what was confirmed, as `Planned.to_list` gives it; a task of which that is not true any more stays as
    it is. `entry_id`: the row of the audit that is written in the same transaction."""

    task_id: int
    to_version_id: int
    mapping: Mapping[str, str] = field(default_factory=dict)
    expected: Sequence[Mapping[str, Any]] | None = None
    entry_id: int | None = None


@dataclass(frozen=True)
class MigrateResult:
    """migrated · restored (by `put_back`) · already (nothing to do) · changed (not as expected any more) · refused
    (`detail` says why) · error (unexpected; nothing moved). `plan`: what was done, or would have been."""

    task_id: int
    status: Literal["migrated", "restored", "already", "changed", "refused", "error"]
    detail: str = ""
    plan: Planned | None = None


def migrate(members: Sequence[Migrating], actor: Actor) -> list[MigrateResult]:
    """Migrate tasks, up to fifty in one transaction; one result per member, in their order. A refused member is a
    value and holds up none of the others; one that meets an unexpected error is the only one that answers `error`."""
    results: list[MigrateResult] = []
    for start in range(0, len(members), LARGEST_BATCH):
        chunk = members[start : start + LARGEST_BATCH]
        results += in_one(partial(_together, actor=actor), chunk)
    return results


def in_one(work: Any, chunk: Sequence[Any]) -> list[MigrateResult]:
    """The members in one transaction; if that fails, each in one of its own (house §2)."""
    try:
        return run(partial(work, chunk))
    except Exception:
        log.exception("batch_rolled_back", members=len(chunk))
        return [_alone(work, each) for each in chunk]


def _alone(work: Any, each: Any) -> MigrateResult:
    try:
        result: MigrateResult = run(partial(work, [each]))[0]
        return result
    except Exception:
        log.exception("migration_failed", task=each.task_id)
        return MigrateResult(each.task_id, "error", "Something unexpected happened; nothing was changed.")


@dataclass
class MovingTask:
    """A batch with what a migration in it reads and writes besides."""

    batch: Batch
    ground: MigrationSnapshot
    actor: Actor
    known: dict[int, LineVersion]
    entries: dict[int, MigrationEntry]
    jobs: dict[int, Job] = field(default_factory=dict)
    done: list[MigrationEntry] = field(default_factory=list)
    seen: set[int] = field(default_factory=set)

    def write(self) -> None:
        rows.update(list(self.jobs.values()), JOB)
        rows.update(self.done, ("result", "detail", "tokens", "before", "seq", "at"))
        self.batch.flush()

    def twice(self, task_id: int) -> bool:
        """Whether the task was met before: what a second migration stands on would have to be read again."""
        if task_id in self.seen:
            return True
        self.seen.add(task_id)
        return False

    def enter(
        self, entry_id: int | None, task: Task | None, result: MigrateResult, **more: Any
    ) -> MigrateResult:
        """Write down what became of it, if somebody keeps the record."""
        entry = self.entries.get(entry_id or 0)
        if entry is not None and result.status != "error":
            entry.result, entry.detail, entry.at = result.status, result.detail, self.batch.now
            entry.seq = task.seq if task else 0
            for name, value in more.items():
                setattr(entry, name, value)
            self.done.append(entry)
        return result


def moving(
    task_ids: Sequence[int], version_ids: Sequence[int], entry_ids: Sequence[int | None], actor: Actor
) -> MovingTask:
    """Lock the tasks and read what migrating them stands on."""
    batch = Batch.of_tasks(*task_ids)
    ids = {*version_ids, *(task.pinned_id for task in batch.tasks.values())}
    return MovingTask(
        batch,
        MigrationSnapshot(batch.tasks.values(), batch.tokens.values(), batch.jobs),
        actor,
        LineVersion.objects.defer("document").in_bulk(ids),
        MigrationEntry.objects.in_bulk([each for each in entry_ids if each]),
    )


def _together(chunk: Sequence[Migrating], *, actor: Actor) -> list[MigrateResult]:
    ids = [each.task_id for each in chunk]
    this = moving(ids, [each.to_version_id for each in chunk], [each.entry_id for each in chunk], actor)
    results = [_one(this, member) for member in chunk]
    this.write()
    return results


def _one(this: MovingTask, member: Migrating) -> MigrateResult:
    task, entry = this.batch.tasks.get(member.task_id), this.entries.get(member.entry_id or 0)
    if entry and entry.result != MigrationEntry.Result.PLANNED:
        return MigrateResult(member.task_id, "already", "This was done before.")
    why = _refusal(this, task, member)
    if why or task is None:
        return this.enter(member.entry_id, task, MigrateResult(member.task_id, "refused", why))
    to = this.known[member.to_version_id]
    plan = this.ground.plan(task, to, member.mapping)
    result = _unfit(member, plan)
    if result:
        return this.enter(member.entry_id, task, result)
    kept = _do(this, task, to, member, plan)
    return this.enter(member.entry_id, task, MigrateResult(task.pk, "migrated", "", plan), **kept)


def _refusal(this: MovingTask, task: Task | None, member: Migrating) -> str:
    if task is None:
        return "There is no such task."
    if this.twice(task.pk):
        return "This task is named twice."
    if task.status in ENDED:
        return "This task has ended."
    to = this.known.get(member.to_version_id)
    if to is None or to.line_id != task.line_id:
        return "This is not a version of the task's line."
    unknown = sorted(set(member.mapping.values()) - set(versions.parsed(to).stations_by_key))
    return f"Version {to.number} has no station {', '.join(unknown)}." if unknown else ""


def _unfit(member: Migrating, plan: Planned) -> MigrateResult | None:
    """What keeps it from being done, apart from the task itself."""
    if member.expected is not None and plan.to_list() != [dict(each) for each in member.expected]:
        return MigrateResult(member.task_id, "changed", "This task changed after the impact was shown.", plan)
    if plan.needs:
        stations = ", ".join(plan.needs)
        return MigrateResult(
            member.task_id, "refused", f"The station {stations} is gone; map it to another one.", plan
        )
    if plan.nothing:
        return MigrateResult(member.task_id, "already", "It is on this version already.", plan)
    return None


def _do(this: MovingTask, task: Task, to: LineVersion, member: Migrating, plan: Planned) -> dict[str, Any]:
    """Everything that happens to one task; for the audit, how it was before and is now."""
    batch, was = this.batch, this.known[task.pinned_id]
    steps = [
        MigrationStep(this, task, token, effect, to, member.mapping)
        for token, effect in _pairs(this, task, plan)
    ]
    before = [step.before() for step in steps]
    held = {name: getattr(task, name) for name in ("context", "variables", "unreadable")}
    forks = joins.forks(batch, task)
    task.pinned = to
    batch.task_changed(task, "pinned")
    changed = [step.token for step in steps if step.quietly()]
    changed += joins.renamed(batch, task, versions.parsed(to), member.mapping)
    batch.event(
        task,
        "task.migrated",
        this.actor,
        source=f"v{was.number}",
        target=f"v{to.number}",
        trigger=WHY,
        pinned=to.pk,
        was=was.pk,
        revision=REVISION,
        mapping=dict(member.mapping),
        migration=_migration(this, member.entry_id),
        tokens=[token_state(token) for token in changed],
        count=merge_counts(task, plan.taken_back),
    )
    for step in steps:
        step.loudly()
    effects.meet(batch, task, this.actor, WHY)
    kept: dict[str, Any] = {name: value for name, value in held.items() if value is not getattr(task, name)}
    if forks:
        kept["forks"] = forks
    return {"tokens": [step.after(said) for step, said in zip(steps, before, strict=True)], "before": kept}


def _pairs(this: MovingTask, task: Task, plan: Planned) -> list[tuple[Token, MigrationEffect]]:
    return list(zip(this.ground.of(task), plan.effects, strict=True))


def _migration(this: MovingTask, entry_id: int | None) -> str:
    entry = this.entries.get(entry_id or 0)
    return str(entry.migration_id) if entry else ""


@dataclass
class MigrationStep:
    """One position of one task. `quietly`: what the event of the migration tells; `loudly`: what has its own events."""

    this: MovingTask
    task: Task
    token: Token
    effect: MigrationEffect
    to: LineVersion
    mapping: Mapping[str, str]

    def __post_init__(self) -> None:
        self.job, self.decision = (
            self.this.ground.job_of(self.token),
            self.this.ground.decision_of(self.token),
        )
        self.judge = self.this.ground.judge_of(self.token)
        former = self.job.mapping if self.job and self.judge != self.to.pk else {}
        self.read = impact.composed(former, self.mapping)

    def before(self) -> dict[str, Any]:
        return snapshot(self.token, self.job, self.this.ground.approved.get(self.token.pk, {}))

    def after(self, before: dict[str, Any]) -> dict[str, Any]:
        job = self.this.batch.open_job(self.token)
        if job and job.purpose != Purpose.STATION and self.effect.how != "again":
            job = self.job
        now = {"station": self.token.station, "status": str(self.token.status), "forked": self.token.forked}
        after = {**now, "job": job.pk if job else None}
        return {"token": self.token.pk, "how": self.effect.how, "before": before, "after": after}

    def quietly(self) -> bool:
        """Whether the token's row changed by it."""
        do = {"keep": self._keep, "there": self._there, "pin": self._pin, "still": self._still}
        return do[self.effect.how]() if self.effect.how in do else False

    def loudly(self) -> None:
        do = {"keep": self._ask_again, "carry": self._carry, "again": self._decide_again}
        if self.effect.how in do:
            do[self.effect.how]()

    # Without an event of its own

    def _keep(self) -> bool:
        self._map(self.read)
        return False

    def _there(self) -> bool:
        self._map({})
        return False

    def _map(self, mapping: Mapping[str, str]) -> None:
        if self.job and self.job.mapping != mapping:
            self.job.mapping = dict(mapping)
            self.this.jobs[self.job.pk] = self.job

    def _pin(self) -> bool:
        assert self.job is not None
        changed = self._stand()
        changed = pin(self.this, self.token, self.job, self.to) or changed
        if changed:
            self.this.batch.changed(self.token)
        return changed

    def _still(self) -> bool:
        changed = self._stand()
        if changed:
            self.this.batch.changed(self.token)
        return changed

    def _stand(self) -> bool:
        """Its station and its origin under their names in the new version."""
        line, token = versions.parsed(self.to), self.token
        origin = impact.landed(line, self.read, token.origin) or token.origin
        changed = (token.station, token.origin) != (self.effect.station, origin)
        changed = joins.arrived(line, self.read, token) or changed
        token.station, token.origin = self.effect.station, origin
        return changed

    # With events

    def _carry(self) -> None:
        assert self.job is not None
        origin = impact.landed(versions.parsed(self.to), self.read, self.token.origin) or self.token.origin
        carry(self.this, self.task, self.token, self.job, self.effect.station, origin)

    def _ask_again(self) -> None:
        """A question that a person's word led to is asked again by the version that asked it: no migration overrules
        a person."""
        if self.token.status == Status.AWAITING_REVIEW and self.decision:
            words = self.this.ground.approved.get(self.token.pk, {})
            before = self.decision.situation["facts"]
            facts = told(before, before.get("now", {}), words)
            self._settle(self.decision.pinned_id, {**self.decision.situation, "facts": facts})

    def _decide_again(self) -> None:
        assert self.decision is not None
        situation = self.decision.situation
        now = {**situation, "facts": asked_anew(situation["facts"], counts(self.task))}
        self._map({})
        self._stand()
        self._settle(self.to.pk, impact.situation_under(now, versions.parsed(self.to), self.read))

    def _settle(self, under: int, situation: dict[str, Any]) -> None:
        assert self.job is not None
        close_visits(self.this, self.task, self.token, "migrated")
        cause = f"migrate:{self.token.pk}.{self.token.version}"
        turn = DecisionContext(
            self.this.batch, self.task, self.token, self.job, self.this.actor, cause, WHY, under=under
        )
        effects.apply(turn, settle(turn, situation))


def snapshot(token: Token, job: Job | None, approved: Mapping[str, Any]) -> dict[str, Any]:
    """Of a position, for putting it back. `approved`: words at gates that were asked together with the open ones."""
    return {
        "station": token.station,
        "status": str(token.status),
        "origin": token.origin,
        "signal_reworks": token.signal_reworks,
        "wait": token.wait,
        "error": token.error,
        "job": job.pk if job else None,
        "approved": approved,
        "mapping": job.mapping if job else {},
    }


def pin(this: MovingTask, token: Token, job: Job, to: LineVersion) -> bool:
    """A job that nobody has begun starts under this version. Whether the token's status changed by it."""
    station, before = versions.parsed(to).station(token.station), token.status
    if job.agent != station.agent:
        this.batch.agents.frees(this.batch.tasks[job.task_id], job)
        job.agent = station.agent
    job.pinned_id, job.kind, job.mapping = to.pk, kind_of(station), {}
    begins = job.kind in UNLEASED and token.status != Status.HELD
    if begins:
        begin(this.batch, this.batch.tasks[token.task_id], job)
    else:
        job.state, job.started_at = Job.State.QUEUED, None
    if token.status != Status.HELD:
        token.status = Status.RUNNING if begins else Status.QUEUED
        if not begins:
            this.batch.ticket(token)
    this.jobs[job.pk] = job
    return token.status != before


def carry(
    this: MovingTask, task: Task, token: Token, job: Job, station: str, origin: str, why: str = WHY
) -> None:
    """The job that nobody has begun is closed, and one at another station opened: an entry, but bound by no budget."""
    batch, source, held = this.batch, token.station, token.wait if token.status == Status.HELD else None
    finish_job(batch, job, {"result": "cancelled", "reason": "manual"}, str(this.actor))
    token.station, token.origin, token.entered_at, token.signal_reworks = station, origin, batch.now, 0
    count = merge_counts(task, {"visits": {station: 1}})
    opened = open_job(batch, task, token, feedback=job.feedback)
    if held is not None:
        unbegin(batch, task, opened)
        token.status, token.wait = Status.HELD, held
    batch.changed(token)
    batch.event(
        task,
        "token.moved",
        this.actor,
        token=token,
        source=source,
        target=station,
        trigger=why,
        tokens=[token_state(token)],
        job=job_ref(opened),
        closed=job_ref(job),
        count=count,
        by="migration",
    )
    batch.tell(observers.TaskMoved(task.pk, source, (station,), batch.now))


def close_visits(this: MovingTask, task: Task, token: Token, why: str) -> None:
    """Votes on them get 409 from now on."""
    if token.status == Status.AWAITING_REVIEW:
        for visit in this.batch.open_visits(token):
            close_visit(this.batch, task, visit, this.actor, why)


__all__ = ["MigrateResult", "Migrating", "migrate"]
