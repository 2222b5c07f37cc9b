"""Page of one task: facts, its path, history, why it is here, log, outputs, artifacts and events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from pipelines.engine.commands import linked_tasks
from pipelines.engine.commands.supply_preconditions import fields_for_missing_metadata
from pipelines.engine.core.unassigned import UNLEASED
from pipelines.models import ENDED, Decision, HostLink, Job, Project, Purpose, Retention, Status, Task, Token
from pipelines.ports.vault.value_lookup import ValueScope
from pipelines.queries import usage
from pipelines.queries.environment_preparation import PreparationProgress
from pipelines.queries.failure_causes import has_failed_station_run
from pipelines.queries.failures import FailureReason, failure_reason_by_task
from pipelines.queries.observed_facts import FactRow, LimitRow, latest_fact_rows, limit_rows
from pipelines.queries.pauses import pause_views_of_task
from pipelines.queries.positions import PositionView
from pipelines.queries.task_branch import (
    DeliveryReceipt,
    pushes_by_people,
    receipts_of_task,
    task_branch_or_none,
)
from pipelines.queries.task_view import TaskView
from pipelines.queries.unmerged import has_unmerged_change
from pipelines.queries.unresolved_findings import unresolved_findings_of_runs
from pipelines.queries.usage import Spending
from pipelines.queries.why import DecisionExplanation, explain_decision
from pipelines.routing.basics.hidden_characters import escape_hidden
from pipelines.routing.document.line import ParsedLine
from pipelines.routing.sentences.names import station_name
from pipelines.web.lines.drawing import drawing_of_version
from pipelines.web.lines.guarantees import first_gate_guarantee_id_or_empty
from pipelines.web.lines.overview import RuleSummary, fallback_text, rule_summary, work_text
from pipelines.web.shell.etags import HERE, conditional_response
from pipelines.web.shell.page import (
    SignedInRequest,
    is_fragment_request,
    render_in_shell,
    task_breadcrumbs,
    task_required,
)
from pipelines.web.tasks.decision_notices import current_messages, moving_if_at_work_else_status
from pipelines.web.tasks.escalation_cards import (
    escalation_trigger_choices,
    open_deadlock_cards,
    open_escalation_cards,
)
from pipelines.web.tasks.start import StartField, start_fields
from pipelines.web.tasks.steps import StepsView, preset_and_allowed_or_none, steps_view_or_none
from pipelines.web.tasks.tables import page_number_or_default
from pipelines.web.tasks.task_path import policy_endings, task_path_json_text
from pipelines.web.tasks.task_tabs import job_with_log_to_show_or_none, tab_context
from pipelines.web.tasks.task_timeline import moment_part, moment_redirect, name_moment, timeline_context
from pipelines.web.tasks.tombstone import tombstone_page
from pipelines.work import logs
from pipelines.work.logs import LogPart

LIVE_TABS = ("steps", "log")
TABS = (*LIVE_TABS, "changes", "outputs", "artifacts", "events")
WORKING = (Status.QUEUED, Status.RUNNING, Status.EVALUATING, Status.BLOCKED, Status.HELD)


@task_required("view", shows_purged=True)
@require_safe
def task_page(request: SignedInRequest, task: Task) -> HttpResponse:
    if task.is_purged:
        return tombstone_page(request, task)
    view = TaskView(task, timezone.now())
    if "step" in request.GET and "fragment" not in request.GET:
        return moment_redirect(request, view)
    if is_fragment_request(request, "live"):
        return _live_part(request, task.project, view)
    if is_fragment_request(request, "moment"):
        return moment_part(request, view)
    if is_fragment_request(request, "steps"):
        return _more_steps_part(request, task.project, view)
    if is_fragment_request(request, "preparing"):
        return _preparing_part(request, task.project, view)
    if is_fragment_request(request, "station"):
        return _station_drawer_part(request, task.project, view)
    if not is_fragment_request(request, "tab"):
        # A tab that is opened alone needs only its own rows.
        view.read_rows()
    tab = request.GET.get("tab", "")
    context = tab_context(request, view, tab if tab in TABS else _default_tab(view))
    if is_fragment_request(request, "tab"):
        return render_in_shell(request, "tasks/task.html#panel", project=task.project, **context)
    keys = (task.project.owner.key, task.project.key)
    key = request.GET.get("station", "")
    return render_in_shell(
        request,
        "tasks/task.html",
        project=task.project,
        section="tasks",
        trail=task_breadcrumbs(task),
        live_project="/".join(keys),
        live_task=task.name,
        drawer=station_drawer(view, key) if key else None,
        messages=current_messages(request, task.status),
        **(context | _live_part_context(request, view)),
    )


def _default_tab(view: TaskView) -> str:
    """Steps, where the job that matters now is an agent's."""
    job = job_with_log_to_show_or_none(view.jobs)
    return "steps" if job is not None and preset_and_allowed_or_none(job) else "log"


