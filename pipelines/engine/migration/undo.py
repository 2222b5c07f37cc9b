"""Putting tasks back to where a migration found them: the version, the position, the question (docs/versions.md).

Only what has not moved since goes back; a task that did says so and stays. A decision that waited is made again by the
version that made it, on the same situation: the same question, asked in a new gate visit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from typing import Any

from pipelines.engine.core.decision_context import DecisionContext, decide_and_store_decision
from pipelines.engine.core.unassigned import UNLEASED
from pipelines.engine.core.values import Actor, add_counts_to_task, token_fields_for_event
from pipelines.engine.migration import joins
from pipelines.engine.migration.migrate import run_in_batches
from pipelines.engine.migration.migration_batch import (
    MigrateResult,
    MigrationBatch,
    lock_and_read_for_migration,
)
from pipelines.engine.migration.positions import (
    close_job_and_open_elsewhere,
    close_open_visits_without_decision,
    pin_queued_job_and_tell_if_status_changed,
)
from pipelines.engine.moves import decision_application, escalations
from pipelines.engine.moves.completion import store_outcome_and_end_job
from pipelines.models import ENDED, Decision, Escalation, Event, Job, LineVersion, MigrationEntry, Task, Token
from pipelines.queries.versions import parsed_version
from pipelines.routing.decide.effects import facts_with_votes

WHY = "undo"
UNDONE = "The migration that escalated it was undone."
# What may have happened since without the task having moved.
HARMLESS = ("job.started", "job.lost", "job.returned", "job.ignored", "gate.voted")


@dataclass(frozen=True)
class MigrationUndo:
    """Undo of a migration: one task goes back to where the migration of `undoes` (id of a MigrationEntry) met
    it. `entry_id`: as in `TaskMigration`."""

    task_id: int
    undoes: int
    entry_id: int | None = None


def undo_migration_of_tasks(members: Sequence[MigrationUndo], actor: Actor) -> list[MigrateResult]:
    """Undo what a migration did, up to fifty tasks in one transaction; one result per member: restored, refused (it
    moved since, or ended), or error. Refused members are values and hold up none of the others."""
    return run_in_batches(partial(_undo_chunk, actor=actor), members)


def _undo_chunk(chunk: Sequence[MigrationUndo], *, actor: Actor) -> list[MigrateResult]:
    undone = MigrationEntry.objects.in_bulk([member.undoes for member in chunk])
    versions = [entry.was_id for entry in undone.values()]
    this = lock_and_read_for_migration(
        [member.task_id for member in chunk], versions, [member.entry_id for member in chunk], actor
    )
    results = [_undo_task(this, member, undone.get(member.undoes)) for member in chunk]
    this.write_rows()
    return results


def _undo_task(
    migration_batch: MigrationBatch, member: MigrationUndo, undoes: MigrationEntry | None
) -> MigrateResult:
    task, entry = (
        migration_batch.batch.tasks.get(member.task_id),
        migration_batch.entries.get(member.entry_id or 0),
    )
    # The queue may hand out the same chunk twice: what is recorded is not done again
    if entry and entry.result != MigrationEntry.Result.PLANNED:
        return MigrateResult(member.task_id, "already", "This was done before.")
    why = _undo_refusal_text(migration_batch, task, undoes)
    if why or task is None or undoes is None:
        return migration_batch.record_result_of_entry(
            member.entry_id, task, MigrateResult(member.task_id, "refused", why)
        )
    _restore_task(migration_batch, task, undoes)
    return migration_batch.record_result_of_entry(member.entry_id, task, MigrateResult(task.pk, "restored"))


def _undo_refusal_text(
    migration_batch: MigrationBatch, task: Task | None, undoes: MigrationEntry | None
) -> str:
    if task is None or undoes is None or undoes.task_id != task.pk:
        return "There is no such task in this migration."
    if migration_batch.mark_task_and_return_if_repeated(task.pk):
        return "This task is named twice."
    if undoes.result != MigrationEntry.Result.MIGRATED:
        return "This task was not migrated."
    if task.status in ENDED:
        return "This task has ended; terminal is final."
    # What happened since would be overwritten
    since = Event.objects.filter(task=task, seq__gt=undoes.seq).exclude(kind__in=HARMLESS)
    if since.exists():
        return "This task has moved since."
    if any(token_record["after"]["forked"] for token_record in undoes.tokens):
        return "The migration forked this task, and branches have begun."
    return _work_begun_since_reason(migration_batch, undoes)


def _work_begun_since_reason(migration_batch: MigrationBatch, undoes: MigrationEntry) -> str:
    """Return why a task cannot be put back: somebody works on a job that the migration opened. Otherwise ""."""
    for token_record in undoes.tokens:
        job = migration_batch.batch.jobs.get(token_record["after"]["job"] or 0)
        opened = job is not None and job.pk != token_record["before"]["job"]
        if (
            token_record["token"] not in migration_batch.batch.tokens
            or migration_batch.batch.tokens[token_record["token"]].status in ENDED
        ):
            return "A branch of this task has ended since."
        if job and opened and not _is_queued_or_by_hand(job):
            return f"Work at {job.station} has begun."
    return ""


def _is_queued_or_by_hand(job: Job) -> bool:
    return job.state == Job.State.QUEUED or job.kind in UNLEASED


def _restore_task(migration_batch: MigrationBatch, task: Task, undoes: MigrationEntry) -> None:
    batch, to, migrated = (
        migration_batch.batch,
        migration_batch.known[undoes.was_id],
        migration_batch.known[task.pinned_id],
    )
    backs = [
        PositionUndo(
            migration_batch,
            task,
            migration_batch.batch.tokens[token_record["token"]],
            token_record,
            to,
            undoes,
        )
        for token_record in undoes.tokens
    ]
    task.pinned = to
    restored = {name: value for name, value in undoes.before.items() if name != "forks"}
    batch.mark_task_changed(task, "pinned", *restored)
    for name, value in restored.items():
        setattr(task, name, value)
    counted = add_counts_to_task(task, _counts_to_undo(undoes))
    changed = [back.token for back in backs if back.undo_without_events_and_tell_if_changed()]
    changed += joins.restore_station_keys_of_forked_tokens(batch, task, undoes.before.get("forks", {}))
    entry = next(
        (candidate for candidate in migration_batch.entries.values() if candidate.task_id == task.pk), None
    )
    batch.append_event(
        task,
        "task.migrated",
        migration_batch.actor,
        source=f"v{migrated.number}",
        target=f"v{to.number}",
        trigger=WHY,
        pinned=to.pk,
        was=migrated.pk,
        undoes=str(undoes.migration_id),
        migration=str(entry.migration_id) if entry else "",
        restored=restored,
        tokens=[token_fields_for_event(token) for token in changed],
        count=counted,
    )
    _close_escalations_of_migration(migration_batch, task, undoes)
    for back in backs:
        back.undo_with_events()
    decision_application.merge_joins_that_are_ready(batch, task, migration_batch.actor, WHY)


def _close_escalations_of_migration(
    migration_batch: MigrationBatch, task: Task, undoes: MigrationEntry
) -> None:
    """Close what the decisions of the migration escalated: the version that asked for it is left again."""
    opened = {event.data.get("escalation") for event in _own_events_of_migration(undoes)}
    for escalation in escalations.open_escalations_of_task(task):
        if str(escalation.pk) in opened:
            escalations.close_escalation_and_release(
                migration_batch.batch,
                task,
                escalation,
                Escalation.How.GO_ON,
                migration_batch.actor,
                answer=UNDONE,
            )


def _own_events_of_migration(undoes: MigrationEntry) -> list[Event]:
    """Return what the migration's own moves told, the latest first."""
    events = Event.objects.filter(task=undoes.task_id, seq__lte=undoes.seq).order_by("-seq")
    # Back to the event of the migration itself: what is before it was not its doing.
    return list(takewhile(lambda event: event.kind != "task.migrated", events.iterator()))


