"""Actions of people on a task by hand, besides deciding gates and moves: complete, answer, hold, release,
cancel.

Each is a POST that carries the version of the position on the page; when that is not the present one, the
page says so and keeps the typed text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from pipelines import engine
from pipelines.engine.commands.inputs import form_fields_of_manual_station
from pipelines.engine.commands.supply_preconditions import fields_for_missing_metadata
from pipelines.errors import Conflict, Invalid
from pipelines.models import Job, Task
from pipelines.ports.vault.value_lookup import ValueScope
from pipelines.queries import versions
from pipelines.queries.task_view import TaskView
from pipelines.routing.document.line import Input, Problem
from pipelines.web.shell.forms import (
    METADATA,
    AnswerForm,
    EndedTaskRetryForm,
    EvaluationAnswerForm,
    HandoffForm,
    MetadataForm,
    TokenVersionForm,
    VersionedReasonForm,
    first_error,
    posted_metadata,
)
from pipelines.web.shell.page import (
    SignedInRequest,
    breadcrumbs,
    is_fragment_request,
    render_in_shell,
    task_required,
)
from pipelines.web.tasks import uploads
from pipelines.web.tasks.action_responses import (
    conflict_page,
    get_token_or_404,
    redirect_to_task,
    refusal_page,
    run_command_and_redirect,
    typed_text_by_label,
)
from pipelines.web.tasks.manual_report_form import outcome_parts_and_problems_of_report, report_fields
from pipelines.web.tasks.start import input_values_of_form, start_fields
from pipelines.work.transport.local.instructions import rendered_instructions

RESULTS = (
    ("success", "Done"),
    ("failure", "Failed"),
    ("blocked", "Blocked"),
)
AT = "outcome.output"
COMPLETION = ("token_version", "eval", "failure_type", "handoff", "summary")
"""The fields of the form of a manual station, but for its outputs and its result."""


@task_required("operate")
@require_POST
def answer_position(request: SignedInRequest, task: Task, token: int) -> HttpResponse:
    """The answer to a question, or to an evaluation (then it is one of two words)."""
    task_token = get_token_or_404(task, token)
    typed_texts = typed_text_by_label(request, "text", "Answer")
    form = EvaluationAnswerForm(request.POST) if "evaluation" in task_token.wait else AnswerForm(request.POST)
    if not form.is_valid():
        return refusal_page(request, task, "Enter an answer. The station runs again with it.", typed_texts)
    words = {**form.cleaned_data}
    do = partial(
        engine.answer_blocked_token, task_token.pk, user=request.user, fact=words.pop("answer", ""), **words
    )
    return run_command_and_redirect(request, task, do, "Answered", typed_texts)


@task_required("operate")
@require_POST
def hand_over_document(request: SignedInRequest, task: Task, token: int) -> HttpResponse:
    """The document that a held task waits for."""
    task_token, form = get_token_or_404(task, token), HandoffForm(request.POST)
    typed_texts = typed_text_by_label(request, "document", "Handoff document")
    if not form.is_valid():
        return refusal_page(request, task, first_error(form), typed_texts)
    do = partial(engine.store_handoff_and_decide_again, task_token.pk, user=request.user, **form.cleaned_data)
    return run_command_and_redirect(request, task, do, "Handed over", typed_texts)


@task_required("operate")
@require_POST
def supply_metadata(request: SignedInRequest, task: Task, token: int) -> HttpResponse:
    """The metadata that a held task waits for."""
    task_token, form = get_token_or_404(task, token), MetadataForm(request.POST)
    metadata_fields = fields_for_missing_metadata(
        versions.parsed_line_by_version_id(task.pinned_id), task_token
    )
    # What was typed is shown again under the name that the form has for it
    labels = {f"{METADATA}{field.key}": field.label for field in metadata_fields}
    typed_texts = {labels.get(name, name): text for name, text in posted_metadata(request.POST).items()}
    if not form.is_valid():
        return refusal_page(request, task, first_error(form), typed_texts)
    do = partial(
        engine.supply_metadata_and_decide_again,
        task_token.pk,
        user=request.user,
        token_version=form.cleaned_data["token_version"],
        values=input_values_of_form(metadata_fields, form.cleaned_data["posted"], "metadata"),
    )
    return run_command_and_redirect(request, task, do, "Added", typed_texts)


@task_required("operate")
@require_POST
def rerun_host_checks(request: SignedInRequest, task: Task, token: int) -> HttpResponse:
    """Ask the host to run its checks again, and read them anew."""
    task_token, form = get_token_or_404(task, token), TokenVersionForm(request.POST)
    if not form.is_valid():
        return refusal_page(request, task, first_error(form), {})
    do = partial(engine.rerun_checks, task_token.pk, user=request.user, **form.cleaned_data)
    return run_command_and_redirect(request, task, do, "The host is asked to run its checks again", {})


@task_required("operate")
@require_POST
def retry_ended_task(request: SignedInRequest, task: Task) -> HttpResponse:
    """Retry a task that has ended as a new one, which is shown then."""
    form = EndedTaskRetryForm(request.POST)
    typed_texts = typed_text_by_label(request, "reason", "Reason")
    if not form.is_valid():
        return refusal_page(request, task, first_error(form), typed_texts)
    actor = engine.Actor.person(request.user)
    try:
        new = engine.start_retry_task(task.pk, actor=actor, **form.cleaned_data)
    except Conflict as late:
        return conflict_page(request, task, late.detail, typed_texts)
    except Invalid as fault:
        return refusal_page(request, task, str(fault), typed_texts)
    messages.success(request, f"This task retries {task.name}.")
    return redirect_to_task(new)


@task_required("operate")
@require_POST
def hold_position(request: SignedInRequest, task: Task, token: int) -> HttpResponse:
    """Put a queued position on hold, with a reason."""
    blank = "Enter a reason for the hold. It is shown on the task."
    return _act_with_reason(request, task, token, engine.hold, blank, "On hold")


def _act_with_reason(
    request: SignedInRequest,
    task: Task,
    token: int,
    verb: Callable[..., Task],
    blank: str,
    success_message: str,
) -> HttpResponse:
    """Act on a position with a reason; `blank` is the message where the reason is missing."""
    task_token, form = get_token_or_404(task, token), VersionedReasonForm(request.POST)
    typed_texts = typed_text_by_label(request, "reason", "Reason")
    if not form.is_valid():
        return refusal_page(request, task, blank, typed_texts)
    return run_command_and_redirect(
        request,
        task,
        partial(verb, task_token.pk, user=request.user, **form.cleaned_data),
        success_message,
        typed_texts,
    )


@task_required("operate")
@require_POST
def release_position(request: SignedInRequest, task: Task, token: int) -> HttpResponse:
    """Release a position that a person put on hold."""
    task_token, form = get_token_or_404(task, token), TokenVersionForm(request.POST)
    if not form.is_valid():
        return refusal_page(request, task, first_error(form), {})
    do = partial(engine.release, task_token.pk, user=request.user, **form.cleaned_data)
    return run_command_and_redirect(request, task, do, "Released", {})


@task_required("operate")
@require_POST
def cancel_task(request: SignedInRequest, task: Task) -> HttpResponse:
    entered, reason = typed_text_by_label(request, "reason", "Reason"), request.POST.get("reason", "")
    # An empty request cancels nothing.
    if not (reason or request.POST.get("sure")):
        return refusal_page(request, task, "Confirm that the task is to be cancelled.", entered)
    do = partial(engine.cancel, task.pk, actor=engine.Actor.person(request.user), reason=reason)
    return run_command_and_redirect(request, task, do, "Cancelled", entered)


@task_required("operate")
@require_http_methods(["GET", "HEAD", "POST"])
def manual_form_page(request: SignedInRequest, task: Task, job: int) -> HttpResponse:
    """The form of a manual station, as a page or, in the inbox, in place."""
    manual_job = get_object_or_404(
        Job.objects.filter(task=task, pk=job, kind="manual").select_related("token")
    )
    station = versions.parsed_line_by_version_id(manual_job.pinned_id).station(manual_job.station)
    inputs = form_fields_of_manual_station(station)
    if request.method != "POST":
        # Looked at before the form is filled in, not only when it is sent
        if manual_job.state == Job.State.DONE:
            return conflict_page(request, task, "This is already completed.", {})
        return _completion_page(request, task, manual_job, inputs, None, [])
    return _submit_manual_completion(request, task, manual_job, inputs)


def _submit_manual_completion(
    request: SignedInRequest, task: Task, job: Job, inputs: tuple[Input, ...]
) -> HttpResponse:
    post, too_large = uploads.store_uploads_and_return_fields_and_problems(request, task.project, inputs, AT)
    if too_large:
        return _completion_page(request, task, job, inputs, post, too_large)
    version = post.get("token_version", "")
    # Any number of nine digits fits the column, which has 32 bits
    if not (version.isascii() and version.isdigit() and len(version) < 10):
        return _completion_page(
            request, task, job, inputs, post, [Problem("", "Reload the page and try again.")]
        )
    outcome: dict[str, Any] = {"result": post.get("result", "success")}
    if post.get("summary", "").strip():
        outcome["summary"] = _text_with_unix_line_ends(post, "summary")
    if inputs:
        # A field that was left empty is absent, and no empty text.
        outcome["output"] = {
            key: value for key, value in input_values_of_form(inputs, post, AT).items() if value != ""
        }
    line = versions.parsed_line_by_version_id(job.pinned_id)
    more, faults = outcome_parts_and_problems_of_report(report_fields(line, line.station(job.station)), post)
    if faults:
        return _completion_page(request, task, job, inputs, post, faults)
    outcome |= more
    try:
        engine.complete_manual_job(job.pk, user=request.user, token_version=int(version), outcome=outcome)
    except Conflict as late:
        return conflict_page(request, task, late.detail, _typed_text_by_label(inputs, post))
    except Invalid as fault:
        return _completion_page(request, task, job, inputs, post, fault.problems)
    messages.success(request, f"Completed: {task.name}")
    if not is_fragment_request(request, "form"):
        return redirect_to_task(task)
    # The inbox goes on with what comes first in it, else to the task.
    return HttpResponse(headers={"HX-Redirect": f"{reverse('needs-me')}?after-task={task.pk}"})


def _text_with_unix_line_ends(post: Mapping[str, str], name: str) -> str:
    """Return the text as it was typed: browsers send line ends of two characters."""
    return post.get(name, "").replace("\r\n", "\n")


def _typed_text_by_label(inputs: tuple[Input, ...], post: Mapping[str, str]) -> dict[str, str]:
    typed = {
        form_input.label or form_input.key: post.get(f"{AT}.{form_input.key}", "") for form_input in inputs
    }
    return typed | {"Summary": post.get("summary", "")}


def _last_report_or_none(job: Job, inputs: tuple[Input, ...]) -> dict[str, Any] | None:
    """Return the form as it was filled in at the last visit of this station; None at the first."""
    earlier = Job.objects.filter(
        task=job.task_id, station=job.station, purpose=job.purpose, visit__lt=job.visit, outcome__isnull=False
    )
    last = earlier.order_by("-visit").first()
    if last is None or last.outcome is None:
        return None
    output = last.outcome.get("output")
    values = output if isinstance(output, dict) else {}
    # A secret is chosen anew, by whoever does the work now
    fields = {f"{AT}.{field.key}": values.get(field.key) for field in inputs if field.type != "secret"}
    texts = {
        name: json.dumps(value) if isinstance(value, dict | list) else value
        for name, value in fields.items()
        if value is not None
    }
    return {"result": "success", "summary": last.summary, **texts}


def _completion_page(
    request: SignedInRequest,
    task: Task,
    job: Job,
    inputs: tuple[Input, ...],
    typed: Mapping[str, str] | None,
    problems: Any,
) -> HttpResponse:
    station = versions.parsed_line_by_version_id(job.pinned_id).station(job.station)
    if typed is None and job.feedback:
        # Work that came back is corrected, and not typed anew
        typed = _last_report_or_none(job, inputs)
    own = {f"{AT}.{form_input.key}" for form_input in inputs}
    view = TaskView(task, timezone.now())
    before = [
        earlier_job
        for earlier_job in view.jobs
        if earlier_job.pk < job.pk and earlier_job.outcome is not None
    ]
    in_place = is_fragment_request(request, "form")
    return render_in_shell(
        request,
        "tasks/complete.html#form" if in_place else "tasks/complete.html",
        in_place=in_place,
        project=task.project,
        section="tasks",
        trail=breadcrumbs(
            (task.name, reverse("task", args=[task.project.owner.key, task.project.key, task.name])),
            station.name,
        ),
        status=422 if problems else 200,
        task=task,
        job=job,
        station=station,
        instructions=rendered_instructions(job),
        fields=start_fields(inputs, typed, problems, AT, reach=ValueScope.scope_of_task(task)),
        upload_to=uploads.upload_url(task.project),
        more=report_fields(versions.parsed_line_by_version_id(job.pinned_id), station),
        typed={**dict.fromkeys(COMPLETION, ""), **(typed or {"result": "success"})},
        faults=[problem for problem in problems if problem.path not in own],
        results=RESULTS,
        before=before[-1] if before else None,
    )
