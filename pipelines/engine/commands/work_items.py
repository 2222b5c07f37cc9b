"""Tasks in the exchange format of AEEF (dialects E27): one work item with its history, or many."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from django.db.models import QuerySet
from django.db.models.fields.json import KT

from pipelines.engine.commands.event_export import handoff_id
from pipelines.engine.core.handoffs import agent_or_station_name
from pipelines.models import Agent, Escalation, Event, Handoff, Job, Purpose, Retention, Task, Token
from pipelines.queries import versions
from pipelines.routing.decide.budget_usage import rework_kind_or_none
from pipelines.routing.document.line import ParsedLine

AT_ONCE = 50
"""How many tasks are read together."""
TIERS = ("1", "2", "3", "4")
CLASSES = ("public", "internal", "confidential", "restricted")
Item = dict[str, Any]


def exchange_item_of_task(task: Task) -> Item:
    return next(_exchange_items_of_chunk([task]))


def exchange_items_of_tasks(tasks: QuerySet[Task]) -> Iterator[Item]:
    """Yield the tasks in the exchange format, ordered by number, but purged ones; a few statements for each fifty."""
    recorded = tasks.filter(retention__lt=Retention.TOMBSTONE)
    rows = recorded.select_related("project").order_by("project_id", "number").iterator(chunk_size=AT_ONCE)
    while chunk := list(islice(rows, AT_ONCE)):
        yield from _exchange_items_of_chunk(chunk)


def _exchange_items_of_chunk(tasks: Sequence[Task]) -> Iterator[Item]:
    ids = [task.pk for task in tasks]
    # One statement for each table, however many tasks there are
    living = _rows_by_task(Token.objects.filter(task__in=ids, forked=False, ended_at=None).order_by("pk"))
    visits = _rows_by_task(_station_jobs_without_reports(ids))
    escalations = _rows_by_task(
        Escalation.objects.filter(task__in=ids).select_related("resolved_by").order_by("opened_at", "pk")
    )
    handoffs = _outgoing_handoff_names_by_job(ids)
    projects = {task.project_id for task in tasks}
    agents = {(agent.project_id, agent.key): agent for agent in Agent.objects.filter(project__in=projects)}
    for task in tasks:
        line = versions.parsed_line_by_version_id(task.pinned_id)
        known = {key: agent for (project, key), agent in agents.items() if project == task.project_id}
        raised = escalations[task.pk]
        history = [
            _visited_stage_item(line, job, raised, handoffs) for job in _jobs_with_next(visits[task.pk])
        ]
        yield {
            "id": task.name,
            "title": task.title,
            "risk_tier": _valid_risk_tier_or_none(task),
            "data_classification": _valid_data_classification_or_none(task),
            "current_state": ",".join(token.station for token in living[task.pk]) or task.end or None,
            "current_agent": ",".join(_worker_names_of_positions(line, living[task.pk])) or None,
            "created_at": _iso_utc_text_or_none(task.created_at),
            "updated_at": _iso_utc_text_or_none(task.changed_at),
            "stage_history": history,
            "rework_count": _times_sent_back(line, task),
            "total_iterations": sum(task.visits.values()),
            "escalation_history": [_escalation_item(escalation) for escalation in raised],
            "trust_levels": _lowest_trust_by_agent(line, history, known),
        }


def _rows_by_task(rows: QuerySet[Any]) -> defaultdict[int, list[Any]]:
    rows_by_task: defaultdict[int, list[Any]] = defaultdict(list)
    for row in rows:
        rows_by_task[row.task_id].append(row)
    return rows_by_task


def _station_jobs_without_reports(ids: Sequence[int]) -> QuerySet[Job]:
    """Loads jobs without their reports, which can be large."""
    rows = Job.objects.filter(task__in=ids, purpose=Purpose.STATION).order_by("pk")
    names = (
        "task_id",
        "token_id",
        "pinned_id",
        "station",
        "visit",
        "agent",
        "result",
        "created_at",
        "ended_at",
    )
    return rows.annotate(verdict=KT("outcome__verdict")).only(*names)


def _jobs_with_next(jobs: Sequence[Job]) -> Iterator[tuple[Job, Job | None]]:
    """Yield each job with the next job of its token."""
    following: dict[int, Job] = {}
    pairs = []
    # From the last on, so that the next job of its token is known at each
    for job in reversed(jobs):
        pairs.append((job, following.get(job.token_id)))
        following[job.token_id] = job
    return reversed(pairs)


def _visited_stage_item(
    line: ParsedLine,
    pair: tuple[Job, Job | None],
    escalations: Sequence[Escalation],
    handoffs: dict[int, str],
) -> Item:
    job, following = pair
    return {
        "stage": job.station,
        "agent": job.agent or agent_or_station_name(line, job.station),
        "entered_at": _iso_utc_text_or_none(job.created_at),
        "exited_at": _iso_utc_text_or_none(job.ended_at),
        "result": _stage_result_or_none(job, following, escalations),
        "handoff_id": handoffs.get(job.pk),
        "iteration": job.visit,
    }


def _stage_result_or_none(job: Job, following: Job | None, raised: Sequence[Escalation]) -> str | None:
    """Return `pass`, `fail` or `escalate`; None while the job is open. `escalate`: it is blocked, or an
    escalation was opened after it."""
    if job.ended_at is None:
        return None
    verdict = getattr(job, "verdict", None)
    # Up to the next visit: what was escalated later belongs to that one
    until = following.created_at if following else None
    escalated = any(
        escalation.token_id == job.token_id
        and escalation.station == job.station
        and escalation.opened_at >= job.created_at
        and (until is None or escalation.opened_at < until)
        for escalation in raised
    )
    if escalated or "blocked" in (job.result, verdict):
        return "escalate"
    return "fail" if job.result in ("failure", "cancelled") or verdict == "fail" else "pass"


def _outgoing_handoff_names_by_job(ids: Sequence[int]) -> dict[int, str]:
    """{job: the handoff by which it handed on}: its document's, else that of the move, as its event has it."""
    moves = Event.objects.filter(task__in=ids, kind="token.moved", decision__isnull=False).order_by("seq")
    rows = moves.values_list("decision__job_id", "decision__pinned_id", "source", "target", "at")
    names_by_job = {}
    for job, pinned, source, target, at in rows:
        line = versions.parsed_line_by_version_id(pinned)
        if source != target and target in line.stations_by_key:
            names_by_job[job] = handoff_id(
                agent_or_station_name(line, source), agent_or_station_name(line, target), at
            )
    stored_names = Handoff.objects.filter(task__in=ids).exclude(name="").values_list("job_id", "name")
    # A document that was handed over has a name of its own, which counts more
    return {**names_by_job, **dict(stored_names)}


