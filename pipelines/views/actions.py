"""What people do to a task by hand, besides deciding gates: complete, answer, retry, cancel.

Each is a POST that carries the version of the position that the page showed; when that is not the present one, the
page says so and keeps what was typed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from pipelines import engine, versions
from pipelines.driver.instructions import instructions
from pipelines.engine.inputs import form_of
from pipelines.errors import Conflict, Invalid
from pipelines.models import Job, Project, Task, Token
from pipelines.queries.task import TaskView
from pipelines.routing.line import Input, Problem
from pipelines.views import task as tasks
from pipelines.views.forms import Answer, Fact, GivenHandoff, Reason
from pipelines.views.page import SignedIn, crumbs, in_project, show
from pipelines.views.saying import said, sayings
from pipelines.views.start import fields_of, given

RESULTS = (("success", _("Done")), ("failure", _("Failed")), ("blocked", _("Blocked")))
AT = "outcome.output"


def _to_task(task: Task) -> HttpResponse:
    return redirect(reverse("task", args=[task.project.owner.key, task.project.key, task.name]))


def conflict(request: SignedIn, task: Task, detail: str, typed: Mapping[str, str]) -> HttpResponse:
    """409: what happened meanwhile, what was typed, and the way to the present state."""
    task.refresh_from_db(fields=["status"])
    return show(
        request,
        "pages/conflict.html",
        project=task.project,
        section="tasks",
        trail=crumbs(task.name),
        status=409,
        task=task,
        detail=detail,
        typed={label: text for label, text in typed.items() if text},
    )


def refused(request: SignedIn, task: Task, words: str, typed: Mapping[str, str]) -> HttpResponse:
    """422 where a dialog's field was left out: the page says which, and keeps the rest."""
    return show(
        request,
        "pages/refused.html",
        project=task.project,
        section="tasks",
        trail=crumbs(task.name),
        status=422,
        task=task,
        detail=words,
        typed={label: text for label, text in typed.items() if text},
    )


def _token(task: Task, token: int) -> Token:
    found = Token.objects.filter(task=task, pk=token).first()
    if found is None:
        raise Http404
    return found


@in_project("operate")
@require_POST
def answer(request: SignedIn, project: Project, wi: str, token: int) -> HttpResponse:
    """The answer to a question, or to an evaluation (then it is one of two words)."""
    task = tasks.get(request, project, wi)
    found = _token(task, token)
    typed = {_("Answer"): request.POST.get("text", "").replace("\0", "")}
    form = Fact(request.POST) if "evaluation" in found.wait else Answer(request.POST)
    if not form.is_valid():
        return refused(request, task, _("Say something: the station runs again with your answer."), typed)
    given_by = form.cleaned_data
    try:
        engine.answer(
            found.pk,
            user=request.user,
            token_version=given_by["token_version"],
            text=given_by["text"],
            fact=given_by.get("answer", ""),
        )
    except Conflict as late:
        return conflict(request, task, late.detail, typed)
    except Invalid as fault:
        return refused(request, task, str(fault), typed)
    messages.success(request, _("Answered"))
    return _to_task(task)


@in_project("operate")
@require_POST
def handoff(request: SignedIn, project: Project, wi: str, token: int) -> HttpResponse:
    """The document that a held task waits for."""
    task = tasks.get(request, project, wi)
    found = _token(task, token)
    text = request.POST.get("document", "").replace("\0", "")
    form, typed = GivenHandoff(request.POST), {_("Handoff document"): text}
    if not form.is_valid():
        return refused(
            request, task, "; ".join(map(str, form.errors.get("document", [_("Look again.")]))), typed
        )
    given_by = form.cleaned_data
    try:
        engine.hand_over(
            found.pk,
            user=request.user,
            token_version=given_by["token_version"],
            document=given_by["document"],
        )
    except Conflict as late:
        return conflict(request, task, late.detail, typed)
    except Invalid as fault:
        return refused(request, task, str(fault), typed)
    messages.success(request, _("Handed over"))
    return _to_task(task)


