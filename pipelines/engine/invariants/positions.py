"""Invariants of where a task is, and what keeps it going: I1, I7, I8, I10, I17."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone

from pipelines.engine.core.unassigned import MANUAL, UNLEASED, WAIT
from pipelines.engine.invariants.record_reading import TaskRecord, task_records
from pipelines.engine.statements import TICKETS_TO_DRIVE
from pipelines.models import ENDED, Decision, GateVisit, Job, Lease, Purpose, Token
from pipelines.models.plumbing.compiled_queries import array_field, fetch_prepared, server_prepared
from pipelines.ports.observers import Violation
from pipelines.queries import versions
from pipelines.routing.decide.effects import ORDER, worst_position_status
from pipelines.routing.document.line import ParsedLine

Ids = Sequence[int] | None
WAITS_FOR_PEOPLE = ("held", "blocked", "stuck")


def status_derivation_violations(task_ids: Ids) -> Iterable[Violation]:
    """I1: one state per token, from the declared set; the task's is derived."""
    for record in task_records(task_ids, "tokens"):
        # Of an unknown state nothing can be derived
        unknown = {token.status for token in record.tokens} - set(ORDER)
        if unknown:
            yield record.violation("I1", f"unknown states {sorted(unknown)}")
            continue
        derived = _derived_status(record)
        if record.task.status != derived:
            yield record.violation("I1", f"is {record.task.status}, its tokens say {derived}")


def _derived_status(record: TaskRecord) -> str:
    """Return the status of the living positions; of a task that has ended its first token's, which every
    branch is accounted for in."""
    living = [token.status for token in record.tokens if not token.forked and token.status not in ENDED]
    if living:
        return worst_position_status(living)
    return next((token.status for token in record.tokens if token.parent_id is None), "nothing")


def live_job_violations(task_ids: Ids) -> Iterable[Violation]:
    """I7: running or evaluating ⇔ exactly one live job, per token; a live job that is not by hand has its lease. That
    of a question is live while it waits for a worker, too: the token is evaluating all the time."""
    for record in task_records(task_ids, "tokens", "jobs"):
        leases = dict(_leases_of_jobs(jobs=[job.pk for job in record.jobs]))
        for token in record.tokens:
            live = [
                _expected_status(job)
                for job in record.jobs
                if job.token_id == token.pk and _is_running_or_question(job)
            ]
            # [status] of a token that works, [] of any other
            if live != [token.status] * (token.status in ("running", "evaluating")):
                yield record.violation("I7", f"token {token.pk} is {token.status} with {len(live)} live jobs")
        for job in record.jobs:
            needs_lease = job.state == Job.State.RUNNING and job.kind not in UNLEASED
            if leases.get(job.pk) != (job.lease_key if needs_lease else None):
                yield record.violation(
                    "I7", f"job {job.pk} is {job.state}, its lease is {leases.get(job.pk)}"
                )


@server_prepared(jobs=array_field())
def _leases_of_jobs(jobs: Any) -> QuerySet[Lease, tuple[Any, ...]]:
    return Lease.objects.filter(job__among=jobs).values_list("job_id", "key")


def _is_running_or_question(job: Job) -> bool:
    return job.state == Job.State.RUNNING or (
        job.state == Job.State.QUEUED and job.purpose != Purpose.STATION
    )


def _expected_status(job: Job) -> str:
    return "running" if job.purpose == Purpose.STATION else "evaluating"


def ended_task_violations(task_ids: Ids) -> Iterable[Violation]:
    """I8: terminal is final: no open gate, job or position."""
    for record in task_records(task_ids, "tokens", "jobs", "visits", "decisions"):
        over = record.task.status in ENDED
        ended = {token.pk for token in record.tokens if token.status in ENDED}
        for token in record.tokens:
            if over and token.pk not in ended:
                yield record.violation(
                    "I8", f"is {record.task.status} with a {token.status} token {token.pk}"
                )
        for job in record.jobs:
            if job.state != Job.State.DONE and job.token_id in ended:
                yield record.violation("I8", f"job {job.pk} is {job.state} although its token has ended")
        for visit in record.visits:
            if visit.state == GateVisit.State.OPEN and visit.token_id in ended:
                yield record.violation("I8", f"gate visit {visit.pk} is open although its token has ended")
        yield from _late_row_violations(record)


def _late_row_violations(record: TaskRecord) -> Iterable[Violation]:
    ended_at = {token.pk: token.ended_at for token in record.tokens if token.ended_at}
    late: list[Decision | Job] = [
        *(d for d in record.decisions if d.token_id in ended_at and d.at > ended_at[d.token_id]),
        *(j for j in record.jobs if j.token_id in ended_at and j.created_at > ended_at[j.token_id]),
    ]
    for row in late:
        yield record.violation("I8", f"{type(row).__name__.lower()} {row.pk} came after its token had ended")


