"""Evaluations under a line's versions: past tasks that a station gets again as the draft has it (docs/versions.md)."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from pipelines.errors import Conflict, Forbidden, Invalid, NotFound
from pipelines.lines import evaluations, trials
from pipelines.lines.evaluations import EvaluationRequest
from pipelines.models import Line, StationTrial
from pipelines.queries import versions
from pipelines.queries.evaluations import evaluation_result
from pipelines.routing.basics.hidden_characters import escape_hidden
from pipelines.routing.document.kinds.command import KIND as COMMAND
from pipelines.routing.document.line import DocumentError, ParsedLine, read_line
from pipelines.routing.sentences.names import station_name
from pipelines.web.shell.page import (
    SignedInRequest,
    costly_to_post,
    is_fragment_request,
    line_required,
    require_permission,
    show_line,
)


@line_required("view")
@costly_to_post
@require_http_methods(["GET", "HEAD", "POST"])
def evaluations_page(request: SignedInRequest, line: Line) -> HttpResponse:
    """List what was evaluated; a POST starts another one of the draft."""
    fault = ""
    if request.method == "POST":
        require_permission(request, "publish", line.project)
        try:
            evaluation = evaluations.start_evaluation(
                line, request.user, _requested_evaluation(request, line)
            )
            return redirect(
                "line-evaluation", line.project.owner.key, line.project.key, line.key, evaluation.pk
            )
        except Forbidden as refused:
            raise PermissionDenied from refused
        except (Conflict, Invalid, NotFound) as refused:
            fault = refused.message if isinstance(refused, Invalid) else refused.detail
    rows = evaluations.evaluations_of_line(line)
    drawn = _read_draft_or_none(line)
    return show_line(
        request,
        "versions/evaluations.html",
        line,
        rows=[(row, _station_name_or_key(drawn, row.station)) for row in rows],
        fault=fault,
        status=409 if fault else 200,
        **_form_choices_context(line, drawn, request),
    )


def _requested_evaluation(request: SignedInRequest, line: Line) -> EvaluationRequest:
    form_data = request.POST
    try:
        cost_limit = Decimal(form_data.get("cost_limit", "").strip() or "0")
        last = int(form_data.get("last", ""))
    except (InvalidOperation, ValueError) as fault:
        raise Invalid.at("last", "Give a number of tasks and a cost limit in dollars.") from fault
    station, check = (form_data.get(name, "") for name in ("station", "check"))
    # Decimal reads NaN and Infinity, too
    if not cost_limit.is_finite():
        raise Invalid.at("cost_limit", "Give a cost limit in dollars.")
    return EvaluationRequest(line.draft, station, cost_limit, check, last)


def _read_draft_or_none(line: Line) -> ParsedLine | None:
    try:
        return read_line(line.draft, keep_faulty_rules=True)
    except (DocumentError, Invalid):
        return None


def _form_choices_context(line: Line, drawn: ParsedLine | None, request: SignedInRequest) -> dict[str, Any]:
    """Return what the form offers: the stations that the draft changes first."""
    if drawn is None:
        return {"readable": False, "accepted": False}
    live = versions.parsed_line_by_version_id(line.live_id).stations_by_key if line.live_id else {}
    offered = [station for station in evaluations.evaluable_stations(drawn) if station.key in live]
    # What the draft changes is what somebody wants to evaluate
    changed = {station.key for station in offered if station.work != live[station.key].work}
    offered.sort(key=lambda station: station.key not in changed)
    chosen = request.POST.get("station") or (offered[0].key if offered else "")
    stations = [
        (station.key, f"{station.name} (changed in the draft)" if station.key in changed else station.name)
        for station in offered
    ]
    commands = [(station.key, station.name) for station in offered if station.kind == COMMAND.key]
    return {
        "readable": True,
        "stations": stations,
        "checks": [("", "No check"), *commands],
        "station": chosen,
        "check": request.POST.get("check") or evaluations.usual_check_station_or_empty(line, drawn, chosen),
        "last": request.POST.get("last") or evaluations.USUAL_TASKS,
        "most": evaluations.MOST_TASKS,
        "cost_limit": request.POST.get("cost_limit") or "5.00",
        "accepted": bool(chosen) and evaluations.first_accepted_runs_newest_first(line, chosen).exists(),
    }


@line_required("view")
@require_safe
def evaluation_page(request: SignedInRequest, line: Line, evaluation: int) -> HttpResponse:
    """`?run=`: the run whose difference is shown. `?fragment=rows`: the table alone, while it runs."""
    # Beyond a bigint PostgreSQL answers with an error and not with nothing
    row = evaluations.get_evaluation(line, min(evaluation, 2**63 - 1))
    result, drawn = evaluation_result(row), read_line(row.document, keep_faulty_rules=True)
    template = (
        "versions/evaluation/rows.html"
        if is_fragment_request(request, "rows")
        else "versions/evaluation.html"
    )
    return show_line(
        request,
        template,
        line,
        evaluation=row,
        result=result,
        station=_station_name_or_key(drawn, row.station),
        check=_station_name_or_key(drawn, row.check_station) if row.check_station else "",
        tasks=[
            (
                task,
                escape_hidden(task.source.task.title) if task.source else "",
                trials.ENDED.get(task.trial.why, ""),
            )
            for task in result.tasks
        ],
        run=_chosen_run_context_or_none(row.pk, request.GET.get("run", "")),
    )


def _chosen_run_context_or_none(evaluation: int, run: str) -> dict[str, Any] | None:
    """Return the difference and the log of a run, each line with its look. Raises Http404."""
    if not run:
        return None
    # 18 digits fit into a bigint; more would be an error of the database.
    number = int(run) if run.isascii() and run.isdigit() and len(run) < 19 else 0
    trial = StationTrial.objects.filter(evaluation=evaluation, pk=number).first()
    if trial is None:
        raise Http404
    kinds = {"+": "added", "-": "removed", "@": "hunk"}
    lines = [
        {
            # The lines that name a file begin as changed ones do
            "kind": "hunk" if text.startswith(("--- ", "+++ ")) else kinds.get(text[:1], "same"),
            "text": text,
        }
        # An agent wrote it: hidden characters could make it read otherwise
        for text in escape_hidden(trial.difference).splitlines()
    ]
    log = [escape_hidden(line.partition("\t")[2]) for line in trial.log.splitlines()]
    return {"id": trial.pk, "lines": lines, "log": "\n".join(log)}


@line_required("publish")
@require_POST
def stop_evaluation(request: SignedInRequest, line: Line, evaluation: int) -> HttpResponse:
    row = evaluations.stop_evaluation(line, request.user, min(evaluation, 2**63 - 1))
    return redirect("line-evaluation", line.project.owner.key, line.project.key, line.key, row.pk)


def _station_name_or_key(drawn: ParsedLine | None, key: str) -> str:
    return station_name(drawn, key) if drawn else key
