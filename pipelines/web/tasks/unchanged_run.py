"""A command that failed, without the change of its task: whether it failed before, as a recorded run says, or one of
the station by itself that is started here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db.models import Q
from django.http import HttpResponse
from django.views.decorators.http import require_http_methods

from pipelines import access
from pipelines.errors import Conflict, Forbidden, Invalid, NotFound
from pipelines.lines import trials
from pipelines.lines.trials import TrialRequest
from pipelines.models import Delivery, Job, StationTrial, Task, User, VisitCommit
from pipelines.queries import versions
from pipelines.queries.failure_causes import has_failed_station_run
from pipelines.queries.observed_facts import fact_groups, tests_words
from pipelines.routing.basics.hidden_characters import escape_hidden
from pipelines.routing.basics.outcome import derived_outcome, read_outcome
from pipelines.routing.document.kinds.command import KIND as COMMAND
from pipelines.routing.sentences.names import station_name
from pipelines.web.shell.page import (
    SignedInRequest,
    costly_to_post,
    render_in_shell,
    require_permission,
    task_required,
)
from pipelines.work.transport.local.trials import OPEN


@dataclass(frozen=True)
class UnchangedRun:
    """`recorded`: a run of the station on the files with which the task began; `trial`: the reader's own run of it on
    the branch as it is now. `refusal`: why none was started, else ""."""

    job: Job
    commit: VisitCommit
    recorded: Job | None
    trial: StationTrial | None
    may_start: bool
    refusal: str

    @property
    def station(self) -> str:
        return station_name(versions.parsed_line_by_version_id(self.job.pinned_id), self.job.station)

    @property
    def branch(self) -> str:
        return escape_hidden(self.commit.base_branch)

    @property
    def nothing_changed(self) -> bool:
        return self.commit.head == self.commit.base

    @property
    def recorded_title(self) -> str:
        passed = self.recorded is not None and self.recorded.result == "success"
        return "Passed before the change" if passed else "Failed before the change too"

    @property
    def recorded_counts(self) -> str:
        return _fact_counts_text(self.recorded.outcome) if self.recorded else ""

    @property
    def is_running(self) -> bool:
        return self.trial is not None and self.trial.state in OPEN

    @property
    def trial_title(self) -> str:
        outcome = self.trial.outcome if self.trial else None
        passed = outcome is not None and derived_outcome(read_outcome(outcome)).result == "success"
        return "Passes without the change" if passed else "Fails without the change too"

    @property
    def trial_counts(self) -> str:
        return _fact_counts_text(self.trial.outcome) if self.trial else ""

    @property
    def trial_problem(self) -> str:
        """Return why the run without the change says nothing, else ""."""
        if self.trial is None or self.is_running:
            return ""
        if self.trial.outcome is None:
            return str(trials.ENDED.get(self.trial.why, ""))
        return str(self.trial.outcome.get("summary")) if self.trial.outcome.get("failure_type") else ""


def _fact_counts_text(outcome: Any) -> str:
    """Return what its report counts, as the end of a sentence."""
    groups = fact_groups(outcome)
    return f": {tests_words(groups['tests'])}" if "tests" in groups else ""


@task_required("view")
@costly_to_post
@require_http_methods(["GET", "HEAD", "POST"])
def unchanged_run_part(request: SignedInRequest, task: Task) -> HttpResponse:
    """Show what is known of the run `?job=` without the change; a POST runs its station so. Empty for any other run."""
    refusal = ""
    if request.method == "POST":
        require_permission(request, "design", task.project)
    job = _failed_command_run_or_none(task, request.GET.get("job", ""))
    if job is not None and request.method == "POST":
        trial_request = TrialRequest(job.pinned.document, job.station, task.inputs, {})
        try:
            trials.start_trial(task.line, request.user, trial_request)
        except Forbidden as fault:
            raise PermissionDenied from fault
        except (Invalid, Conflict, NotFound) as fault:
            refusal = fault.message if isinstance(fault, Invalid) else fault.detail
    run = _read_unchanged_run(task, job, request.user, refusal) if job is not None else None
    return render_in_shell(request, "tasks/task/unchanged.html", project=task.project, task=task, run=run)


def _failed_command_run_or_none(task: Task, job_id: str) -> Job | None:
    """A run that failed by itself, in a repository: what could not be started or prepared never ran."""
    # 18 digits fit into a bigint; more would be an error of the database.
    if not (job_id.isascii() and job_id.isdigit() and len(job_id) < 19):
        return None
    jobs = task.jobs.filter(kind=COMMAND.key, visit_commit__isnull=False)
    job = jobs.select_related("pinned", "visit_commit").filter(pk=job_id).first()
    ran = job is not None and has_failed_station_run(job) and not (job.outcome or {}).get("failure_type")
    return job if ran else None


def _read_unchanged_run(task: Task, job: Job, reader: User, refusal: str) -> UnchangedRun:
    trial = trials.newest_trial_or_none(task.line, reader, job.station)
    is_own = trial is not None and trial.inputs == task.inputs and trial.document == job.pinned.document
    may_start = all(
        access.is_permitted(reader, action, task.project) for action in ("design", "submit", "execute")
    )
    commit: VisitCommit = job.visit_commit
    return UnchangedRun(
        job, commit, _recorded_run_on_base_or_none(job, commit), trial if is_own else None, may_start, refusal
    )


def _recorded_run_on_base_or_none(job: Job, commit: VisitCommit) -> Job | None:
    """The last run of this station on the files of the base: of a task without a change, or of the one whose merge the
    base is."""
    if commit.repository_id is None:
        return None
    merged = Delivery.objects.filter(repository=commit.repository_id, commit=commit.base).values("tree")
    rows = VisitCommit.objects.filter(
        Q(head=commit.base) | Q(tree__in=merged),
        repository=commit.repository_id,
        task__line=job.task.line_id,
        job__station=job.station,
        job__state=Job.State.DONE,
    )
    row = rows.exclude(job=job).select_related("job__task").order_by("-job").first()
    return row.job if row else None
