"""The tasks that one transaction moves: locked, changed in memory, written by few statements (house §2).

Lock order: a number counter, then task rows in id order, then child rows. `now` is the database's clock after the
lock, but always later than what these tasks saw last. Everything that `flush` writes is one statement per
table, for one task as for fifty."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from functools import cached_property
from operator import attrgetter
from typing import Any

from django.db.transaction import on_commit
from structlog.contextvars import get_contextvars

from pipelines.engine.core import due_times, transaction
from pipelines.engine.core.agent_capacity import Agents
from pipelines.engine.core.lease_transfers import LeaseTransfer, lease_transfer_statement
from pipelines.engine.core.transaction import Loaded, PauseSpan
from pipelines.engine.core.values import Actor, token_fields_for_event
from pipelines.engine.statements import DROP_UNREPORTED_RESULTS
from pipelines.models import ENDED, Decision, Due, Event, GateVisit, Handoff, Job, Task, Token
from pipelines.models.plumbing import bulk_rows
from pipelines.models.plumbing.compiled_queries import BoundQuery, Statement, execute_all_and_fetch
from pipelines.ports import leases, observers, tracing
from pipelines.ports import queue as outbox
from pipelines.ports.statements import DROP_LEASES, GRANT_LEASES
from pipelines.routing.decide.effects import worst_position_status

# The smallest step of time that PostgreSQL stores
TICK = timedelta(microseconds=1)
BY_ID = attrgetter("id")
# What a move may change. The large ones are written only when they did change.
TASK = (
    "status",
    "end",
    "error",
    "reason",
    "seq",
    "visits",
    "edges",
    "rules",
    "rounds",
    "failures",
    "escalations",
    "changed_at",
    "ended_at",
)
TOKEN = (
    "version",
    "station",
    "status",
    "origin",
    "forked",
    "signal_reworks",
    "wait",
    "error",
    "end",
    "joined",
    "entered_at",
    "changed_at",
    "ended_at",
)
JOB = (
    "state",
    "attempt",
    "lease_key",
    "worker",
    "outcome",
    "result",
    "exit_code",
    "summary",
    "report_digest",
    "report_answer",
    "reported_by",
    "not_before",
    "started_at",
    "ended_at",
)


class Batch:
    """See the module. Made by `of_tasks` or `of_jobs`; `flush` writes all rows but tokens, whose ids are needed."""

    def __init__(self, loaded: Loaded) -> None:
        self.tasks = {task.pk: task for task in loaded.tasks}
        self._job_ids, self.unmet = loaded.job_ids, loaded.unmet
        self.pauses, self.circles = loaded.pauses, loaded.circles
        self.dues = {due.pk: due for due in loaded.dues}
        # A clock that was set back must not turn a task's history around.
        self.now = max([loaded.clock, *(task.changed_at + TICK for task in loaded.tasks)])
        self.tokens: dict[int, Token] = {}
        self.jobs: dict[int, Job] = {}
        self._tokens_of: dict[int, list[Token]] = {}
        self._jobs_of: dict[int, list[Job]] = {}
        for token in loaded.tokens:
            self._remember_token(token)
        for job in loaded.jobs:
            self._remember_job(job)
        self._changed_tasks: dict[int, Task] = {}
        self._changed_tokens: dict[int, Token] = {}
        self._changed_jobs: dict[int, Job] = {}
        self._extra: set[str] = set()
        self._events: list[Event] = []
        self._decisions: list[Decision] = []
        self._visits: list[GateVisit] = []
        self._new_jobs: dict[int, Job] = {}
        self._tickets: list[Token] = []
        self._dropped: set[int] = set()
        self._unreported: set[int] = set()
        self._new_dues: list[Due] = []
        self._handoffs: list[Handoff] = []
        self.agents = Agents(self)
        self._over: set[int] = set()
        self._handed_on: dict[int, list[LeaseTransfer]] = {}
        self._granted: dict[leases.WorkOffer, list[Job]] = {}
        self.consequences: list[observers.Consequence] = []

    @classmethod
    def of_tasks(cls, *ids: int) -> Batch:
        return cls(transaction.lock_and_load_tasks(ids))

    @classmethod
    def of_task_and_answers(cls, pk: int, *besides: BoundQuery[Any]) -> tuple[Batch, list[list[Any]]]:
        """Return the batch of a task and the answers to further questions, in the same round trip and after
        the lock."""
        loaded = transaction.lock_and_load_tasks([pk], besides)
        return cls(loaded), loaded.besides

    @classmethod
    def of_jobs(cls, ids: Iterable[int]) -> Batch:
        return cls(transaction.lock_and_load_tasks_of_jobs(list(ids)))

    def _remember_token(self, token: Token) -> None:
        self.tokens[token.id] = token
        self._tokens_of.setdefault(token.task_id, []).append(token)

    def _remember_job(self, job: Job) -> None:
        self.jobs[job.id] = job
        self._jobs_of.setdefault(job.token_id, []).append(job)

    # What is there

    def living_tokens(self, task: Task) -> list[Token]:
        """The task's tokens that have not ended, forked ones included, oldest first."""
        living = [token for token in self._tokens_of.get(task.id, ()) if token.status not in ENDED]
        # Nearly every task is at one place
        return sorted(living, key=BY_ID) if len(living) > 1 else living

    def open_job_or_none(self, token: Token) -> Job | None:
        """The token's job that is queued or running."""
        # There is at most one (house §3 I7)
        for job in self._jobs_of.get(token.id, ()):
            if job.state != Job.State.DONE:
                return job
        return None

    def pauses_in_force_at(self, task_id: int, station: str) -> list[PauseSpan]:
        """Return the pauses in force over work at this station of the task, oldest first."""
        return [
            pause
            for pause in self.pauses.get(task_id, ())
            if pause.is_in_force and pause.covers_work_at_station(station)
        ]

    @cached_property
    def task_ids_others_may_wait_for(self) -> frozenset[int]:
        """Tasks whose end somebody may wait for. Who begins to wait locks them first."""
        return transaction.ids_of_awaited_or_deadlocked_tasks(self.tasks)

    # What happens

    def advance_clock_by_tick(self) -> None:
        """Advance the clock by one tick, so that what follows is later than everything in this transaction so
        far."""
        self.now += TICK

    def next_job_id(self) -> int:
        # From the sequence before the row is written: events and leases of the move name the job by it
        for job_id in self._job_ids:
            return job_id
        self._job_ids = transaction.reserve_job_ids(transaction.MORE * len(self.tasks))
        return next(self._job_ids)

    def add_job(self, job: Job) -> None:
        self._remember_job(job)
        self._new_jobs[job.id] = job

    def add_token(self, token: Token) -> Token:
        """Add a branch. It is written at once, because events name tokens by their ids."""
        return self.add_tokens([token])[0]

    def add_tokens(self, tokens: Sequence[Token]) -> Sequence[Token]:
        """Add all branches of a fork, by one statement."""
        bulk_rows.insert_rows(tokens)
        for token in tokens:
            self._remember_token(token)
        return tokens

    def add_visit(self, visit: GateVisit) -> None:
        self._visits.append(visit)

    def open_visits_of_token(self, token: Token) -> list[GateVisit]:
        """The gate visits at which this token waits, in the order in which they were asked."""
        # Those that wait are of one decision (house §3 I6): all were opened here, or all before
        new = [
            visit for visit in self._visits if visit.token_id == token.pk and visit.state == visit.State.OPEN
        ]
        return new or list(token.gate_visits.filter(state=GateVisit.State.OPEN).order_by("position"))

    def add_handoff(self, handoff: Handoff) -> None:
        self._handoffs.append(handoff)

    def add_decision(self, decision: Decision) -> None:
        self._decisions.append(decision)

    def mark_token_changed(self, token: Token) -> None:
        """Mark the token as changed: its row is written at `flush`, and its version grows (house §4)."""
        token.version += 1
        token.changed_at = self.now
        self._changed_tokens[token.id] = token

    def mark_job_changed(self, job: Job) -> None:
        # A new one is inserted as it is in the end
        if job.id not in self._new_jobs:
            self._changed_jobs[job.id] = job

    def mark_task_changed(self, task: Task, *extra: str) -> None:
        """`extra` names of columns that are not always written: context, variables, pinned."""
        self._extra.update(extra)
        self._changed_tasks[task.id] = task

    def add_ticket(self, token: Token) -> None:
        """Add a ticket of the queue that drives this token."""
        self._tickets.append(token)

    def grant_lease(self, job: Job, offer: leases.WorkOffer) -> None:
        """Grant the worker of the offer the lease, with the job's `lease_key`."""
        self._granted.setdefault(offer, []).append(job)

    def drop_lease(self, job: Job, *, unreported: bool = False) -> None:
        """End the lease of a job. `unreported`: its attempt is over without a report, and what it stored counts for
        nobody."""
        self._dropped.add(job.id)
        if unreported:
            self._unreported.add(job.id)

    def schedule_due_time(
        self,
        kind: str,
        task: Task,
        at: datetime,
        *,
        key: str = "",
        token: Token | None = None,
        job: Job | None = None,
        visit: GateVisit | None = None,
    ) -> None:
        """Schedule a call of the function of this kind (`engine/deadlines.py`) at `at`, unless what it is
        bound to is over by then. A second one of the same kind and key takes the place of the first."""
        self.drop_due_time(kind, task, key)
        self._new_dues.append(
            Due(
                task=task,
                kind=kind,
                key=key,
                token_id=token.pk if token else None,
                job_id=job.pk if job else None,
                visit_id=visit.pk if visit else None,
                set_at=self.now,
                due_at=at,
            )
        )

    def due_time_over_when_set_or_none(self, kind: str, task: Task, key: str) -> Due | None:
        """Return a due time that was set in this transaction and was over when it was set."""
        due_key = (task.pk, kind, key)
        at_once = (due for due in self._new_dues if due.due_at <= due.set_at)
        return next((due for due in at_once if (due.task_id, due.kind, due.key) == due_key), None)

    def was_job_opened_here(self, job: Job) -> bool:
        """Return whether this transaction opened the job."""
        return job.pk in self._new_jobs

    def drop_due_time(self, kind: str, task: Task, key: str = "") -> None:
        """Drop a due time whose purpose is over."""
        due_key = (task.pk, kind, key)
        self._over |= {due.pk for due in self.dues.values() if (due.task_id, due.kind, due.key) == due_key}
        self._new_dues = [due for due in self._new_dues if (due.task_id, due.kind, due.key) != due_key]

    def open_job_that_got_lease_of_or_none(self, job: Job) -> Job | None:
        """Return the job to which this job's lease was handed on, if it is still open."""
        heirs = (self.jobs[transfer.new] for transfer in self._handed_on.get(job.id, ()))
        return next((heir for heir in heirs if heir.state != Job.State.DONE), None)

    def hand_lease_on(self, hand_on: LeaseTransfer) -> None:
        self._handed_on.setdefault(hand_on.old, []).append(hand_on)
        # Finishing the old job has dropped its lease, which goes on in place of that
        self._dropped.discard(hand_on.old)

    def emit(self, consequence: observers.Consequence) -> None:
        self.consequences.append(consequence)

    def append_event(
        self,
        task: Task,
        kind: str,
        actor: Actor | str,
        /,
        *,
        token: Token | None = None,
        source: str = "",
        target: str = "",
        trigger: str = "",
        decision: Decision | None = None,
        **data: Any,
    ) -> Event:
        """Append to the task's gapless sequence. `data`: what folding needs, see `fold.py`."""
        task.seq += 1
        task.changed_at = self.now
        if not str(actor).startswith("worker:"):
            # By it whoever reads the record finds the lines of the log, and so does the worker that does the work.
            data["request"] = str(get_contextvars().get(tracing.REQUEST_ID, ""))
        self.mark_task_changed(task)
        event = bulk_rows.new_row(
            Event,
            task=task,
            seq=task.seq,
            kind=kind,
            at=self.now,
            token_id=token.id if token else None,
            actor=str(actor),
            source=source,
            target=target,
            trigger=trigger,
            decision=decision,
            # Folding takes what is absent for unchanged, and events are kept as long as their task
            data={key: value for key, value in data.items() if value not in (None, {}, [], "")},
        )
        self._events.append(event)
        return event

    def record_token_stays(
        self, task: Task, token: Token, kind: str, actor: Actor | str, trigger: str, **data: Any
    ) -> None:
        """Record that the token stays at its station in another state."""
        self.mark_token_changed(token)
        self.derive_and_set_task_status(task)
        at, state = token.station, [token_fields_for_event(token)]
        self.append_event(
            task, kind, actor, token=token, source=at, target=at, trigger=trigger, tokens=state, **data
        )

    def events_of_this_transaction(self, task: Task) -> list[Event]:
        """Return the events of this transaction so far."""
        return [event for event in self._events if event.task_id == task.pk]

    def derive_and_set_task_status(self, task: Task) -> None:
        """Derive the status of a task that has not ended from its positions."""
        tokens = self._tokens_of.get(task.id, ())
        positions = [token.status for token in tokens if token.status not in ENDED and not token.forked]
        # Without any the task has ended, and its status is that of its end (`completion`)
        if positions:
            task.status = worst_position_status(positions)
            self.mark_task_changed(task)

    # What is written

    def flush(self) -> None:
        """Write everything, tell the observers, enqueue the tickets, and promise the hints."""
        # What changes comes first: a token has one open job, and a lease that went on may be over.
        execute_all_and_fetch([*self._update_statements(), *self._insert_statements()])
        # Behind the rows: from them it reads who waits for an agent, and which jobs are queued
        self.agents.wake_waiters_of_freed_agents(self._new_jobs.keys())
        # Also where none is new: the move may have ended what a stored one waits for
        if self._new_dues or self._over or self.dues:
            due_times.replace_due_times(self, self._new_dues, self._over)
        # Inside the transaction: what they write is there with the move, or not at all (house §1)
        observers.emit_consequences(*self.consequences)
        tickets: dict[str, list[int]] = {}
        for token in self._tickets:
            tickets.setdefault(outbox.queue_of_open_job(self.open_job_or_none(token)), []).append(token.pk)
        for queue, tokens in tickets.items():
            outbox.enqueue_token_tickets(tokens, queue)
        if self._events:
            # A push that fails must not look like a move that failed: it is only a hint.
            hints = self._live_hints()
            on_commit(lambda: observers.publish_committed_hints(hints), robust=True)
            moved = [(hint.project_id, hint.task) for hint in hints]
            on_commit(lambda: tracing.record_moves(moved, self.now.timestamp()), robust=True)

    def _update_statements(self) -> Iterator[Statement]:
        """Yield one update statement for each table with changed rows, and those that grant or hand on leases."""
        changed: tuple[tuple[dict[int, Any], tuple[str, ...]], ...] = (
            (self._changed_jobs, JOB),
            (self._changed_tokens, TOKEN),
            # Sorted: the same columns make the same text, and that the server has prepared
            (self._changed_tasks, (*TASK, *sorted(self._extra))),
        )
        yield from (bulk_rows.update_statement([*which.values()], names) for which, names in changed if which)
        if self._handed_on:
            yield lease_transfer_statement(
                [transfer for heirs in self._handed_on.values() for transfer in heirs]
            )
        for offer, jobs in self._granted.items():
            keys = [job.lease_key for job in jobs]
            yield Statement(GRANT_LEASES, [offer.worker, offer.seconds, [job.id for job in jobs], keys])

    def _insert_statements(self) -> Iterator[Statement]:
        """Yield one insert statement for each table with new rows, and the one that drops the leases which are
        over."""
        new: tuple[Collection[Any], ...] = (
            self._decisions,
            self._new_jobs.values(),
            self._visits,
            self._events,
            self._handoffs,
        )
        yield from (bulk_rows.insert_statement([*which]) for which in new if which)
        if self._dropped:
            yield Statement(DROP_LEASES, [list(self._dropped)])
        if self._unreported:
            yield Statement(DROP_UNREPORTED_RESULTS, [list(self._unreported)])

    def _live_hints(self) -> list[observers.Hint]:
        moved = (self.tasks[pk] for pk in dict.fromkeys(event.task_id for event in self._events))
        return [observers.Hint(task.project_id, task.line_id, task.name, task.seq) for task in moved]
