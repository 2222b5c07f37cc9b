"""Work of a task that an inbox item is about: what its stations did, and what tools found."""

from __future__ import annotations

import json
from functools import cached_property

from django.http import QueryDict

from pipelines.models import Job, Purpose, Task
from pipelines.queries import versions
from pipelines.routing.sentences.names import station_name
from pipelines.work import logs
from pipelines.work.results.text import Masker
from pipelines.work.transport.local.station_values import task_masker
from reviews.inbox.task_facts import TaskFacts
from reviews.review.detail import LOG_LINES, SHOWN_OUTPUT
from reviews.review.reports import ToolReports
from reviews.review.steps import PathStep, artifacts_of_all_stations, last_step_of_each_station_ended_before


class TaskWork(ToolReports):
    """Work of one task, so far. `station`: what it is about; "" where that is what ran last."""

    def __init__(self, task: Task, query: QueryDict | None = None, station: str = "") -> None:
        line = versions.parsed_line_by_version_id(task.pinned_id)
        super().__init__(
            line, last_step_of_each_station_ended_before(task, line), artifacts_of_all_stations(task), query
        )
        self.task, self._about = task, station
        self.task_facts = TaskFacts(task, line, self.artifacts)

    @property
    def _masker(self) -> Masker:
        return task_masker(self.task)

    @property
    def last(self) -> PathStep | None:
        """Step that it is about: another branch may have ended later."""
        about = (step for step in self.steps if step.job.station == self._about)
        return next(about, self.steps[-1] if self.steps else None)

    @property
    def job(self) -> Job | None:
        return self.last.job if self.last else None

    @property
    def station(self) -> str:
        """Name of the station whose log is shown."""
        if self._running_job_or_none:
            return station_name(versions.parsed_line_by_version_id(self.task.pinned_id), self._about)
        return self.last.station if self.last else ""

    @property
    def output(self) -> str:
        """Output as JSON, cut where a page could not show it."""
        return self._output[:SHOWN_OUTPUT]

    @property
    def output_cut(self) -> int:
        """Characters of it that are not shown."""
        return max(0, len(self._output) - SHOWN_OUTPUT)

    @cached_property
    def _output(self) -> str:
        outcome = (self.job.outcome or {}) if self.job else {}
        if outcome.get("output") in (None, {}, []):
            return ""
        return json.dumps(outcome["output"], ensure_ascii=False, indent=2)

    @cached_property
    def log(self) -> logs.LogPart | None:
        job = self._running_job_or_none or self.job
        return logs.read_log_tail(job, job.attempt, LOG_LINES) if job else None

    @cached_property
    def _running_job_or_none(self) -> Job | None:
        """The work that is late: its own log says what it does, not that of what ended before."""
        running = Job.objects.filter(task=self.task, station=self._about, state=Job.State.RUNNING)
        return running.filter(purpose=Purpose.STATION).first() if self._about else None
