"""Tabs of a task: the log or the steps of a job, outputs, changes and events."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pipelines.engine.core.unassigned import UNLEASED
from pipelines.models import ENDED, Job, Purpose
from pipelines.queries.actors import station_actor_kind_and_name
from pipelines.queries.failure_causes import NOT_PREPARED
from pipelines.queries.task_view import EVENTS, TaskView
from pipelines.routing.basics.plural import singular_or_plural
from pipelines.routing.sentences.names import station_name
from pipelines.routing.sentences.waits import blocker_words, waiting_question_or_empty
from pipelines.web.changes.task_changes import task_changes_panel_or_none
from pipelines.web.shell.page import SignedInRequest
from pipelines.web.tasks.steps import preset_and_allowed_or_none, steps_view_or_none
from pipelines.web.tasks.tables import page_number_or_default
from pipelines.work import logs

LOG_LINES = 400


def tab_context(request: SignedInRequest, view: TaskView, tab: str) -> dict[str, Any]:
    context: dict[str, Any] = {
        "task": view.task,
        "view": view,
        "tab": tab,
        "ended": view.task.status in ENDED,
        "again": False,
    }
    if tab == "events":
        # One more than the page shows, which tells that there are earlier ones
        events = view.events_newest(page_number_or_default(request.GET.get("before"), 0))
        context |= {
            "events": events[:EVENTS],
            "events_before": events[EVENTS - 1].seq if events[EVENTS:] else 0,
        }
    if tab == "log":
        context |= log_context(request, view)
    elif tab == "steps":
        context |= steps_context(request, view)
    elif tab == "changes":
        context["changes"] = task_changes_panel_or_none(view.task, request.user, request.GET)
    elif tab == "outputs":
        context["outputs"] = output_entries(view)
    return context


@dataclass(frozen=True, slots=True)
class OutputEntry:
    job: Job
    station: str
    actor: str
    text: str
    outcome: dict[str, Any]
    agent: bool

    @property
    def blockers(self) -> list[str]:
        """Blockers, each with its title, where it has one, and its text."""
        return [blocker_words(blocker) for blocker in self.outcome.get("blockers") or ()]

    @property
    def lacks_environment(self) -> bool:
        """Return whether the environment of the repository might cure the failure."""
        return self.outcome.get("failure_type") in NOT_PREPARED

    @property
    def git_summary(self) -> str:
        """Changes of the station in git, counted."""
        git = self.outcome.get("git") or {}
        files, commits = integer_or_zero(git, "file_count"), integer_or_zero(git, "commit_count")
        file_word = singular_or_plural("file", "files", files)
        return f"{files} {file_word} and {commits} {singular_or_plural('commit', 'commits', commits)} in git"


def integer_or_zero(git: Any, name: str) -> int:
    """A report over the API may say anything here."""
    value = git.get(name) if isinstance(git, dict) else None
    return value if type(value) is int else 0


def output_entries(view: TaskView) -> list[OutputEntry]:
    """Newest first, exactly as recorded."""
    entries = []
    for job in reversed(view.jobs):
        if job.outcome is None:
            continue
        kind, name = _job_actor_kind_and_name(view, job)
        # The explanation of an evaluation is its feedback.
        output = job.outcome.get("output" if job.purpose == Purpose.STATION else "feedback")
        text = "" if output is None else json.dumps(output, ensure_ascii=False, indent=2)
        entries.append(OutputEntry(job, _job_title(view, job), name, text, job.outcome, kind == "agent"))
    return entries


def _job_actor_kind_and_name(view: TaskView, job: Job) -> tuple[str, str]:
    """Kind (which icon) and name of who does it: of an evaluation not the station's."""
    if job.purpose == Purpose.STATION:
        return station_actor_kind_and_name(view.line.stations_by_key.get(job.station))
    return ("agent" if job.kind == "model" else "system"), job.kind


def _job_title(view: TaskView, job: Job) -> str:
    """The station, and what was asked about it."""
    station = station_name(view.line, job.station)
    question = waiting_question_or_empty({"evaluation": job.question})
    return f"{station} · {question}" if question else station


def log_context(request: SignedInRequest, view: TaskView) -> dict[str, Any]:
    """The log of `?job=` and `?attempt=`, else of the job that matters now: its end, and where to go on from."""
    jobs = [(job, _job_title(view, job)) for job in reversed(view.jobs)]
    job_id = request.GET.get("job", "")
    job = next(
        (candidate for candidate, _ in jobs if str(candidate.pk) == job_id),
        job_with_log_to_show_or_none(view.jobs),
    )
    context: dict[str, Any] = {"jobs": jobs, "job": job, "pinned": bool(job_id)}
    if job is None:
        return context
    attempt = min(max(page_number_or_default(request.GET.get("attempt"), job.attempt), 1), job.attempt)
    piece = logs.read_log_tail(job, attempt, LOG_LINES)
    kind, name = _job_actor_kind_and_name(view, job)
    return context | {
        "attempt": attempt,
        "attempts": range(1, job.attempt + 1),
        "piece": piece,
        "first": piece.lines[0].number if piece.lines else 1,
        "station": station_name(view.line, job.station),
        "actor": name,
        "actor_kind": kind,
        "shown": f"{job.pk}.{attempt}",
    }


def steps_context(request: SignedInRequest, view: TaskView) -> dict[str, Any]:
    """Return the same as `log_context` for the jobs of agents, with their logs read as steps."""
    jobs = [(job, _job_title(view, job)) for job in reversed(view.jobs) if preset_and_allowed_or_none(job)]
    job_id = request.GET.get("job", "")
    requested_job = next((candidate for candidate, _ in jobs if str(candidate.pk) == job_id), None)
    job = requested_job or job_with_log_to_show_or_none([candidate for candidate, _ in jobs])
    context: dict[str, Any] = {"jobs": jobs, "job": job, "pinned": bool(job_id)}
    if job is None:
        return context
    attempt = min(max(page_number_or_default(request.GET.get("attempt"), job.attempt), 1), job.attempt)
    before = page_number_or_default(request.GET.get("before"), 0)
    kind, name = _job_actor_kind_and_name(view, job)
    return context | {
        "attempt": attempt,
        "attempts": range(1, job.attempt + 1),
        "told": steps_view_or_none(job, attempt, end=before or None),
        "made": view.preparing.get(job.pk) if attempt == job.attempt else None,
        "before": before,
        "station": station_name(view.line, job.station),
        "actor": name,
        "actor_kind": kind,
        "shown": f"{job.pk}.{attempt}",
    }


def job_with_log_to_show_or_none(jobs: Sequence[Job]) -> Job | None:
    """Return the job whose log is read first: the last that runs, else the last that ran. A person's work and
    a wait write no log, and jobs that have not started have none yet; they come last."""

    def job_sort_key(job: Job) -> tuple[bool, bool, int]:
        started = job.started_at is not None and job.kind not in UNLEASED
        return started, started and job.state == Job.State.RUNNING, job.pk

    return max(jobs, key=job_sort_key, default=None)