def _counts_to_undo(undoes: MigrationEntry) -> dict[str, dict[str, int]]:
    """The edges, rules and failures that the migration's own moves counted. (Visits are jobs, and jobs stay.)"""
    counted: dict[str, Counter[str]] = {name: Counter() for name in ("edges", "rules", "failures")}
    for event in _own_events_of_migration(undoes):
        for name, total in counted.items():
            total.update(event.data.get("count", {}).get(name, {}))
    return {name: {key: -n for key, n in total.items()} for name, total in counted.items()}


@dataclass
class PositionUndo:
    """Step back of one position. `recorded`: how it was and what was done, as the migration wrote it down."""

    this: MigrationBatch
    task: Task
    token: Token
    recorded: dict[str, Any]
    to: LineVersion
    undoes: MigrationEntry

    def __post_init__(self) -> None:
        self.before, self.how = self.recorded["before"], self.recorded["how"]
        self.job = self.this.ground.open.get(self.token.pk)

    def undo_without_events_and_tell_if_changed(self) -> bool:
        """Undo what the event of the undo tells; return whether the token's row changed."""
        if self.how == "again":
            # Told by the events of the decision that is made again.
            return False
        changed = self._restore_position_and_tell_if_changed() if self.how in ("pin", "still") else False
        if self.how == "pin" and self.job:
            changed = self._pin_job_to_former_version_and_tell_if_changed(self.job) or changed
        elif self.how in ("keep", "there"):
            self._set_job_mapping(
                self.this.ground.open_or_decided_job_of_token_or_none(self.token), self.before["mapping"]
            )
        if changed:
            self.this.batch.mark_token_changed(self.token)
        return changed

    def undo_with_events(self) -> None:
        if self.how == "carry" and self.job:
            close_job_and_open_elsewhere(
                self.this, self.task, self.token, self.job, self.before["station"], self.before["origin"], WHY
            )
        elif self.how == "again":
            self._ask_gates_as_before()

    def _restore_position_and_tell_if_changed(self) -> bool:
        was = {name: getattr(self.token, name) for name in ("station", "origin", "signal_reworks")}
        for name in was:
            setattr(self.token, name, self.before[name])
        changed = any(self.before[name] != value for name, value in was.items())
        if "join" in self.before["wait"]:
            changed = changed or self.token.wait != self.before["wait"]
            self.token.wait = self.before["wait"]
        return changed

    def _pin_job_to_former_version_and_tell_if_changed(self, job: Job) -> bool:
        if _is_queued_or_by_hand(job):
            return pin_queued_job_and_tell_if_status_changed(self.this, self.token, job, self.to)
        # Somebody works on it under the version that is left: judged by it, then read back.
        self._set_job_mapping(job, self._mapping_back_to_former_keys())
        return False

    def _mapping_back_to_former_keys(self) -> dict[str, str]:
        """Return the mapping backwards. Stations with the same key in both versions keep it, except where this
        position was."""
        known = parsed_version(self.to).stations_by_key
        # Two stations may have been mapped to one: where this position was is kept with it
        former = {new: old for old, new in self.undoes.migration.mapping.items() if new not in known}
        own = {self.recorded["after"]["station"]: self.before["station"]}
        return {new: old for new, old in {**former, **own}.items() if new != old}

    def _set_job_mapping(self, job: Job | None, mapping: dict[str, str]) -> None:
        if job and job.mapping != mapping:
            job.mapping = mapping
            self.this.jobs[job.pk] = job

    def _ask_gates_as_before(self) -> None:
        decision = Decision.objects.get(pk=self.before["wait"]["decision"])
        job = self.this.ground.jobs.get(decision.job_id) or Job.objects.get(pk=decision.job_id)
        batch, actor = self.this.batch, self.this.actor
        close_open_visits_without_decision(self.this, self.task, self.token, "migration_undone")
        opened = batch.open_job_or_none(self.token)
        if opened:
            # The question is asked as it was before, so that what works on another answer is over
            store_outcome_and_end_job(batch, opened, {"result": "cancelled", "reason": "manual"}, str(actor))
        self._set_job_mapping(job, self.before["mapping"])
        self._restore_position_and_tell_if_changed()
        self.token.entered_at = batch.now
        cause = f"undo:{self.token.pk}.{self.token.version}"
        context = DecisionContext(
            batch, self.task, self.token, job, actor, cause, WHY, other_judge_version_id=decision.pinned_id
        )
        old_facts = decision.situation["facts"]
        facts = facts_with_votes(old_facts, old_facts.get("now", {}), self.before["approved"])
        decision_application.apply_decision(
            context, decide_and_store_decision(context, {**decision.situation, "facts": facts})
        )


__all__ = ["MigrationUndo", "undo_migration_of_tasks"]
