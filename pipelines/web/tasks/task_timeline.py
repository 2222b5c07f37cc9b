"""Timeline of one task on its page, and the moment of its past that is shown with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import SplitResult, urlencode, urlsplit

from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect
from django_htmx.http import HttpResponseClientRedirect

from pipelines.queries.task_view import TaskView
from pipelines.queries.visit_rows import task_timeline_view
from pipelines.templatetags.time_axis import TimeAxis
from pipelines.web.shell.page import SignedInRequest, render_in_shell
from pipelines.web.tasks.tables import page_number_or_default
from pipelines.web.tasks.task_moment import DisplayedMoment, displayed_moment, moment_numbers
from pipelines.web.tasks.task_path import policy_endings, task_path_json_text


def timeline_context(view: TaskView, query: QueryDict) -> dict[str, Any]:
    """Return the rows of the timeline, its axis, and the requested moment, None where it is now."""
    steps = moment_numbers(view.events)
    number = requested_number(query, steps)
    moment = displayed_moment(view, number) if number else None
    timeline, ended_at = task_timeline_view(view), view.task.ended_at
    axis = (
        TimeAxis(timeline.begin, ended_at)
        if ended_at
        else TimeAxis.axis_from_begin_to_now(timeline.begin, view.now)
    )
    step = moment.step if moment else len(steps)
    return {
        "timeline": timeline,
        "axis": axis,
        "cursor": moment.at if moment else None,
        "moment": moment,
        "steps": len(steps),
        "step": step,
        "earlier": steps[step - 2] if step > 1 else 0,
        "later": steps[step] if step < len(steps) else 0,
        "drawn": moment.view.task.pinned_id if moment else view.task.pinned_id,
    }


def requested_number(query: QueryDict, steps: Sequence[int]) -> int:
    """Return the last event of the moment that an address names: by `at`, the number of an event, or by `step`, its
    place among the moments, as the slider has it. 0 is now: what names none, or the last one."""
    number = page_number_or_default(query.get("at"), 0)
    if "step" in query:
        step = page_number_or_default(query.get("step"), 0)
        number = steps[step - 1] if 0 < step <= len(steps) else 0
    return next((step for step in steps[:-1] if 0 < number <= step), 0)


def moment_redirect(request: SignedInRequest, view: TaskView) -> HttpResponse:
    """Lead from a place of the slider to the address of its moment, for browsers without scripts."""
    number = requested_number(request.GET, moment_numbers(view.events))
    return redirect(f"{moment_address(request, number)}#timeline")


def moment_part(request: SignedInRequest, view: TaskView) -> HttpResponse:
    """Show the moment of `?step=`, with the way taken so far; a drawing of another version is loaded with its page."""
    view.read_rows()
    context = timeline_context(view, request.GET)
    moment = context["moment"]
    if str(context["drawn"]) != request.GET.get("drawn", str(context["drawn"])):
        address = moment_address(request, moment.number if moment else 0)
        return HttpResponseClientRedirect(f"{address}#timeline")
    if moment is None:
        context["path"] = task_path_json_text(view, policy_endings(view))
    part = render_in_shell(
        request, "tasks/task/moment_renewed.html", project=view.task.project, task=view.task, **context
    )
    return name_moment(request, part, moment)


def name_moment(
    request: SignedInRequest, response: HttpResponse, moment: DisplayedMoment | None
) -> HttpResponse:
    """Let the address of the page name the moment that the response shows, where it does not yet."""
    current, address = _current_page_or_none(request), moment_address(request, moment.number if moment else 0)
    if current and address != current.path + (f"?{current.query}" if current.query else ""):
        response["HX-Replace-Url"] = address
    return response


def moment_address(request: SignedInRequest, number: int) -> str:
    """Return the address of the page at this moment, 0 for now, with what it names besides: a tab, a station, a
    decision."""
    current = _current_page_or_none(request)
    names = QueryDict(current.query).items() if current else ()
    other = {name: value for name, value in names if name not in ("at", "step", "fragment")}
    query = urlencode(other | ({"at": number} if number else {}))
    return request.path + (f"?{query}" if query else "")


def _current_page_or_none(request: SignedInRequest) -> SplitResult | None:
    """Return the address in the bar of the browser, None where it is not told, or another page's."""
    try:
        current = urlsplit(request.headers.get("HX-Current-URL", ""))
    except ValueError:
        return None
    return current if current.path == request.path else None