def _more_steps_part(request: SignedInRequest, project: Project, view: TaskView) -> HttpResponse:
    """The steps before `?before=`, or what came since `?from=`; nothing where nothing was written since."""
    job = _get_job_or_404(view.task, request.GET.get("job", ""))
    # Whatever the address says, one of the attempts that there were
    attempt = min(max(page_number_or_default(request.GET.get("attempt"), job.attempt), 1), job.attempt)
    before = page_number_or_default(request.GET.get("before"), 0)
    start = None if before else page_number_or_default(request.GET.get("from"), 0)
    steps = steps_view_or_none(job, attempt, start=start, end=before or None)
    if steps is None:
        raise Http404
    # Nothing was written since: 204 leaves the page as it is.
    if not before and not steps.complete and request.GET.get("seen") == str(steps.next):
        return HttpResponse(status=204)
    within = "drawer" if request.GET.get("within") == "drawer" else ""
    return render_in_shell(
        request,
        "tasks/task/steps_more.html",
        project=project,
        task=view.task,
        job=job,
        attempt=attempt,
        told=steps,
        before=before,
        from_step=start is not None,
        within=within,
        # What stands below the steps belongs to the tab.
        again=not before and not within,
    )


def _preparing_part(request: SignedInRequest, project: Project, view: TaskView) -> HttpResponse:
    """Show the preparation of a run, as far as it is; once that is over nothing, and the page is loaded anew."""
    job = _get_job_or_404(view.task, request.GET.get("job", ""))
    made = view.preparing.get(job.pk)
    where = "drawer" if request.GET.get("within") == "drawer" else ""
    context: dict[str, Any] = {
        "task": view.task,
        "made": made,
        "station": station_name(view.line, job.station),
        "within": where,
    }
    response = render_in_shell(request, "tasks/task/preparing.html", project=project, **context)
    began = made is not None and made.since is not None
    if began != (request.GET.get("began") == "yes"):
        response["HX-Trigger"] = f"gl:task-{view.task.name}"
    return response


def _station_drawer_part(request: SignedInRequest, project: Project, view: TaskView) -> HttpResponse:
    """The open drawer of a station; steps or log of the run that it shows go on by themselves."""
    current_run = request.GET.get("shown", "")
    drawer = station_drawer(view, request.GET.get("station", ""), current_run)
    return render_in_shell(
        request,
        "tasks/task/drawer_renewed.html",
        project=project,
        task=view.task,
        drawer=drawer,
        same=drawer.run_and_attempt_key == current_run,
        line_url=_line_url(view.task),
    )


def _live_part(request: SignedInRequest, project: Project, view: TaskView) -> HttpResponse:
    """Show the parts that a hint renews, and the tab beside them, where its run is another one than `shown`;
    of the same run the lines go on by themselves, and only the part above them is sent. Nothing where all
    is as it was."""
    view.read_rows()
    context, tab = _live_part_context(request, view), request.GET.get("tab", "")
    if tab in LIVE_TABS:
        context = tab_context(request, view, tab) | context
        context["same"] = bool(context.get("shown")) and context["shown"] == request.GET.get("shown")
    context = {"tab": "", **context, "again": True, "etag_here": HERE}
    part = render_in_shell(request, "tasks/task.html#live", project=project, **context)
    return name_moment(request, conditional_response(request, part), context["moment"])


