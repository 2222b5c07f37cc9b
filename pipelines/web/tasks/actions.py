"""Actions of people on a task by hand, besides deciding gates: complete, answer, move, hold, release,
cancel.

Each is a POST that carries the version of the position on the page; when that is not the present one, the
page says so and keeps the typed text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from pipelines import engine
from pipelines.engine.commands.inputs import form_of
from pipelines.engine.commands.supply_preconditions import metadata_inputs
from pipelines.errors import Conflict, Invalid
from pipelines.models import Job, Task
from pipelines.ports.vault.finding import ValueScope
from pipelines.queries import versions
from pipelines.queries.task import TaskView
from pipelines.routing.basics import wording
from pipelines.routing.document.line import Input, Problem
from pipelines.web.shell.forms import (
    METADATA,
    AnswerForm,
    EndedRetry,
    Fact,
    GivenHandoff,
    MoveForm,
    SeenForm,
    SeenReason,
    Supplied,
    first_fault,
    posted,
)
from pipelines.web.shell.page import SignedIn, crumbs, fragment, on_task, show
from pipelines.web.tasks import uploads
from pipelines.web.tasks.acting import act, conflict, refused, to_task, token_of, typed
from pipelines.web.tasks.manual_report_form import said, sayings
from pipelines.web.tasks.move_words import plan_words
from pipelines.web.tasks.start import fields_of, given
from pipelines.work.transport.local.instructions import instructions

RESULTS = (
    ("success", "Done"),
    ("failure", "Failed"),
    ("blocked", "Blocked"),
)
AT = "outcome.output"
COMPLETION = ("token_version", "eval", "failure_type", "handoff", "summary")
"""The fields of the form of a manual station, but for its outputs and its result."""


@on_task("operate")
@require_POST
def answer(request: SignedIn, task: Task, token: int) -> HttpResponse:
    """The answer to a question, or to an evaluation (then it is one of two words)."""
    task_token = token_of(task, token)
    typed_texts = typed(request, "text", "Answer")
    form = Fact(request.POST) if "evaluation" in task_token.wait else AnswerForm(request.POST)
    if not form.is_valid():
        return refused(request, task, "Enter an answer. The station runs again with it.", typed_texts)
    words = {**form.cleaned_data}
    do = partial(engine.answer, task_token.pk, user=request.user, fact=words.pop("answer", ""), **words)
    return act(request, task, do, "Answered", typed_texts)


@on_task("operate")
@require_POST
def handoff(request: SignedIn, task: Task, token: int) -> HttpResponse:
    """The document that a held task waits for."""
    task_token, form = token_of(task, token), GivenHandoff(request.POST)
    typed_texts = typed(request, "document", "Handoff document")
    if not form.is_valid():
        return refused(request, task, first_fault(form), typed_texts)
    do = partial(engine.hand_over, task_token.pk, user=request.user, **form.cleaned_data)
    return act(request, task, do, "Handed over", typed_texts)


@on_task("operate")
@require_POST
def supply(request: SignedIn, task: Task, token: int) -> HttpResponse:
    """The metadata that a held task waits for."""
    task_token, form = token_of(task, token), Supplied(request.POST)
    metadata_fields = metadata_inputs(versions.by_id(task.pinned_id), task_token)
    labels = {f"{METADATA}{field.key}": field.label for field in metadata_fields}
    typed_texts = {labels.get(name, name): text for name, text in posted(request.POST).items()}
    if not form.is_valid():
        return refused(request, task, first_fault(form), typed_texts)
    do = partial(
        engine.supply,
        task_token.pk,
        user=request.user,
        token_version=form.cleaned_data["token_version"],
        values=given(metadata_fields, form.cleaned_data["posted"], "metadata"),
    )
    return act(request, task, do, "Added", typed_texts)


@on_task("operate")
@require_POST
def move(request: SignedIn, task: Task, token: int) -> HttpResponse:
    """Move a position by hand: to a station, to where success leads, or to run again where it stands (law §17)."""
    position, form = token_of(task, token), MoveForm(request.POST)
    entered = typed(request, "reason", "Reason")
    if not form.is_valid():
        return refused(request, task, first_fault(form), entered)
    arguments = {**form.cleaned_data, "accepts": request.POST.getlist("accepts")}
    do = partial(engine.move, position.pk, user=request.user, **arguments)
    return act(request, task, do, "Moved" if arguments["to"] else "Runs again", entered)


@on_task("operate")
@require_safe
def move_plan(request: SignedIn, task: Task, token: int) -> HttpResponse:
    """Show what the move would do, in the dialog that asks for it."""
    position, form = token_of(task, token), MoveForm(request.GET)
    view: dict[str, Any] = {"refusal": "", "sentences": (), "breaks": ()}
    try:
        if form.is_valid():
            version, to = form.cleaned_data["token_version"], form.cleaned_data["to"]
            plan = engine.plan_move(position.pk, user=request.user, token_version=version, to=to)
            view["sentences"] = plan_words(versions.by_id(task.pinned_id), plan)
            view["breaks"] = list(zip(plan.breaks, map(wording.people_text, plan.sentences), strict=True))
        else:
            view["refusal"] = first_fault(form)
    except Conflict as late:
        view["refusal"] = late.detail
    except Invalid as fault:
        view["refusal"] = str(fault)
    return show(request, "tasks/task/move_plan.html", project=task.project, task=task, **view)


@on_task("operate")
@require_POST
def rerun_checks(request: SignedIn, task: Task, token: int) -> HttpResponse:
    """Ask the host to run its checks again, and read them anew."""
    task_token, form = token_of(task, token), SeenForm(request.POST)
    if not form.is_valid():
        return refused(request, task, first_fault(form), {})
    do = partial(engine.rerun_checks, task_token.pk, user=request.user, **form.cleaned_data)
    return act(request, task, do, "The host is asked to run its checks again", {})


@on_task("operate")
@require_POST
def retry_ended(request: SignedIn, task: Task) -> HttpResponse:
    """Retry a task that has ended as a new one, which is shown then."""
    form = EndedRetry(request.POST)
    typed_texts = typed(request, "reason", "Reason")
    if not form.is_valid():
        return refused(request, task, first_fault(form), typed_texts)
    actor = engine.Actor.person(request.user)
    try:
        new = engine.retry_ended(task.pk, actor=actor, **form.cleaned_data)
    except Conflict as late:
        return conflict(request, task, late.detail, typed_texts)
    except Invalid as fault:
        return refused(request, task, str(fault), typed_texts)
    messages.success(request, f"This task retries {task.name}.")
    return to_task(new)


@on_task("operate")
@require_POST
def hold(request: SignedIn, task: Task, token: int) -> HttpResponse:
    """Keep what is queued from starting."""
    blank = "Enter a reason for the hold. It is shown on the task."
    return _because(request, task, token, engine.hold, blank, "On hold")


def _because(
    request: SignedIn, task: Task, token: int, verb: Callable[..., Task], blank: str, done: str
) -> HttpResponse:
    """Act on a position with a reason; `blank` is the message where the reason is missing."""
    task_token, form = token_of(task, token), SeenReason(request.POST)
    typed_texts = typed(request, "reason", "Reason")
    if not form.is_valid():
        return refused(request, task, blank, typed_texts)
    return act(
        request, task, partial(verb, task_token.pk, user=request.user, **form.cleaned_data), done, typed_texts
    )


@on_task("operate")
@require_POST
def release(request: SignedIn, task: Task, token: int) -> HttpResponse:
    """Let go what a person holds."""
    task_token, form = token_of(task, token), SeenForm(request.POST)
    if not form.is_valid():
        return refused(request, task, first_fault(form), {})
    do = partial(engine.release, task_token.pk, user=request.user, **form.cleaned_data)
    return act(request, task, do, "Released", {})


@on_task("operate")
@require_POST
def cancel(request: SignedIn, task: Task) -> HttpResponse:
    entered, reason = typed(request, "reason", "Reason"), request.POST.get("reason", "")
    # An empty request cancels nothing.
    if not (reason or request.POST.get("sure")):
        return refused(request, task, "Confirm that the task is to be cancelled.", entered)
    do = partial(engine.cancel, task.pk, actor=engine.Actor.person(request.user), reason=reason)
    return act(request, task, do, "Cancelled", entered)


@on_task("operate")
@require_http_methods(["GET", "HEAD", "POST"])
def complete(request: SignedIn, task: Task, job: int) -> HttpResponse:
    """The form of a manual station, as a page or, in the inbox, in place."""
    manual_job = get_object_or_404(
        Job.objects.filter(task=task, pk=job, kind="manual").select_related("token")
    )
    station = versions.by_id(manual_job.pinned_id).station(manual_job.station)
    inputs = form_of(station)
    if request.method != "POST":
        if manual_job.state == Job.State.DONE:
            return conflict(request, task, "This is already completed.", {})
        return _completion(request, task, manual_job, inputs, None, [])
    return _complete(request, task, manual_job, inputs)


def _complete(request: SignedIn, task: Task, job: Job, inputs: tuple[Input, ...]) -> HttpResponse:
    post, too_large = uploads.take(request, task.project, inputs, AT)
    if too_large:
        return _completion(request, task, job, inputs, post, too_large)
    version = post.get("token_version", "")
    # Any number of nine digits fits the column, which has 32 bits
    if not (version.isascii() and version.isdigit() and len(version) < 10):
        return _completion(request, task, job, inputs, post, [Problem("", "Reload the page and try again.")])
    outcome: dict[str, Any] = {"result": post.get("result", "success")}
    if post.get("summary", "").strip():
        outcome["summary"] = _lines(post, "summary")
    if inputs:
        # A field that was left empty is absent, and no empty text.
        outcome["output"] = {key: value for key, value in given(inputs, post, AT).items() if value != ""}
    line = versions.by_id(job.pinned_id)
    more, faults = said(sayings(line, line.station(job.station)), post)
    if faults:
        return _completion(request, task, job, inputs, post, faults)
    outcome |= more
    try:
        engine.complete(job.pk, user=request.user, token_version=int(version), outcome=outcome)
    except Conflict as late:
        return conflict(request, task, late.detail, _typed(inputs, post))
    except Invalid as fault:
        return _completion(request, task, job, inputs, post, fault.problems)
    if not fragment(request, "form"):
        messages.success(request, "Completed")
        return to_task(task)
    response = show(request, "tasks/complete.html#done", project=task.project, task=task)
    # The inbox and its counts load themselves anew.
    response["HX-Trigger"] = "gl:inbox"
    return response


def _lines(post: Mapping[str, str], name: str) -> str:
    """Return the text as it was typed: browsers send line ends of two characters."""
    return post.get(name, "").replace("\r\n", "\n")


def _typed(inputs: tuple[Input, ...], post: Mapping[str, str]) -> dict[str, str]:
    typed = {
        form_input.label or form_input.key: post.get(f"{AT}.{form_input.key}", "") for form_input in inputs
    }
    return typed | {"Summary": post.get("summary", "")}


def _completion(
    request: SignedIn,
    task: Task,
    job: Job,
    inputs: tuple[Input, ...],
    typed: Mapping[str, str] | None,
    problems: Any,
) -> HttpResponse:
    station = versions.by_id(job.pinned_id).station(job.station)
    own = {f"{AT}.{form_input.key}" for form_input in inputs}
    view = TaskView(task, timezone.now())
    before = [
        earlier_job
        for earlier_job in view.jobs
        if earlier_job.pk < job.pk and earlier_job.outcome is not None
    ]
    in_place = fragment(request, "form")
    return show(
        request,
        "tasks/complete.html#form" if in_place else "tasks/complete.html",
        in_place=in_place,
        project=task.project,
        section="tasks",
        trail=crumbs(
            (task.name, reverse("task", args=[task.project.owner.key, task.project.key, task.name])),
            station.name,
        ),
        status=422 if problems else 200,
        task=task,
        job=job,
        station=station,
        instructions=instructions(job),
        fields=fields_of(inputs, typed, problems, AT, reach=ValueScope.of(task)),
        upload_to=uploads.address(task.project),
        more=sayings(versions.by_id(job.pinned_id), station),
        typed={**dict.fromkeys(COMPLETION, ""), **(typed or {"result": "success"})},
        faults=[problem for problem in problems if problem.path not in own],
        results=RESULTS,
        before=before[-1] if before else None,
    )