def visit_budget_violations(task_ids: Ids) -> Iterable[Violation]:
    """I10: visits within budgets: the cap, `max_visits` of stations and `max_retries` of rules, by the version that
    decided. Entries by hand, by an answer and by a migration are not bound."""
    for record in task_records(task_ids, "events", "decisions"):
        if any(event.kind == "task.migrated" for event in record.events):
            yield from _budget_violations_of_migrated_task(record)
            continue
        line, unbound = (
            versions.parsed_line_by_version_id(record.task.pinned_id),
            _moves_by_hand_by_station(record),
        )
        visits = Counter({key: n - unbound.get(key, 0) for key, n in record.task.visits.items()})
        yield from _budget_violations(
            record, line, {"visits": visits, "rules": record.task.rules}, visits, record.task.rules
        )


def _moves_by_hand_by_station(record: TaskRecord) -> dict[str, int]:
    counts: dict[str, int] = {}
    for event in record.events:
        if event.kind == "token.moved" and event.data.get("by") == "hand":
            counts[event.target] = counts.get(event.target, 0) + 1
    return counts


def _budget_violations_of_migrated_task(record: TaskRecord) -> Iterable[Violation]:
    """Check every entry of a migrated task by the version that decided it."""
    judges = {decision.pk: decision.pinned_id for decision in record.decisions}
    entered: Counter[str] = Counter()
    rule_counts: Counter[str] = Counter()
    for event in record.events:
        count = event.data.get("count", {})
        rule_counts.update(count.get("rules", {}))
        judge = judges.get(event.decision_id) if event.decision_id else None
        if judge is not None or event.kind == "task.submitted":
            entered.update(count.get("visits", {}))
        if judge is not None:
            yield from _budget_violations(
                record, versions.parsed_line_by_version_id(judge), count, entered, rule_counts
            )


def _budget_violations(
    record: TaskRecord,
    line: ParsedLine,
    count: Mapping[str, Mapping[str, int]],
    entered: Mapping[str, int],
    rule_counts: Mapping[str, int],
) -> Iterable[Violation]:
    """Budgets of `line` that what was counted goes beyond."""
    for key in count.get("visits", {}):
        station = line.stations_by_key.get(key)
        limit = station.limits.max_visits if station else None
        for name, most in (("visit_cap", line.policy.visit_cap), ("max_visits", limit)):
            if station and most is not None and entered[key] > most:
                yield record.violation("I10", f"{key} has {entered[key]} visits, {name} is {most}")
    for rule_id in count.get("rules", {}):
        entry = line.rules_by_id.get(rule_id)
        most = entry[1].max_retries if entry else None
        if most is not None and rule_counts[rule_id] > most:
            yield record.violation(
                "I10", f"rule {rule_id} was taken {rule_counts[rule_id]} times, max_retries is {most}"
            )


# Until then its ticket may still be on its way; after it the workers' sweep has found the job
SWEPT_AFTER = timedelta(seconds=10)


def unwoken_position_violations(task_ids: Ids) -> Iterable[Violation]:
    """I17: nothing non-terminal without something that would wake it: lease, due time, person or queue."""
    tickets = {token_id for (token_id,) in fetch_prepared(TICKETS_TO_DRIVE)}
    for record in task_records(task_ids, "tokens", "jobs", "visits", "dues"):
        for token in record.tokens:
            if (
                token.status not in ENDED
                and not token.forked
                and not _would_something_wake(record, token, tickets)
            ):
                yield record.violation("I17", f"token {token.pk} is {token.status} and nothing would wake it")


def _would_something_wake(record: TaskRecord, token: Token, tickets: set[int]) -> bool:
    if token.status == "awaiting_review":
        return any(visit.token_id == token.pk and visit.state == "open" for visit in record.visits)
    if token.status in WAITS_FOR_PEOPLE:
        return bool(token.wait or token.error)
    if token.waits_at_join:
        # Somebody can still come: see `join_decision_violations`.
        return any(other.pk != token.pk and other.status not in ENDED for other in record.tokens)
    job = next((job for job in record.jobs if job.token_id == token.pk and job.state != "done"), None)
    if job is None:
        return False
    if job.state == Job.State.RUNNING:
        if job.kind == WAIT:
            return any(due.job_id == job.pk for due in record.dues)
        return job.kind == MANUAL or Lease.objects.filter(job=job).exists()
    return token.pk in tickets or job.created_at < timezone.now() - SWEPT_AFTER
