"""Late items of the inbox: work of programs that takes longer than its station expects."""

from __future__ import annotations

from django.utils import timezone

from pipelines.models import Status, Task, Token
from pipelines.queries import versions
from pipelines.queries.late import OverrunningJob, overrunning_jobs
from pipelines.queries.log_tails import last_log_line_by_job
from pipelines.routing.sentences.names import station_name
from pipelines.routing.sentences.waits import ProblemAndRemedy
from pipelines.templatetags.cuts import shortened
from pipelines.templatetags.gateline import duration
from reviews.inbox.item import InboxItem, InboxViewer
from reviews.inbox.item_queries import LIMIT, NOT_READ, TASK, may_have_items_of_kind


def late_items(viewer: InboxViewer) -> list[InboxItem]:
    """Stations that have been at work for longer than they expect, and that may be run again by hand."""
    late = {job.token: job for job in overrunning_programs(viewer)}
    if not late:
        return []
    rows = Token.objects.filter(pk__in=late, status=Status.RUNNING).select_related(*TASK).defer(*NOT_READ)
    tokens = list(rows.order_by("pk")[:LIMIT])
    last_lines = last_log_line_by_job([late[token.pk].job for token in tokens])
    return [_late_item(token, late[token.pk], last_lines.get(late[token.pk].job, "")) for token in tokens]


def _late_item(token: Token, job: OverrunningJob, last_line: str) -> InboxItem:
    line = versions.parsed_line_by_version_id(token.task.pinned_id)
    station = station_name(line, token.station)
    ending = f" Its log ends with: {shortened(last_line, 200)}" if last_line else ""
    return InboxItem(
        "late", str(token.pk), token.task, station,
        ProblemAndRemedy(
            f"{station} takes longer than the {duration(job.expected)} expected.{ending}",
            f"If it hangs, run it again: what runs is stopped, and {station} starts anew.",
        ),
        job.due, Status.RUNNING, token.version, job.due, icon=job.kind,
        branch=token.is_branch, about={"station": token.station},
    )  # fmt: skip


def overrunning_programs(viewer: InboxViewer) -> list[OverrunningJob]:
    """Return the work of programs that is late; the work of people is of another kind, and a wait is no work."""
    if not viewer.operable_projects or not may_have_items_of_kind(viewer, "late"):
        return []
    tasks = Task.objects.filter(project__in=viewer.operable_projects)
    jobs = overrunning_jobs(tasks, timezone.now())
    return [job for job in jobs if job.kind not in ("manual", "wait")]
