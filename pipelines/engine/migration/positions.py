"""Position of a task under migration: a queued job, a working one, an outcome that waits or open gate visits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pipelines.engine.core.decision_context import (
    DecisionContext,
    counts_and_open_escalations_facts,
    decide_and_store_decision,
)
from pipelines.engine.core.expected_times import drop_late_due_time, set_late_due_time
from pipelines.engine.core.unassigned import UNLEASED, start_job_without_worker, undo_start_without_worker
from pipelines.engine.core.values import add_counts_to_task, job_fields_for_event, token_fields_for_event
from pipelines.engine.migration import joins
from pipelines.engine.migration.migration_batch import WHY, MigrationBatch
from pipelines.engine.moves import decision_application
from pipelines.engine.moves.completion import store_outcome_and_end_job
from pipelines.engine.moves.gates import close_visit
from pipelines.engine.moves.job_creation import create_job_of_current_station, job_kind
from pipelines.models import Job, LineVersion, Purpose, Status, Task, Token
from pipelines.ports import observers
from pipelines.queries import versions
from pipelines.routing.analysis import migration_impact
from pipelines.routing.analysis.migration_impact import MigrationEffect
from pipelines.routing.decide.effects import facts_for_deciding_anew, facts_with_votes


@dataclass
class MigrationStep:
    """Migration of one position of one task. Without events: what the event of the migration
    tells; with events: what has its own."""

    this: MigrationBatch
    task: Task
    token: Token
    effect: MigrationEffect
    to: LineVersion
    mapping: Mapping[str, str]

    def __post_init__(self) -> None:
        self.job, self.decision = (
            self.this.ground.open_or_decided_job_of_token_or_none(self.token),
            self.this.ground.decision_token_rests_on_or_none(self.token),
        )
        self.judge = self.this.ground.judge_version_id_of(self.token)
        former = self.job.mapping if self.job and self.judge != self.to.pk else {}
        self.read = migration_impact.compose_mappings(former, self.mapping)

    def position_before(self) -> dict[str, Any]:
        return position_snapshot(self.token, self.job, self.this.ground.approved.get(self.token.pk, {}))

    def before_and_after_record(self, before: dict[str, Any]) -> dict[str, Any]:
        job = self.this.batch.open_job_or_none(self.token)
        # A question is no job of the position: unless it was asked anew, the work it is about counts
        if job and job.purpose != Purpose.STATION and self.effect.how != "again":
            job = self.job
        now = {"station": self.token.station, "status": str(self.token.status), "forked": self.token.forked}
        after = {**now, "job": job.pk if job else None}
        return {"token": self.token.pk, "how": self.effect.how, "before": before, "after": after}

    def apply_without_events_and_tell_if_changed(self) -> bool:
        """Apply what has no event of its own; return whether the token's row changed by it."""
        do = {
            "keep": self._keep_with_mapping_and_tell_if_changed,
            "there": self._keep_without_mapping_and_tell_if_changed,
            "pin": self._pin_and_rename_and_tell_if_changed,
            "still": self._rename_and_keep_job_and_tell_if_changed,
        }
        return do[self.effect.how]() if self.effect.how in do else False

    def apply_with_events(self) -> None:
        do = {
            "keep": self._ask_person_again_by_same_version,
            "carry": self._carry_job_to_station,
            "again": self._decide_again,
        }
        if self.effect.how in do:
            do[self.effect.how]()

    # Without an event of its own

    def _keep_with_mapping_and_tell_if_changed(self) -> bool:
        self._set_job_mapping(self.read)
        return False

    def _keep_without_mapping_and_tell_if_changed(self) -> bool:
        self._set_job_mapping({})
        return False

    def _set_job_mapping(self, mapping: Mapping[str, str]) -> None:
        if self.job and self.job.mapping != mapping:
            self.job.mapping = dict(mapping)
            self.this.jobs[self.job.pk] = self.job

    def _pin_and_rename_and_tell_if_changed(self) -> bool:
        assert self.job is not None
        changed = self._rename_position_and_tell_if_changed()
        changed = (
            pin_queued_job_and_tell_if_status_changed(self.this, self.token, self.job, self.to) or changed
        )
        if changed:
            self.this.batch.mark_token_changed(self.token)
        return changed

    def _rename_and_keep_job_and_tell_if_changed(self) -> bool:
        changed = self._rename_position_and_tell_if_changed()
        if changed:
            self.this.batch.mark_token_changed(self.token)
        return changed

    def _rename_position_and_tell_if_changed(self) -> bool:
        """Rename the token's station and origin to their keys in the new version."""
        line, token = versions.parsed_version(self.to), self.token
        origin = migration_impact.mapped_station_key_or_none(line, self.read, token.origin) or token.origin
        changed = (token.station, token.origin) != (self.effect.station, origin)
        changed = joins.rename_station_of_arrival_and_tell_if_changed(line, self.read, token) or changed
        token.station, token.origin = self.effect.station, origin
        return changed

    # With events

    def _carry_job_to_station(self) -> None:
        assert self.job is not None
        origin = (
            migration_impact.mapped_station_key_or_none(
                versions.parsed_version(self.to), self.read, self.token.origin
            )
            or self.token.origin
        )
        close_job_and_open_elsewhere(self.this, self.task, self.token, self.job, self.effect.station, origin)

    def _ask_person_again_by_same_version(self) -> None:
        """Ask again, by the same version, a question that a person's vote led to: no migration overrules a
        person."""
        if self.token.status == Status.AWAITING_REVIEW and self.decision:
            words = self.this.ground.approved.get(self.token.pk, {})
            before = self.decision.situation["facts"]
            facts = facts_with_votes(before, before.get("now", {}), words)
            self._decide_and_apply(self.decision.pinned_id, {**self.decision.situation, "facts": facts})

    def _decide_again(self) -> None:
        assert self.decision is not None
        situation = self.decision.situation
        now = {
            **situation,
            "facts": facts_for_deciding_anew(
                situation["facts"], counts_and_open_escalations_facts(self.task)
            ),
        }
        self._set_job_mapping({})
        self._rename_position_and_tell_if_changed()
        self._decide_and_apply(
            self.to.pk, migration_impact.remapped_situation(now, versions.parsed_version(self.to), self.read)
        )

    def _decide_and_apply(self, judge_version_id: int, situation: dict[str, Any]) -> None:
        assert self.job is not None
        close_open_visits_without_decision(self.this, self.task, self.token, "migrated")
        cause = f"migrate:{self.token.pk}.{self.token.version}"
        context = DecisionContext(
            self.this.batch,
            self.task,
            self.token,
            self.job,
            self.this.actor,
            cause,
            WHY,
            other_judge_version_id=judge_version_id,
        )
        decision_application.apply_decision(context, decide_and_store_decision(context, situation))


