"""Moves of a task by hand, on its page and on the board of its line: the dialog, its plan, and the move (law §17)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from django.http import HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_safe

from pipelines import engine
from pipelines.engine import MovePlan
from pipelines.errors import Conflict, Forbidden, Invalid
from pipelines.models import Status, Task, Token
from pipelines.queries import versions
from pipelines.queries.history import latest_change_sentence
from pipelines.queries.task_view import TaskView
from pipelines.routing.basics import wording
from pipelines.routing.basics.plural import singular_or_plural
from pipelines.routing.document.line import ParsedLine
from pipelines.routing.sentences.names import gate_name, place_name
from pipelines.web.shell.forms import MoveForm, first_error
from pipelines.web.shell.page import SignedInRequest, is_fragment_request, render_in_shell, task_required
from pipelines.web.tasks.action_responses import (
    get_token_or_404,
    refusal_page,
    run_command_and_redirect,
    typed_text_by_label,
)


@task_required("operate")
@require_http_methods(["GET", "HEAD", "POST"])
def move_position(request: SignedInRequest, task: Task, token: int) -> HttpResponse:
    """Move a position by hand: to a station, to where success leads, or to run again where it stands (law §17). GET
    answers the dialog alone, for a board."""
    position = get_token_or_404(task, token)
    if request.method != "POST":
        return _open_move_dialog(request, task, position)
    form, entered = MoveForm(request.POST), typed_text_by_label(request, "reason", "Reason")
    in_place = is_fragment_request(request, "plan")
    if not form.is_valid():
        if in_place:
            return _render_move_plan(request, task, refusal=first_error(form))
        return refusal_page(request, task, first_error(form), entered)
    arguments = {**form.cleaned_data, "accepts": request.POST.getlist("accepts")}
    do = partial(engine.move_or_retry_by_hand, position.pk, user=request.user, **arguments)
    to = arguments["to"]
    if in_place:
        return _move_in_dialog(request, task, position, form, do)
    done = "Moved" if to else "Runs again"
    if position.is_branch and not to:
        done = f"Only {place_name(versions.parsed_line_by_version_id(task.pinned_id), position.station)} runs again"
    return run_command_and_redirect(request, task, do, done, entered)


def _open_move_dialog(request: SignedInRequest, task: Task, position: Token) -> HttpResponse:
    """Return the dialog of one position, open, with the target that the address names."""
    positions = TaskView(task, timezone.now()).positions
    place = next((place for place in positions if place.token.pk == position.pk), None)
    if place is None or not place.is_movable_by_hand:
        return _render_move_plan(request, task, refusal=_who_moved_first_sentence(task))
    to = request.GET.get("to", "")
    chosen = to if to in dict(place.move_targets) else place.move_default
    return render_in_shell(
        request,
        "tasks/task/move.html",
        project=task.project,
        task=task,
        place=place,
        chosen=chosen,
        in_place=True,
        unknown="" if to in ("", chosen) else to,
    )


def _move_in_dialog(
    request: SignedInRequest, task: Task, position: Token, form: MoveForm, do: Callable[[], Task]
) -> HttpResponse:
    """Move, and tell the board; what is refused is said in the dialog, with the plan."""
    try:
        do()
    except Conflict:
        return _render_move_plan(request, task, refusal=_who_moved_first_sentence(task))
    except (Invalid, Forbidden) as fault:
        return _render_move_plan(
            request, task, **{**_move_plan_context(request, task, position, form), "refusal": str(fault)}
        )
    response, to = HttpResponse(status=204), form.cleaned_data["to"]
    line = versions.parsed_line_by_version_id(task.pinned_id)
    text = (
        f"{task.name} moved to {place_name(line, to)}."
        if to in line.stations_by_key
        else f"{task.name} moved."
    )
    response["HX-Trigger"] = json.dumps({"gl:moved": {"text": text}})
    return response


def _who_moved_first_sentence(task: Task) -> str:
    """Return who was faster, and with what."""
    task.refresh_from_db()
    return f"{latest_change_sentence(task)} Nothing was moved by you: close this and look at where it is."


@task_required("operate")
@require_safe
def move_plan_fragment(request: SignedInRequest, task: Task, token: int) -> HttpResponse:
    """Show what the move would do, in the dialog that asks for it."""
    position, form = get_token_or_404(task, token), MoveForm(request.GET)
    if not form.is_valid():
        return _render_move_plan(request, task, refusal=first_error(form))
    return _render_move_plan(request, task, **_move_plan_context(request, task, position, form))


def _move_plan_context(
    request: SignedInRequest, task: Task, position: Token, form: MoveForm
) -> dict[str, Any]:
    version, to = form.cleaned_data["token_version"], form.cleaned_data["to"]
    try:
        plan = engine.plan_move(position.pk, user=request.user, token_version=version, to=to)
    except Conflict as late:
        # In the dialog that asks: the page behind it may be older
        position.refresh_from_db()
        return {"refusal": late.detail if position.version == version else _who_moved_first_sentence(task)}
    except Invalid as fault:
        return {"refusal": str(fault)}
    return {
        "sentences": move_plan_sentences(versions.parsed_line_by_version_id(task.pinned_id), plan),
        "breaks": list(zip(plan.breaks, map(wording.people_text, plan.sentences), strict=True)),
    }


def _render_move_plan(request: SignedInRequest, task: Task, **view: Any) -> HttpResponse:
    view = {"refusal": "", "sentences": (), "breaks": (), **view}
    return render_in_shell(request, "tasks/task/move_plan.html", project=task.project, task=task, **view)


# The plan in sentences.


def move_plan_sentences(line: ParsedLine, plan: MovePlan) -> list[tuple[str, str]]:
    """Return what the move does: for each thing an icon and a sentence."""
    return [
        *_left_behind_sentences(line, plan),
        *_entered_place_sentences(line, plan),
        *_cost_sentences(plan),
    ]


def _left_behind_sentences(line: ParsedLine, plan: MovePlan) -> Iterator[tuple[str, str]]:
    if plan.work:
        yield "x", f"Running work at {place_name(line, plan.work)} is stopped."
    if plan.closes:
        gates = _joined_with_conjunction([gate_name(line, gate) for gate in plan.closes], "and")
        fallen = singular_or_plural(
            " %(n)s vote no longer counts.", " %(n)s votes no longer count.", plan.votes
        )
        yield "gate", f"The review at {gates} is closed." + (fallen % {"n": plan.votes} if plan.votes else "")


def _entered_place_sentences(line: ParsedLine, plan: MovePlan) -> Iterator[tuple[str, str]]:
    for station, status in plan.places:
        name = place_name(line, station)
        if status == Status.QUEUED:
            yield "status-queued", f"{name} starts."
        elif status != Status.AWAITING_REVIEW:
            yield f"status-{status}", f"It then waits at {name}: {Status(status).label}."
    if plan.end:
        yield "flag", f"It ends: {place_name(line, plan.end)}."
    if plan.gates:
        gates = _joined_with_conjunction([gate_name(line, gate) for gate in plan.gates], "and")
        yield "actor-people", f"People are asked at {gates}."
    if plan.asks:
        yield (
            "arrow-right",
            f"From there it goes to {_joined_with_conjunction([place_name(line, key) for key in plan.asks])}.",
        )


def _cost_sentences(plan: MovePlan) -> Iterator[tuple[str, str]]:
    if plan.cap is not None:
        yield "cost", f"It costs up to ${plan.cap:.2f} more; ${plan.spent:.2f} so far."
    elif plan.spent:
        yield "cost", f"It cost ${plan.spent:.2f} so far; one more run has no limit."


def _joined_with_conjunction(names: Sequence[str], conjunction: str = "or") -> str:
    return f" {conjunction} ".join(part for part in (", ".join(names[:-1]), names[-1]) if part)
