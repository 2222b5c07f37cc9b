"""Snapshot that a migration of tasks stands on: every living position with all that its effect depends on,
read by few statements. The impact reads it without a lock, the migration once more under the lock; both
then plan alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pipelines.engine.migration import joins
from pipelines.engine.moves import gates
from pipelines.models import (
    Decision,
    Event,
    GateVisit,
    Job,
    LineVersion,
    Purpose,
    Status,
    Task,
    Token,
    Vote,
    Word,
)
from pipelines.queries import versions
from pipelines.routing.analysis import migration_impact
from pipelines.routing.analysis.migration_impact import MigratingPosition, MigrationEffect
from pipelines.routing.basics.outcome import read_outcome
from pipelines.routing.decide import effects
from pipelines.routing.decide.decisions import Finish, Wait
from pipelines.routing.decide.effects import DecisionSubject, counts_with_added, facts_for_deciding_anew
from pipelines.routing.decide.outcome_judgement import judge_outcome
from pipelines.routing.decide.transitions import COUNTERS, TokenPlace, decision_transition
from pipelines.routing.document.line import ParsedLine

Counts = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True)
class Planned:
    """Plan of what migrating a task does, one effect per living position, in the order in which it is done."""

    effects: tuple[MigrationEffect, ...]
    nothing: bool
    taken_back: Counts

    @property
    def unmapped_stations(self) -> tuple[str, ...]:
        """Stations that the mapping does not name and the version does not have."""
        return tuple(dict.fromkeys(effect.needs for effect in self.effects if effect.needs))

    def effects_as_dicts(self) -> list[dict[str, Any]]:
        return [effect.to_dict() for effect in self.effects]


class MigrationSnapshot:
    """Snapshot of these tasks with these tokens (living, not forked ones count). `jobs`: rows that are loaded
    already."""

    def __init__(
        self, tasks: Iterable[Task], tokens: Iterable[Token], jobs: Mapping[int, Job] | None = None
    ) -> None:
        self.tasks = {task.pk: task for task in tasks}
        living = [token for token in tokens if token.ended_at is None]
        positions = [token for token in living if not token.forked]
        self.tokens = sorted(positions, key=lambda token: token.pk)
        self._living, self._of = _tokens_by_task(living), _tokens_by_task(self.tokens)
        self.decisions = self._decisions_by_id()
        self.open, self.jobs = self._jobs_by_token_and_id(dict(jobs or {}))
        self.voted, self.approved = self._voted_tokens_and_decided_votes()
        self._rejecting = self._ids_of_tasks_ever_rejected()
        self._counted = self._counts_by_blocked_decision()

    # Reading

    def _decisions_by_id(self) -> dict[str, Decision]:
        ids = [token.wait["decision"] for token in self.tokens if "decision" in token.wait]
        return {str(decision.pk): decision for decision in Decision.objects.filter(pk__in=ids)}

    def _jobs_by_token_and_id(self, known: dict[int, Job]) -> tuple[dict[int, Job], dict[int, Job]]:
        """The open job of each token, and every job by its id: open ones and those that were decided about. A question
        about an outcome is no job that a token could start under another version: it rests by the decision that asked,
        and is judged by it to the end."""
        done = {decision.job_id for decision in self.decisions.values()} - set(known)
        tokens = [token.pk for token in self.tokens]
        rows = Job.objects.filter(pk__in=done) | Job.objects.filter(token__in=tokens).exclude(state="done")
        # Those of the batch count before what is read here, since they may have changed in it.
        jobs = {job.pk: known.get(job.pk, job) for job in rows} | known
        work = [job for job in jobs.values() if job.purpose == Purpose.STATION]
        return {job.token_id: job for job in work if job.state != Job.State.DONE}, jobs

    def _voted_tokens_and_decided_votes(self) -> tuple[set[int], dict[int, dict[str, dict[str, str]]]]:
        """Return the tokens with a vote at an open gate; and, by waiting token, the votes decided at gates that
        were asked together with the open ones."""
        decision_ids = [
            token.wait["decision"] for token in self.tokens if token.status == Status.AWAITING_REVIEW
        ]
        visits = GateVisit.objects.filter(asked_by__in=decision_ids)
        votes = Vote.objects.filter(visit__in=visits.filter(state=GateVisit.State.OPEN))
        decided_words: dict[int, dict[str, dict[str, str]]] = {}
        for token, gate, word in visits.filter(state="decided").values_list("token_id", "gate", "word"):
            decided_words.setdefault(token, {})[gate] = {"decision": word}
        return set(votes.values_list("visit__token_id", flat=True)), decided_words

    def _ids_of_tasks_ever_rejected(self) -> set[int]:
        rejected = GateVisit.objects.filter(task__in=self.tasks, word=Word.REJECT)
        return set(rejected.values_list("task_id", flat=True))

    def _counts_by_blocked_decision(self) -> dict[str, Counts]:
        """Return what a decision counted although the token stayed: a rule to `@blocked`. Decided again, it
        is taken back."""
        blocked = [
            token.wait["decision"]
            for token in self.tokens
            if token.status == Status.BLOCKED and "decision" in token.wait
        ]
        events = Event.objects.filter(task__in=self.tasks, decision__in=blocked)
        return {str(event.decision_id): event.data.get("count", {}) for event in events}

    # Positions

    def tokens_of_task(self, task: Task) -> list[Token]:
        return self._of.get(task.pk, [])

    def decision_token_rests_on_or_none(self, token: Token) -> Decision | None:
        """Return the decision by which the token rests; None while it has a job to do."""
        return None if token.pk in self.open else self.decisions.get(token.wait.get("decision", ""))

    def open_or_decided_job_of_token_or_none(self, token: Token) -> Job | None:
        """The open one, or that whose outcome it rests by."""
        decision = self.decision_token_rests_on_or_none(token)
        return self.open.get(token.pk) or (self.jobs.get(decision.job_id) if decision else None)

    def judge_version_id_of(self, token: Token) -> int:
        job, decision = self.open.get(token.pk), self.decision_token_rests_on_or_none(token)
        if job:
            return job.pinned_id
        return decision.pinned_id if decision else self.tasks[token.task_id].pinned_id

    def migrating_position(self, token: Token, to: int | None, counts: Counts) -> MigratingPosition:
        job, decision, judge = (
            self.open_or_decided_job_of_token_or_none(token),
            self.decision_token_rests_on_or_none(token),
            self.judge_version_id_of(token),
        )
        there = judge == to
        return MigratingPosition(
            token=token.pk,
            station=token.station,
            status=token.status,
            judge=versions.parsed_line_by_version_id(judge),
            work="running"
            if token.status == Status.EVALUATING
            else _queued_or_running_word_or_empty(self.open.get(token.pk)),
            mapping=job.mapping if job and not there else {},
            there=there,
            situation=_situation_with_current_counts(decision, counts, self.tasks[token.task_id])
            if decision
            else None,
            answer=decision.answer if decision else None,
            error=token.error,
            against=_did_person_vote_against(token, decision),
            voted=token.pk in self.voted,
            approved=tuple(self.approved.get(token.pk, ())),
        )

    # Planning

    def plan_migration_of_task(
        self, task: Task, to: LineVersion, mapping: Mapping[str, str], line: ParsedLine | None = None
    ) -> Planned:
        """Plan one position after the other, each with the counts that the ones before it leave. `line`: of a
        draft, which has no version yet."""
        line = line or versions.parsed_version(to)
        back = self._counts_to_undo(task, to, mapping, line)
        counts = _sum_of_counts({name: getattr(task, name) for name in COUNTERS}, back)
        effects: list[MigrationEffect] = []
        for token in self.tokens_of_task(task):
            position = self.migrating_position(token, to.pk, counts)
            effect = self._effect_or_hold_if_rejected(
                token, migration_impact.migration_effect(position, line, mapping), position, line
            )
            counts = _sum_of_counts(counts, self._counts_of_effect(token, effect, mapping, line))
            effects.append(effect)
            if self._is_abort_effect(token, effect, line):
                effects = self._effects_of_ending_all_branches(task, effect)
                break
        # At the end: what is still to arrive depends on what becomes of every branch
        if any(token.waits_at_join for token in self.tokens_of_task(task)):
            effects = joins.effects_changed_by_joins(self._living[task.pk], effects, line, mapping)
        return Planned(tuple(effects), self._would_task_stay_as_it_is(task, to, mapping, effects), back)

    def _counts_to_undo(
        self, task: Task, to: LineVersion, mapping: Mapping[str, str], line: ParsedLine
    ) -> Counts:
        """Return, negated, what waiting tokens counted that will be decided again."""
        back: Counts = {}
        for token in self.tokens_of_task(task):
            counted = self._counted.get(token.wait.get("decision", ""), {})
            if (
                counted
                and migration_impact.migration_effect(
                    self.migrating_position(token, to.pk, {}), line, mapping
                ).how
                == "again"
            ):
                # Decided again it counts again: what it counted before is taken back
                below = {name: {key: -n for key, n in added.items()} for name, added in counted.items()}
                back = _sum_of_counts(back, below)
        return back

    def _effect_or_hold_if_rejected(
        self, token: Token, effect: MigrationEffect, position: MigratingPosition, line: ParsedLine
    ) -> MigrationEffect:
        """Return the effect, changed to a hold if people rejected the same before (law §6): they are not asked
        again."""
        answer, job = effect.decision, self.open_or_decided_job_of_token_or_none(token)
        # Nearly no task has a rejection, and then no evidence is read
        if token.task_id not in self._rejecting or not effect.gates or job is None:
            return effect
        if not isinstance(answer, Wait) or not gates.rejection_of_same_content_or_none(
            line, effect.station, job, answer
        ):
            return effect
        kind = migration_impact.STAYS if position.status == Status.HELD else migration_impact.STUCK
        return replace(effect, effect=kind, status=Status.HELD.value, to=())

    def _decision_subject(
        self, token: Token, effect: MigrationEffect, line: ParsedLine, origin: str = ""
    ) -> DecisionSubject:
        job = self.open_or_decided_job_of_token_or_none(token)
        assert job is not None
        outcome = judge_outcome(line, line.station(effect.station), read_outcome(job.outcome)).outcome
        return DecisionSubject(line, effect.station, origin or token.origin, outcome)

    def _counts_of_effect(
        self, token: Token, effect: MigrationEffect, mapping: Mapping[str, str], line: ParsedLine
    ) -> Counts:
        """Return what doing the effect counts."""
        if effect.how == "carry":
            return {"visits": {effect.station: 1}}
        answer = effect.decision
        if answer is None or effect.gates:
            return {}
        job = self.open_or_decided_job_of_token_or_none(token)
        read = migration_impact.compose_mappings(job.mapping if job else {}, mapping)
        about = self._decision_subject(
            token, effect, line, migration_impact.mapped_station_key_or_none(line, read, token.origin) or ""
        )
        return decision_transition(about, answer, TokenPlace(line, effect.station)).count

    def _is_abort_effect(self, token: Token, effect: MigrationEffect, line: ParsedLine) -> bool:
        answer = effect.decision
        return isinstance(answer, Finish) and effects.does_decision_abort_task(
            self._decision_subject(token, effect, line), answer
        )

    def _effects_of_ending_all_branches(self, task: Task, ending: MigrationEffect) -> list[MigrationEffect]:
        """Abort ends every branch (law §7)."""
        return [
            ending
            if token.pk == ending.token
            else replace(ending, token=token.pk, how="ended", decision=None)
            for token in self.tokens_of_task(task)
        ]

    def _would_task_stay_as_it_is(
        self, task: Task, to: LineVersion, mapping: Mapping[str, str], effects: Iterable[MigrationEffect]
    ) -> bool:
        """Return whether the task is where it would be brought."""
        if task.pinned_id != to.pk:
            return False
        by_token = {effect.token: effect for effect in effects}
        return all(
            self._would_position_stay_as_it_is(token, mapping, by_token[token.pk])
            for token in self.tokens_of_task(task)
        )

    def _would_position_stay_as_it_is(
        self, token: Token, mapping: Mapping[str, str], effect: MigrationEffect
    ) -> bool:
        if effect.how == "keep":
            job = self.open_or_decided_job_of_token_or_none(token)
            return job is not None and migration_impact.compose_mappings(job.mapping, mapping) == job.mapping
        return effect.how in ("there", "still") and effect.station == token.station


def _tokens_by_task(tokens: Iterable[Token]) -> dict[int, list[Token]]:
    tokens_by_task: dict[int, list[Token]] = {}
    for token in tokens:
        tokens_by_task.setdefault(token.task_id, []).append(token)
    return tokens_by_task


def _queued_or_running_word_or_empty(job: Job | None) -> str:
    if job is None:
        return ""
    return "running" if job.state == Job.State.RUNNING else "queued"


def _situation_with_current_counts(decision: Decision, counts: Counts, task: Task) -> dict[str, Any]:
    """Return the recorded situation with the current counts, because another version decides it anew."""
    now = {**counts, "open_escalations": task.escalations}
    return {**decision.situation, "facts": facts_for_deciding_anew(decision.situation["facts"], now)}


def _did_person_vote_against(token: Token, decision: Decision | None) -> bool:
    """Return whether a person voted against it. No migration lets such a token move on by another version's
    rules."""
    words = decision.situation["facts"].get("gates", {}) if decision else {}
    return "rejection" in token.wait or any(word.get("decision") != "approve" for word in words.values())


def _sum_of_counts(counts: Counts, more: Counts) -> Counts:
    return {
        **counts,
        **{name: counts_with_added(counts.get(name, {}), added) for name, added in more.items()},
    }