def _live_part_context(request: SignedInRequest, view: TaskView) -> dict[str, Any]:
    """The part of the page that hints bring anew."""
    task, line = view.task, view.line
    endings = policy_endings(view)
    timeline = timeline_context(view, request.GET)
    moment = timeline["moment"]
    pauses = pause_views_of_task(view.pauses, line)
    places = {place.token.station for place in view.positions}
    return {
        "task": task,
        "pauses": pauses,
        "paused_here": any(pause.own for pause in pauses),
        "paused": any(not row.station or row.station in places for row in view.pauses),
        "view": view,
        "drawing": moment.drawing if moment else drawing_of_version(task.pinned, task.project_id, endings),
        "path": task_path_json_text(view, endings),
        "line_url": _line_url(task),
        "why": view.explain_decision_or_last(request.GET.get("move", "")),
        "move": request.GET.get("move", "")[:64],
        "ended": task.status in ENDED,
        "standing": moving_if_at_work_else_status(task.status),
        "escalations": open_escalation_cards(task, request.user),
        "deadlocks": open_deadlock_cards(task, request.user),
        "triggers": escalation_trigger_choices(line),
        "supplies": [
            (token.pk, fields) for token in view.tokens if (fields := missing_metadata_fields(line, token))
        ],
        "failure": failure_reason_or_none(task),
        "unmerged": has_unmerged_change(task),
        "leftovers": unresolved_findings_of_runs(task, view.jobs),
        "branch": task_branch_or_none(task) if line.workspace else None,
        "pushes": pushes_by_people(task) if line.workspace else [],
        # What an issue started has no person who asked for it.
        "issues": [] if task.requester_id else list(task.host_links.filter(kind=HostLink.LinkKind.ISSUE)),
        "receipts": delivery_receipts(task, line) if line.workspace else [],
        "guarded": first_gate_guarantee_id_or_empty(line),
        "observed": latest_fact_rows(line, view.jobs),
        "ahead": _next_steps(view),
        **timeline,
        **retry_context(task, view),
    }


def _line_url(task: Task) -> str:
    keys = (task.project.owner.key, task.project.key)
    return reverse("line-version", args=[*keys, task.line.key, task.pinned.number])


@dataclass(frozen=True, slots=True)
class NextSteps:
    """Possible next steps of one token, and what is left of the limits there."""

    station: str
    rules: list[RuleSummary]
    otherwise: str
    limits: list[LimitRow]


def _next_steps(view: TaskView) -> list[NextSteps]:
    """Return the next steps of each token that works, or is about to; at a gate the review says it."""
    line, task = view.line, view.task
    month = usage.spending_of_month(task.project_id) if task.project.month_cost_usd is not None else None
    upcoming = []
    for place in view.positions:
        station = line.stations_by_key.get(place.token.station)
        if station is not None and place.token.status in WORKING:
            # The time of a run begins once its environment is there.
            job = None if place.preparing else place.job
            left = limit_rows(line, place.token, job, view.spending, month, view.now)
            rule_texts = [rule_summary(line, number, rule) for number, rule in enumerate(station.rules, 1)]
            upcoming.append(NextSteps(station.name, rule_texts, fallback_text(line, station), left))
    return upcoming


def delivery_receipts(task: Task, line: ParsedLine) -> list[DeliveryReceipt]:
    """Return the receipts with the names of their gates."""
    names = {gate.key: gate.name for gate in line.gates}
    return [
        replace(receipt, gate=names.get(receipt.gate, receipt.gate)) for receipt in receipts_of_task(task)
    ]


def failure_reason_or_none(task: Task) -> FailureReason | None:
    """Return the explanation of a failed task: its own reason, else the last message of its last station."""
    if task.reason or task.status != Status.FAILED:
        return FailureReason(task.reason) if task.reason else None
    return failure_reason_by_task([task.pk]).get(task.pk)


def retry_context(task: Task, view: TaskView) -> dict[str, Any]:
    """Return key and name of the stations at which an ended task can be retried, and the one that is meant: which
    failed last, else the last one."""
    # Without its files nothing can be repeated
    can_repeat = task.status in ENDED and task.retention == Retention.ALL
    keys = linked_tasks.retryable_station_keys(task) if can_repeat else []
    failed = [job for job in view.jobs if has_failed_station_run(job) and job.station in keys]
    meant = max(failed, key=lambda job: job.pk).station if failed else next(iter(keys), "")
    return {"retry_from": [(key, station_name(view.line, key)) for key in keys], "retry_at": meant}


