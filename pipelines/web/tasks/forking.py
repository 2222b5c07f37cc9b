"""Forks of a task from a moment of it: the page with its plan, and the fork (law §17)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.views.decorators.http import require_http_methods

from pipelines import access, engine
from pipelines.engine import ForkPlan, TaskMoment
from pipelines.errors import Conflict, Forbidden, Invalid
from pipelines.models import Event, Status, Task
from pipelines.queries import versions
from pipelines.queries.history import timeline_items_newest_first
from pipelines.routing.basics import wording
from pipelines.routing.basics.plural import singular_or_plural
from pipelines.routing.document.line import ParsedLine
from pipelines.routing.sentences.names import place_name, station_name
from pipelines.web.shell.forms import ForkForm, first_error
from pipelines.web.shell.page import (
    SignedInRequest,
    breadcrumbs,
    is_fragment_request,
    render_in_shell,
    task_required,
)
from pipelines.web.shell.repeated_requests import new_form_key, submit_once
from pipelines.web.tasks.action_responses import (
    Typed,
    conflict_page,
    redirect_to_task,
    refusal_page,
    typed_text_by_label,
)
from pipelines.work.transport.local.fork_files import ForkFiles, fork_files


@task_required("operate")
@require_http_methods(["GET", "HEAD", "POST"])
def fork_task(request: SignedInRequest, task: Task) -> HttpResponse:
    """Fork a task. GET: the page that asks for it, with the plan of what its address names; `fragment=plan`: the plan
    alone."""
    form = ForkForm(request.POST if request.method == "POST" else request.GET)
    typed = typed_text_by_label(request, "reason", "Reason")
    if not form.is_valid():
        return refusal_page(request, task, first_error(form), typed)
    chosen = {name: form.cleaned_data[name] for name in ("at", "position", "station")}
    if request.method == "POST":
        return _fork(request, task, {**chosen, "reason": form.cleaned_data["reason"]}, typed)
    if is_fragment_request(request, "plan"):
        return render_in_shell(
            request,
            "tasks/task/move_plan.html",
            project=task.project,
            task=task,
            **_fork_plan_context(request, task, chosen),
        )
    try:
        moment = engine.task_moment(task, chosen["at"])
    except Invalid as fault:
        return refusal_page(request, task, str(fault), typed)
    line = versions.parsed_line_by_version_id(task.pinned_id)
    return render_in_shell(
        request,
        "tasks/fork.html",
        project=task.project,
        section="tasks",
        trail=breadcrumbs(task.name),
        task=task,
        moment=moment,
        words=_moment_words(task, moment),
        station=chosen["station"],
        position=chosen["position"] or (moment.position or moment.positions[0]).token,
        positions=_position_options(line, moment),
        stations=[("", "Where it stood"), *((key, station_name(line, key)) for key in line.stations_by_key)],
        plan=_fork_plan_context(request, task, chosen),
        request_key=new_form_key(),
    )


def _fork(request: SignedInRequest, task: Task, arguments: dict[str, Any], typed: Typed) -> HttpResponse:
    """Fork it once, however often the button is pressed."""
    accepts = request.POST.getlist("accepts")
    actor = str(engine.Actor.person(request.user))
    try:
        name = submit_once(
            actor,
            request.path,
            request.POST,
            lambda: engine.fork(task.pk, user=request.user, accepts=accepts, **arguments).name,
        )
    except Conflict as late:
        return conflict_page(request, task, late.detail, typed)
    except Invalid as fault:
        return refusal_page(request, task, str(fault), typed)
    except Forbidden as refused:
        raise PermissionDenied(str(refused)) from refused
    messages.success(request, f"{name} is forked from {task.name}.")
    return redirect_to_task(access.task_of_permitted_project(task.project, name))


def _position_options(line: ParsedLine, moment: TaskMoment) -> list[tuple[str, str]]:
    """Return what there is to choose among; nothing where the task had one position."""
    if len(moment.positions) < 2:
        return []
    return [(str(place.token), station_name(line, place.station)) for place in moment.positions]


def _moment_words(task: Task, moment: TaskMoment) -> str:
    """Return what happened at the moment, in a few words."""
    events = list(Event.objects.filter(task=task, seq=moment.number))
    items = timeline_items_newest_first(task, events, moment.at)
    if not items:
        return moment.kind
    return f"{items[0].source} → {items[0].target}" if items[0].move else items[0].text


def _fork_plan_context(request: SignedInRequest, task: Task, chosen: dict[str, Any]) -> dict[str, Any]:
    """Return what the plan shows; what is refused is said in its place."""
    nothing = {"refusal": "", "sentences": (), "breaks": ()}
    try:
        plan = engine.plan_fork(task.pk, user=request.user, **chosen)
    except (Conflict, Invalid) as refused:
        return {**nothing, "refusal": str(refused)}
    breaks = list(zip(plan.breaks, map(wording.people_text, plan.sentences), strict=True))
    line = versions.parsed_line_by_version_id(task.pinned_id)
    return {**nothing, "sentences": list(plan_words(line, plan, fork_files(task, plan))), "breaks": breaks}


def plan_words(line: ParsedLine, plan: ForkPlan, files: ForkFiles) -> Iterator[tuple[str, str]]:
    """Yield what the fork does: for each thing an icon and a sentence."""
    name = place_name(line, plan.station)
    if plan.status == Status.QUEUED:
        yield "status-queued", f"A new task starts at {name}. This one continues unchanged."
    else:
        status = Status(plan.status).label
        yield f"status-{plan.status}", f"A new task waits at {name}: {status}. This one continues unchanged."
    if files.commit:
        yield "repository", f"It has the files of commit {files.commit[:7]}, on a branch of its own."
    elif files.files:
        counted = singular_or_plural("%(n)s file", "%(n)s files", files.files) % {"n": files.files}
        yield "file", f"It has the {counted} of that moment."
    else:
        yield "file", "It has no changed files yet."
    yield "gate", "Gates on its way are asked again. You are its requester."
    if plan.asks:
        targets = [place_name(line, key) for key in plan.asks]
        yield "arrow-right", f"From there it goes to {' or '.join(targets)}."
    if plan.alone:
        yield "warning", "It is one branch alone: at a join the others count as failed."
    if plan.cap is not None:
        yield "cost", f"Its first run costs up to ${plan.cap:.2f}."
