"""Commands for many tasks on pages (law §17): made on a board, planned, started, stopped, and read later."""

from __future__ import annotations

from contextlib import suppress
from uuid import UUID

from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from pipelines.errors import Conflict, Invalid, NotFound
from pipelines.lines import bulk_commands
from pipelines.lines.bulk_commands import BulkRequest, BulkSelection, BulkSummary, Chosen, Match
from pipelines.models import BulkCommand
from pipelines.web.shell.page import (
    SignedInRequest,
    breadcrumbs,
    is_fragment_request,
    render_in_shell,
    sign_in_required,
)
from pipelines.web.tasks.board import board_filters_of_query

LISTED = 50


@sign_in_required
@require_http_methods(["GET", "HEAD", "POST"])
def bulk_commands_page(request: SignedInRequest) -> HttpResponse:
    """List the reader's commands for many tasks; POST makes one, which is planned then."""
    if request.method == "POST":
        return _create_bulk_command(request)
    return render_in_shell(
        request,
        "tasks/bulk_list.html",
        section="tasks",
        trail=breadcrumbs(("Tasks", reverse("tasks-everywhere")), "Bulk commands"),
        commands=bulk_commands.own_bulk_commands_newest_first(request.user)[:LISTED],
    )


@sign_in_required
@require_safe
def bulk_command_page(request: SignedInRequest, bulk: UUID) -> HttpResponse:
    return _render_bulk_summary(request, _visible_bulk_summary(request, _get_command_or_404(request, bulk)))


@sign_in_required
@require_POST
def start_bulk_command(request: SignedInRequest, bulk: UUID) -> HttpResponse:
    command, refusal = _get_command_or_404(request, bulk), ""
    try:
        reason = request.POST.get("reason")
        bulk_commands.start_bulk_command(command, request.user, reason and reason.replace("\0", ""))
    except Conflict as late:
        refusal = late.detail
    except Invalid as fault:
        refusal = str(fault)
    return _bulk_response(request, bulk, refusal)


@sign_in_required
@require_POST
def stop_bulk_command(request: SignedInRequest, bulk: UUID) -> HttpResponse:
    command, refusal = _get_command_or_404(request, bulk), ""
    try:
        bulk_commands.stop_bulk_command(command, request.user)
    except Conflict as late:
        refusal = late.detail
    return _bulk_response(request, bulk, refusal)


def _create_bulk_command(request: SignedInRequest) -> HttpResponse:
    form = request.POST
    _delete_unstarted_plan_of_same_dialog(request)
    bulk_request = BulkRequest(
        form.get("action", ""),
        form.get("to", "") if form.get("action") == BulkCommand.BulkAction.MOVE else "",
        form.get("reason", "").replace("\0", ""),
        bool(form.get("stops")),
    )
    try:
        selection = _requested_selection(request)
        command = bulk_commands.create_bulk_command(request.user, request.user, bulk_request, selection)
    except Invalid as fault:
        return _render_bulk_summary(request, None, str(fault), status=422)
    return _bulk_response(request, command.pk, "")


def _delete_unstarted_plan_of_same_dialog(request: SignedInRequest) -> None:
    """Stop what the same dialog planned before, for another station perhaps, and nobody started."""
    for text in request.POST.getlist("instead")[:1]:
        try:
            command = _get_command_or_404(request, UUID(text))
        except (ValueError, Http404):
            return
        # Started meanwhile, it goes on
        with suppress(Conflict):
            bulk_commands.delete_unstarted_bulk_command(command)


def _requested_selection(request: SignedInRequest) -> BulkSelection:
    form = request.POST
    if form.get("all"):
        # PostgreSQL compares with no NUL
        query = QueryDict(form.get("matching", "").removeprefix("?")[:2_000].replace("%00", ""))
        owner_and_project, _slash, line = form.get("line", "").rpartition("/")
        match = Match(
            owner_and_project or query.get("project", ""),
            line or query.get("line", ""),
            board_filters_of_query(query),
        )
        return bulk_commands.matching_selection(request.user, request.user, match, timezone.now())
    return bulk_commands.named_selection(
        request.user, list(map(_chosen_from_box_text, form.get("chosen", "").splitlines()))
    )


def _chosen_from_box_text(box_text: str) -> Chosen:
    """Read one box: the task, and the id of a position or nothing."""
    name, _space, position = box_text.partition(" ")
    # Any number of 18 digits fits a bigint
    return Chosen(
        name, int(position) if position.isascii() and position.isdigit() and len(position) < 19 else 0
    )


def _get_command_or_404(request: SignedInRequest, bulk: UUID) -> BulkCommand:
    try:
        return bulk_commands.get_bulk_command(request.user, request.user, bulk)
    except NotFound as missing:
        raise Http404 from missing


def _visible_bulk_summary(request: SignedInRequest, command: BulkCommand) -> BulkSummary:
    return bulk_commands.bulk_summary(command, request.user)


def _bulk_response(request: SignedInRequest, bulk: UUID, refusal: str) -> HttpResponse:
    """Answer the part alone in a dialog, or in a page that goes on by itself."""
    if is_fragment_request(request, "bulk"):
        return _render_bulk_summary(
            request, _visible_bulk_summary(request, _get_command_or_404(request, bulk)), refusal
        )
    if refusal:
        return _render_bulk_summary(
            request, _visible_bulk_summary(request, _get_command_or_404(request, bulk)), refusal, status=409
        )
    return redirect("task-bulk-command", bulk)


def _render_bulk_summary(
    request: SignedInRequest, summary: BulkSummary | None, refusal: str = "", status: int = 200
) -> HttpResponse:
    is_part = is_fragment_request(request, "bulk")
    name = summary.command.get_action_display() if summary else "Bulk command"
    above = ("Tasks", reverse("tasks-everywhere")), ("Bulk commands", reverse("task-bulk-commands"))
    return render_in_shell(
        request,
        "tasks/bulk.html#bulk" if is_part else "tasks/bulk.html",
        section="tasks",
        trail=breadcrumbs(*above, name),
        # A part takes the place of another one whatever it says
        status=200 if is_part else status,
        summary=summary,
        refusal=refusal,
        # In the dialog the list is short; the page has all of it
        in_dialog=bool(request.GET.get("dialog")),
    )