def missing_metadata_fields(line: ParsedLine, token: Token) -> list[StartField]:
    """The fields for the metadata that a held token waits for."""
    return start_fields(
        fields_for_missing_metadata(line, token),
        None,
        (),
        "metadata",
        str(token.pk),
        ValueScope.scope_of_task(token.task),
    )


@task_required("view")
@require_safe
def log_lines_part(request: SignedInRequest, task: Task) -> HttpResponse:
    """More of a log: the lines from byte `from` on, and the row that will ask again while there may be more."""
    job = _get_job_or_404(task, request.GET.get("job", ""))
    attempt = page_number_or_default(request.GET.get("attempt"), job.attempt)
    piece = logs.read_log_part(job, attempt, page_number_or_default(request.GET.get("from"), 0))
    return render_in_shell(
        request,
        "tasks/task/log_lines.html",
        project=task.project,
        task=task,
        job=job,
        attempt=attempt,
        piece=piece,
    )


def _get_job_or_404(task: Task, job_id: str) -> Job:
    # 18 digits fit into a bigint; more would be an error of the database.
    plain = job_id.isascii() and job_id.isdigit() and len(job_id) < 19
    job = Job.objects.filter(task=task, pk=int(job_id)).first() if plain else None
    if job is None:
        raise Http404
    return job


@task_required("view")
@require_safe
def download_log(request: SignedInRequest, task: Task) -> StreamingHttpResponse:
    job = _get_job_or_404(task, request.GET.get("job", ""))
    attempt = page_number_or_default(request.GET.get("attempt"), job.attempt)
    name = f"{task.name}-{job.station}-{job.visit}.{attempt}.log"
    return _download_response(
        map(escape_hidden, logs.read_log_text(job, attempt)), "text/plain; charset=utf-8", name
    )


def _download_response(pieces: Any, media: str, name: str) -> StreamingHttpResponse:
    response = StreamingHttpResponse(pieces, content_type=media)
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    response["X-Content-Type-Options"] = "nosniff"
    return response


# The drawer of one station of a task: its runs, what the last one did, what was observed, and why it went on.


LINES = 60
RUNS = 50


@dataclass(frozen=True, slots=True)
class StationRun:
    job: Job
    spending: Spending


@dataclass(frozen=True, slots=True)
class StationDrawer:
    """`told`: the steps of the last run, of an agent; of others `piece`, the end of its log, where it writes one.
    `run_and_attempt_key` names that run. `more`: how many runs are not listed."""

    key: str
    name: str
    does: str
    runs: Sequence[StationRun]
    more: int
    last: Job | None
    told: StepsView | None
    piece: LogPart | None
    facts: Sequence[FactRow]
    why: DecisionExplanation | None
    movable: PositionView | None
    made: PreparationProgress | None = None

    @property
    def run_and_attempt_key(self) -> str:
        return f"{self.last.pk}.{self.last.attempt}" if self.last else ""


def station_drawer(view: TaskView, key: str, current_run: str = "") -> StationDrawer:
    """Return the drawer of a station. Steps and log of the run `current_run`, already on the page, are not
    read: they go on by themselves. Raises Http404: the line has no such station."""
    station = view.line.stations_by_key.get(key)
    if station is None:
        raise Http404
    jobs = [job for job in view.jobs if job.station == key and job.purpose == Purpose.STATION]
    last = jobs[-1] if jobs else None
    anew = last if last and f"{last.pk}.{last.attempt}" != current_run else None
    steps = steps_view_or_none(anew, anew.attempt) if anew else None
    writes = anew is not None and steps is None and anew.kind not in UNLEASED
    piece = logs.read_log_tail(anew, anew.attempt, LINES) if anew and writes else None
    decided = (
        Decision.objects.filter(job_id=last.pk).order_by("-at", "-pk").select_related("pinned")
        if last
        else None
    )
    decision = decided.first() if decided is not None else None
    places = [
        position
        for position in view.positions
        if position.token.station == key and position.is_movable_by_hand
    ]
    return StationDrawer(
        key,
        station.name,
        work_text(station),
        [StationRun(job, usage.reported_spending(job.outcome)) for job in reversed(jobs[-RUNS:])],
        max(0, len(jobs) - RUNS),
        last,
        steps,
        piece,
        latest_fact_rows(view.line, [last] if last else []),
        explain_decision(decision, view.gate_visits) if decision else None,
        places[0] if places else None,
        view.preparing.get(last.pk) if last else None,
    )
