"""Permission to call a tool, which an agent at work asks for under the lease of its job (law §18)."""

from __future__ import annotations

import uuid
from typing import Any

from django.db.models.functions import Now

from pipelines import engine
from pipelines.engine.core.payload import checked_digest
from pipelines.errors import Conflict, Invalid
from pipelines.models import Job, ToolPermission
from pipelines.queries import versions
from pipelines.routing.document.work.tool_permissions import ASK, tool_policy_or_none
from pipelines.work.results.text import masked_value
from pipelines.work.spec.agent_call import PermissionAnswer, PermissionRequest
from pipelines.work.transport.local.station_values import task_masker
from pipelines.work.transport.protocol import LeaseLost, QuestionRefused


def answer_permission_request(job_id: int, lease: uuid.UUID, request: PermissionRequest) -> PermissionAnswer:
    """Return the answer so far; the first request with a key puts the call before people.
    :raises LeaseLost: the attempt is over; QuestionRefused: nobody can be asked about this call"""
    under_lease = {"job__state": Job.State.RUNNING, "job__lease_key": lease, "lease_key": lease}
    rows = ToolPermission.objects.filter(job=job_id, key=request.key, digest=request.digest, **under_lease)
    # An agent that waits asks every second or two: one small statement
    row = rows.exclude(state=ToolPermission.State.OPEN, due_at__lte=Now()).first()
    row = row or _open_permission_request(job_id, lease, request)
    return PermissionAnswer(row.state, row.reason)


def _open_permission_request(job_id: int, lease: uuid.UUID, request: PermissionRequest) -> ToolPermission:
    jobs = Job.objects.select_related("task__project__owner", "task__line")
    job = jobs.filter(pk=job_id, lease_key=lease, state=Job.State.RUNNING).first()
    if job is None:
        raise LeaseLost
    try:
        # Before anything walks through it: it may be nested without end
        checked_digest({"tool": request.tool, "arguments": dict(request.arguments)})
    except Invalid as error:
        raise QuestionRefused(str(error)) from error
    policy = tool_policy_or_none(versions.parsed_line_by_version_id(job.pinned_id).station(job.station).work)
    # A runner is somebody else's machine: what it asks is held against the line again
    if policy is None or policy.verdict(request.tool, request.arguments) != ASK:
        raise QuestionRefused("The line asks nobody about this call.")
    # The agent may have put a secret of its station into a command
    arguments: dict[str, Any] = masked_value(dict(request.arguments), task_masker(job.task))
    call = engine.PermissionCall(request.key, request.tool, arguments, request.digest)
    try:
        return engine.ask_tool_permission(job_id, lease, call, minutes=policy.minutes)
    except Conflict as error:
        raise LeaseLost from error
    except Invalid as error:
        raise QuestionRefused(str(error)) from error