@in_project("operate")
@require_POST
def retry(request: SignedIn, project: Project, wi: str, token: int) -> HttpResponse:
    task = tasks.get(request, project, wi)
    found = _token(task, token)
    typed = {_("Reason"): request.POST.get("reason", "").replace("\0", "")}
    form = Reason(request.POST)
    if not form.is_valid() or form.cleaned_data["token_version"] is None:
        return refused(request, task, _("Say why you retry it: the reason stays with the task."), typed)
    try:
        engine.retry(
            found.pk,
            user=request.user,
            token_version=form.cleaned_data["token_version"],
            reason=form.cleaned_data["reason"],
        )
    except Conflict as late:
        return conflict(request, task, late.detail, typed)
    messages.success(request, _("Runs again"))
    return _to_task(task)


@in_project("operate")
@require_POST
def cancel(request: SignedIn, project: Project, wi: str) -> HttpResponse:
    task = tasks.get(request, project, wi)
    typed = {_("Reason"): request.POST.get("reason", "").replace("\0", "")}
    form = Reason(request.POST)
    if not form.is_valid():
        return refused(request, task, _("Say why you cancel it: the reason stays with the task."), typed)
    actor = engine.Actor.person(request.user)
    try:
        engine.cancel(task.pk, actor=actor, reason=form.cleaned_data["reason"])
    except Conflict as late:
        return conflict(request, task, late.detail, typed)
    messages.success(request, _("Cancelled"))
    return _to_task(task)


@in_project("operate")
@require_http_methods(["GET", "HEAD", "POST"])
def complete(request: SignedIn, project: Project, wi: str, job: int) -> HttpResponse:
    """The form of a manual station."""
    task = tasks.get(request, project, wi)
    found = Job.objects.filter(task=task, pk=job, kind="manual").select_related("token").first()
    if found is None:
        raise Http404
    station = versions.by_id(found.pinned_id).station(found.station)
    inputs = form_of(station)
    if request.method != "POST":
        if found.state == Job.State.DONE:
            return conflict(request, task, _("This was completed already."), {})
        return _completion(request, task, found, inputs, None, [])
    return _complete(request, task, found, inputs)


def _complete(request: SignedIn, task: Task, job: Job, inputs: tuple[Input, ...]) -> HttpResponse:
    post = request.POST
    version = post.get("token_version", "")
    if not (version.isascii() and version.isdigit() and len(version) < 10):
        return _completion(
            request, task, job, inputs, post, [Problem("", _("Load the page again and repeat it."))]
        )
    outcome: dict[str, Any] = {"result": post.get("result", "success")}
    if post.get("summary", "").strip():
        outcome["summary"] = _lines(post, "summary")
    if inputs:
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
    messages.success(request, _("Completed"))
    return _to_task(task)


def _lines(post: Mapping[str, str], name: str) -> str:
    """As it was typed: browsers send line ends of two characters."""
    return post.get(name, "").replace("\r\n", "\n")


def _typed(inputs: tuple[Input, ...], post: Mapping[str, str]) -> dict[str, str]:
    typed = {each.label or each.key: post.get(f"{AT}.{each.key}", "") for each in inputs}
    return typed | {_("Summary"): post.get("summary", "")}


def _completion(
    request: SignedIn,
    task: Task,
    job: Job,
    inputs: tuple[Input, ...],
    typed: Mapping[str, str] | None,
    problems: Any,
) -> HttpResponse:
    station = versions.by_id(job.pinned_id).station(job.station)
    own = {f"{AT}.{each.key}" for each in inputs}
    view = TaskView(task, timezone.now())
    before = [each for each in view.jobs if each.pk < job.pk and each.outcome is not None]
    return show(
        request,
        "pages/job_complete.html",
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
        fields=fields_of(inputs, typed, problems, AT),
        more=sayings(versions.by_id(job.pinned_id), station),
        typed=typed or {"result": "success"},
        faults=[problem for problem in problems if problem.path not in own],
        results=RESULTS,
        before=before[-1] if before else None,
    )
