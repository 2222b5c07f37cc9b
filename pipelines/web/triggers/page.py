"""Triggers of a line: list, form, pause, trial, log; and all of a project."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from pipelines.errors import Conflict, Invalid, first_row_or_raise_not_found
from pipelines.lines import triggers
from pipelines.models import Line, Project, Trigger
from pipelines.ports import clock
from pipelines.queries import triggers as queries
from pipelines.queries import versions
from pipelines.routing.document.line import Problem
from pipelines.web.shell.page import (
    Permissions,
    SignedInRequest,
    costly_to_post,
    line_required,
    project_breadcrumb,
    project_required,
    render_in_shell,
    show_line,
)
from pipelines.web.tasks import uploads
from pipelines.web.triggers import schedule_form
from pipelines.web.triggers.cards import delivery_row, trigger_card
from pipelines.web.triggers.forms import FIRST, FORMS
from pipelines.web.triggers.shared_form import Typed
from pipelines.work.hosts import standard_webhooks
from pipelines.work.triggers import starting
from pipelines.work.triggers.table import KINDS

LOG_ROWS = 50


@line_required("view")
@require_safe
def triggers_page(request: SignedInRequest, line: Line) -> HttpResponse:
    return _triggers_page(request, line)


@project_required("view")
@require_safe
def project_triggers_page(request: SignedInRequest, project: Project) -> HttpResponse:
    now = clock.now()
    cards = [trigger_card(row, now) for row in queries.trigger_rows(queries.triggers_of_project(project), 1)]
    trail = project_breadcrumb(project, "Triggers")
    return render_in_shell(
        request, "triggers/project.html", project=project, section="lines", trail=trail, cards=cards
    )


@project_required("submit")
@require_safe
def choose_line_of_new(request: SignedInRequest, project: Project) -> HttpResponse:
    """Choose the line of a new trigger; of only one there is nothing to choose. The address goes along to the form."""
    lines = list(Line.objects.filter(project=project, live__isnull=False, archived_at=None).order_by("name"))
    query = f"?{request.GET.urlencode()}" if request.GET else ""
    if len(lines) == 1:
        return redirect(reverse("trigger-new", args=[project.owner.key, project.key, lines[0].key]) + query)
    noun = FORMS[_requested_kind(request)].noun
    trail = project_breadcrumb(project, f"New {noun}")
    return render_in_shell(
        request,
        "triggers/choose.html",
        project=project,
        section="lines",
        trail=trail,
        lines=lines,
        query=query,
        noun=noun,
    )


@line_required("submit")
@costly_to_post
@require_http_methods(["GET", "HEAD", "POST"])
def new_trigger_page(request: SignedInRequest, line: Line) -> HttpResponse:
    """`?kind=webhook`: of this kind, else a schedule."""
    kind = _requested_kind(request)
    if request.method != "POST":
        typed = FORMS[kind].fresh(line, request.user, request.GET.dict())
        return _form_page(request, line, kind, typed, [], is_fresh=True)
    return _save_form(request, line, kind, None)


@line_required("submit")
@costly_to_post
@require_http_methods(["GET", "HEAD", "POST"])
def edit_trigger_page(request: SignedInRequest, line: Line, line_trigger: int) -> HttpResponse:
    trigger = _get_trigger(line, line_trigger)
    if request.method != "POST":
        typed = FORMS[trigger.kind].stored(trigger)
        return _form_page(request, line, trigger.kind, typed, [], trigger)
    return _save_form(request, line, trigger.kind, trigger)


@line_required("submit")
@costly_to_post
@require_POST
def example_fragment(request: SignedInRequest, line: Line) -> HttpResponse:
    """Show what the paths of the form find in the body that is pasted there, or in the latest task of another line."""
    typed = request.POST.dict()
    form = FORMS.get(typed.get("kind", ""), FORMS["webhook"])
    context = {"line": line, "project": line.project, **form.example_of(line, typed)}
    return render(request, "triggers/_example.html", context)


@line_required("submit")
@costly_to_post
@require_POST
def rotate_secret(request: SignedInRequest, line: Line, line_trigger: int) -> HttpResponse:
    """Change the secret of a webhook, and show the new one this once."""
    trigger = _get_trigger(line, line_trigger)
    # An empty request changes nothing.
    if "sure" not in request.POST:
        return _redirect_to_trigger(line, trigger)
    typed = request.POST.get("secret", "").strip()
    secret = typed or standard_webhooks.new_secret()
    try:
        triggers.rotate_trigger_secret(trigger, secret, at_once="at_once" in request.POST, by=request.user)
    except (Invalid, Conflict) as refused:
        messages.error(request, refused.message if isinstance(refused, Invalid) else refused.detail)
        return _redirect_to_trigger(line, trigger)
    if typed:
        messages.success(request, "Saved the new secret")
        return _redirect_to_trigger(line, trigger)
    return _triggers_page(request, line, connected=trigger, new_secret=secret)


@line_required("submit")
@require_safe
def next_runs(request: SignedInRequest, line: Line) -> HttpResponse:
    """Show what the form would start before it is saved."""
    preview = schedule_form.schedule_preview(request.GET.dict(), clock.now())
    return render(request, "triggers/_next_runs.html", {"preview": preview})


@line_required("submit")
@require_POST
def pause_trigger(request: SignedInRequest, line: Line, line_trigger: int) -> HttpResponse:
    trigger, paused = _get_trigger(line, line_trigger), request.POST.get("paused")
    # An empty request changes nothing.
    if paused in ("yes", "no"):
        try:
            triggers.set_paused(trigger, paused == "yes", by=request.user)
        except Conflict as archived:
            messages.error(request, archived.detail)
        else:
            messages.success(request, "Paused" if paused == "yes" else "Resumed")
    return _redirect_to_trigger(line, trigger)


@line_required("submit")
@costly_to_post
@require_POST
def try_out_trigger(request: SignedInRequest, line: Line, line_trigger: int) -> HttpResponse:
    """Say what would be started now, and start nothing."""
    trigger = _get_trigger(line, line_trigger)
    tried = starting.try_out_and_undo(trigger)
    may = Permissions(request.user, line.project)
    return render(
        request, "triggers/_tried.html", {"tried": tried, "line": line, "project": line.project, "may": may}
    )


@line_required("submit")
@require_POST
def delete_trigger(request: SignedInRequest, line: Line, line_trigger: int) -> HttpResponse:
    trigger = _get_trigger(line, line_trigger)
    if "sure" not in request.POST:
        return _redirect_to_trigger(line, trigger)
    triggers.delete_trigger(trigger, by=request.user)
    messages.success(request, f"Deleted: {triggers.trigger_name(trigger)}")
    return redirect("line-triggers", line.project.owner.key, line.project.key, line.key)


@line_required("view")
@require_safe
def deliveries_page(request: SignedInRequest, line: Line, line_trigger: int) -> HttpResponse:
    """Show the deliveries of a trigger, the newest first. `?before=7`: those before this one."""
    trigger = _get_trigger(line, line_trigger)
    before = request.GET.get("before", "")
    deliveries = trigger.deliveries.select_related("task__project").order_by("-pk")
    if before.isascii() and before.isdigit() and len(before) < 19:
        deliveries = deliveries.filter(pk__lt=int(before))
    rows = [delivery_row(delivery, trigger) for delivery in deliveries[: LOG_ROWS + 1]]
    return show_line(
        request,
        "triggers/log.html",
        line,
        trigger=trigger,
        by_clock=KINDS[trigger.kind].clock is not None,
        of_tasks=KINDS[trigger.kind].has_source,
        words=triggers.trigger_name(trigger),
        rows=rows[:LOG_ROWS],
        older=rows[LOG_ROWS - 1].delivery.pk if len(rows) > LOG_ROWS else None,
        days=triggers.RETENTION.days,
    )


def _get_trigger(line: Line, pk: int) -> Trigger:
    return first_row_or_raise_not_found(queries.triggers_of_line(line).filter(pk=pk))


def _redirect_to_trigger(line: Line, trigger: Trigger) -> HttpResponse:
    address = reverse("line-triggers", args=[line.project.owner.key, line.project.key, line.key])
    return redirect(f"{address}#trigger-{trigger.pk}")


def _requested_kind(request: SignedInRequest) -> str:
    """Return the kind that the address names, a schedule where it names none."""
    kind = request.GET.get("kind", FIRST)
    return kind if kind in FORMS else FIRST


def _triggers_page(
    request: SignedInRequest, line: Line, connected: Trigger | None = None, new_secret: str = ""
) -> HttpResponse:
    """`new_secret`: the new secret of a trigger, on the page itself: a message would go before anybody copied it."""
    now = clock.now()
    cards = [trigger_card(row, now) for row in queries.trigger_rows(queries.triggers_of_line(line))]
    return show_line(
        request,
        "triggers/line.html",
        line,
        cards=cards,
        connected=next((card for card in cards if card.trigger == connected), None),
        new_secret=new_secret,
    )


def _save_form(request: SignedInRequest, line: Line, kind: str, trigger: Trigger | None) -> HttpResponse:
    """Save the form, and go to the list; or show it again with what is wrong."""
    if line.live is None:
        return _form_page(request, line, kind, request.POST.dict(), [], trigger)
    typed, problems = uploads.store_uploads_and_return_fields_and_problems(
        request, line.project, versions.parsed_version(line.live).inputs, "inputs"
    )
    try:
        if problems:
            raise Invalid(problems)
        trigger_request = FORMS[kind].request_of(line, typed)
        if trigger is None:
            saved = triggers.add_trigger(line, kind, trigger_request, by=request.user)
        else:
            saved = triggers.change_trigger(trigger, trigger_request, by=request.user)
    except Invalid as fault:
        return _form_page(request, line, kind, typed, list(fault.problems), trigger)
    except Conflict as refused:
        return _form_page(request, line, kind, typed, [Problem("", refused.detail)], trigger)
    if trigger is None and KINDS[kind].has_address and not typed.get("secret", "").strip():
        return _triggers_page(request, line, connected=saved, new_secret=trigger_request.secret)
    messages.success(request, "Saved")
    return _redirect_to_trigger(line, saved)


def _form_page(
    request: SignedInRequest,
    line: Line,
    kind: str,
    typed: Typed,
    problems: list[Problem],
    trigger: Trigger | None = None,
    *,
    is_fresh: bool = False,
) -> HttpResponse:
    form = FORMS[kind]
    return show_line(
        request,
        form.template,
        line,
        status=422 if request.method == "POST" else 200,
        trigger=trigger,
        noun=form.noun,
        **form.context_of(line, request.user, typed, problems, is_fresh=is_fresh),
    )
