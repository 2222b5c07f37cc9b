"""Orders of a job, as the database has it now."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from pipelines import engine
from pipelines.engine.core.decision_context import task_fields
from pipelines.models import Decision, Event, Job, Purpose, Token
from pipelines.models.plumbing.compiled_queries import Statement, execute_all_and_fetch
from pipelines.queries import versions
from pipelines.queries.usage import cost_of_task
from pipelines.queries.usage import spending_of_month as of_month_until_now
from pipelines.routing.basics.facts import OF_MONTH, OF_RUN, OF_TASK
from pipelines.routing.decide.outcome_judgement import exact_amount
from pipelines.routing.document.kinds import agent, expected_result, may_cost, tools, wait_for_checks
from pipelines.routing.document.kinds.route import route_labels
from pipelines.routing.document.line import ParsedLine
from pipelines.routing.document.line import Station as LineStation
from pipelines.work.orders.order import Orders, QuestionOrder, StationOrder
from pipelines.work.statements import RECEIVED_HANDOFFS
from pipelines.work.transport.local.earlier_output import earlier_outputs_and_errors
from pipelines.work.transport.local.folders import named_folders, submodule_folders, template_inputs
from pipelines.work.transport.local.repositories import git_order_or_none
from pipelines.work.transport.local.station_hosts import reachable_hosts


def job_orders(job: Job) -> Orders:
    """`job` with its task, project and owner loaded."""
    return job_orders_with_handoff(job, received_handoffs([job]).get(job.pk))


def job_orders_with_handoff(job: Job, handoff: Any) -> Orders:
    """The same, of many: `handoff` was read for all of them."""
    task, line = job.task, versions.parsed_line_by_version_id(job.pinned_id)
    station = line.station(job.station)
    runs, inputs = tools_for_station(line, station), template_inputs(task, line)
    git = git_order_or_none(task, line, station, job.pk) if job.purpose == Purpose.STATION else None
    scope = {
        "task": task_fields(task),
        "input": inputs,
        "context": task.context,
        "variables": task.variables,
        "said": earlier_outputs_and_errors(job, line, station),
        "macros": {
            "chain": line.key,
            "edges": task.edges,
            "tools": [tool["name"] for tool in runs],
        },
    }
    return Orders(
        job_id=job.pk,
        attempt=job.attempt,
        task_id=task.pk,
        project_id=task.project_id,
        token_id=job.token_id,
        task=task.name,
        owner=task.project.owner.key,
        visit=job.visit,
        feedback=job.feedback,
        asked=job.asked,
        project=task.project.key,
        preset=line.preset,
        kind=job.kind,
        station=station_order(station, reachable_hosts(task, station), **cost_left(job, line, station)),
        declared=runs,
        scope=scope,
        repositories=tuple(line_input.key for line_input in line.inputs if line_input.type == "repository"),
        handoff=handoff,
        begun=job.created_at.timestamp(),
        rerun=job.kind == wait_for_checks.KIND.key and job.not_before is None and is_rerun_requested(job),
        session=resumed_session_or_empty(job, station),
        question=None if job.purpose == Purpose.STATION else job_question(job),
        git=git,
        folders=named_folders(task, line, station, inputs, git.address if git else ""),
        submodule_folders=submodule_folders(task, git.address if git else ""),
    )


def station_order(station: LineStation, hosts: tuple[str, ...], **cost: Any) -> StationOrder:
    return StationOrder(
        key=station.key,
        work=station.work,
        output_keys=tuple(station.output_keys),
        result_document=station.result_document,
        idle_timeout=station.limits.idle_timeout,
        max_timeout=station.limits.max_timeout,
        resources=station.resources,
        expects=expected_result(station),
        artifacts=tuple(
            {"path": artifact.path, "kind": artifact.kind, "required": artifact.required}
            for artifact in station.artifacts
        ),
        labels=route_labels(station),
        hosts=hosts,
        **cost,
    )


def cost_left(job: Job, line: ParsedLine, station: LineStation) -> dict[str, Any]:
    """Return what this run may cost and whose limit says so: its own, what is left of the task's or of the
    month's, whichever is least."""
    of_run, of_task = station.limits.cost_usd, line.limits.cost_usd
    limits = [] if of_run is None else [(exact_amount(of_run), OF_RUN)]
    if of_task is not None and may_cost(station):
        limits.append(
            (exact_amount(of_task) - exact_amount(cost_of_task(job.task_id, excluded_job=job.pk)), OF_TASK)
        )
    of_month = job.task.project.month_cost_usd
    if of_month is not None and may_cost(station):
        spent = of_month_until_now(job.task.project_id, excluded_job=job.pk).cost
        limits.append((of_month - (spent or 0), OF_MONTH))
    if not limits:
        return {}
    least, limit = min(limits)
    # More may have been spent than the limit: then nothing is left
    return {"cost_usd": float(max(least, Decimal())), "cost_limit": limit}


def resumed_session_or_empty(job: Job, station: LineStation) -> str:
    """The session of the agent's last visit, where it is told something and goes on with it; "" where not."""
    preset = agent.agent_preset_or_none(station.work) if station.kind == agent.KIND.key else None
    if preset is None or not job.feedback or not preset.resume or station.work.get("resume") is False:
        return ""
    before = Job.objects.filter(
        task=job.task_id, station=job.station, purpose=Purpose.STATION, state=Job.State.DONE, pk__lt=job.pk
    )
    outcome = before.order_by("-pk").values_list("outcome", flat=True).first() or {}
    agent_facts = outcome.get("facts", {}).get("agent", {})
    return str(agent_facts.get("session") or "") if agent_facts.get("name") == preset.name else ""


def is_rerun_requested(job: Job) -> bool:
    """Return whether somebody began this visit by asking for the checks to run again; once it was put off,
    they do."""
    moves = Event.objects.filter(task=job.task_id, kind="token.moved", trigger=engine.CHECKS_RERUN)
    return moves.filter(data__job__id=job.pk).exists()


def job_question(job: Job) -> QuestionOrder:
    by = Token.objects.filter(pk=job.token_id).values_list("wait__decision", flat=True).first()
    situation = Decision.objects.filter(pk=by).values_list("situation", flat=True).first() if by else None
    return QuestionOrder(job.question or {}, situation["outcome"] if situation else None)


def received_handoffs(jobs: Iterable[Job]) -> dict[int, Any]:
    """{job: the last handoff that came with it to its station}, by one statement; another run of it reads the same
    again."""
    job_rows = [(job.pk, job.task_id, job.station) for job in jobs]
    if not job_rows:
        return {}
    [handoffs] = execute_all_and_fetch(
        [Statement(RECEIVED_HANDOFFS, [list(column) for column in zip(*job_rows, strict=True)])]
    )
    return {pk: json.loads(document) for pk, document in handoffs}


def tools_for_station(line: ParsedLine, station: LineStation) -> tuple[Mapping[str, Any], ...]:
    """The tools that a station runs, or of which its model is told: then it names the station that runs them."""
    tools_entry = station.work.get("tools")
    runs = line.stations_by_key.get(tools_entry) if isinstance(tools_entry, str) else station
    return tuple(tools.declared_tools(runs.work)) if runs else ()