def _worker_names_of_positions(line: ParsedLine, living: Sequence[Token]) -> list[str]:
    return list(dict.fromkeys(agent_or_station_name(line, token.station) for token in living))


def _times_sent_back(line: ParsedLine, task: Task) -> int:
    """Return how often the task was sent back: by a rule, to an earlier stage or to its own; and by a person
    at a gate."""
    edges = ((edge.partition("->"), count) for edge, count in task.edges.items())
    by_rule = sum(count for (source, _, target), count in edges if rework_kind_or_none(line, source, target))
    return by_rule + sum(task.rounds.values())


def _valid_risk_tier_or_none(task: Task) -> int | None:
    tier = str(_input_or_context_value(task, "risk_tier"))
    return int(tier) if tier in TIERS else None


def _valid_data_classification_or_none(task: Task) -> str | None:
    classification = str(_input_or_context_value(task, "data_classification")).lower()
    return classification if classification in CLASSES else None


def _input_or_context_value(task: Task, key: str) -> Any:
    """An input of the line; or metadata that somebody supplied, which is in the context."""
    return task.inputs.get(key, task.context.get(key))


def _lowest_trust_by_agent(
    line: ParsedLine, history: Sequence[Item], agents: dict[str, Agent]
) -> dict[str, int]:
    """Return for each agent that worked on the task the lowest level that it has at the stations where it
    did."""
    levels: dict[str, int] = {}
    for stage in history:
        agent = agents.get(stage["agent"])
        if agent is not None:
            level = agent.trust_level_at(stage["stage"])
            levels[agent.key] = min(level, levels.get(agent.key, level))
        elif line.stations_by_key.get(stage["stage"]) and stage["agent"] != stage["stage"]:
            # Named by the line, unknown to the registry: full supervision.
            levels[stage["agent"]] = 0
    return levels


def _escalation_item(row: Escalation) -> Item:
    return {
        "id": str(row.pk),
        "trigger": row.trigger,
        "role": row.role,
        "stage": row.station or None,
        "reason": row.reason,
        "opened_at": _iso_utc_text_or_none(row.opened_at),
        "due_at": _iso_utc_text_or_none(row.due_at),
        "breached_at": _iso_utc_text_or_none(row.breached_at),
        "resolved_at": _iso_utc_text_or_none(row.resolved_at),
        "resolution": row.how or None,
        "answer": row.answer or None,
        "resolved_by": str(row.resolved_by) if row.resolved_by else None,
    }


def _iso_utc_text_or_none(at: datetime | None) -> str | None:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if at else None