def position_snapshot(token: Token, job: Job | None, approved: Mapping[str, Any]) -> dict[str, Any]:
    """Return the snapshot of a position, for putting it back. `approved`: words at gates that were asked
    together with the open ones."""
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


def pin_queued_job_and_tell_if_status_changed(
    migration_batch: MigrationBatch, token: Token, job: Job, to: LineVersion
) -> bool:
    """A job that nobody has begun starts under this version. Whether the token's status changed by it."""
    station, before = versions.parsed_version(to).station(token.station), token.status
    if job.agent != station.agent:
        # An open job takes a place at its agent: somebody else may have this one now.
        migration_batch.batch.agents.give_back_agent_place(migration_batch.batch.tasks[job.task_id], job)
        job.agent = station.agent
    job.pinned_id, job.kind, job.mapping = to.pk, job_kind(station), {}
    begins = job.kind in UNLEASED and token.status != Status.HELD
    batch, task = migration_batch.batch, migration_batch.batch.tasks[token.task_id]
    # Times that were set for it are those of another kind of work, or of another version
    undo_start_without_worker(batch, task, job)
    drop_late_due_time(batch, task, token)
    if begins:
        start_job_without_worker(batch, task, job)
        set_late_due_time(batch, task, token, job)
    if token.status != Status.HELD:
        token.status = Status.RUNNING if begins else Status.QUEUED
        if not begins:
            migration_batch.batch.add_ticket(token)
    migration_batch.jobs[job.pk] = job
    return token.status != before


def close_job_and_open_elsewhere(
    migration_batch: MigrationBatch,
    task: Task,
    token: Token,
    job: Job,
    station: str,
    origin: str,
    why: str = WHY,
) -> None:
    """Close the job that nobody has started, and open one at another station. It counts as a visit, but no
    budget limits it."""
    batch, source, previous_wait = (
        migration_batch.batch,
        token.station,
        token.wait if token.status == Status.HELD else None,
    )
    store_outcome_and_end_job(
        batch, job, {"result": "cancelled", "reason": "manual"}, str(migration_batch.actor)
    )
    token.station, token.origin, token.entered_at, token.signal_reworks = station, origin, batch.now, 0
    count = add_counts_to_task(task, {"visits": {station: 1}})
    opened = create_job_of_current_station(batch, task, token, feedback=job.feedback)
    # What holds a task goes over with it: no migration releases anything
    if previous_wait is not None:
        undo_start_without_worker(batch, task, opened)
        token.status, token.wait = Status.HELD, previous_wait
    batch.mark_token_changed(token)
    batch.append_event(
        task,
        "token.moved",
        migration_batch.actor,
        token=token,
        source=source,
        target=station,
        trigger=why,
        tokens=[token_fields_for_event(token)],
        job=job_fields_for_event(opened),
        closed=job_fields_for_event(job),
        count=count,
        # law §14: moves by migration are outside of guarantees, and their event says so.
        by="migration",
    )
    batch.emit(observers.TaskMoved(task.pk, source, (station,), batch.now))


def close_open_visits_without_decision(
    migration_batch: MigrationBatch, task: Task, token: Token, why: str
) -> None:
    """Votes on them get 409 from now on."""
    if token.status == Status.AWAITING_REVIEW:
        for visit in migration_batch.batch.open_visits_of_token(token):
            close_visit(migration_batch.batch, task, visit, migration_batch.actor, why)
