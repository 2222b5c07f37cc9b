"""Subject of an inbox item that is no review: what stations of its task did, and what tools found."""

from __future__ import annotations

import json
from functools import cached_property

from django.http import QueryDict

from pipelines.models import Job, Task
from pipelines.queries import versions
from pipelines.work import logs
from pipelines.work.results.text import Masker
from pipelines.work.transport.local.station_values import masker_of
from reviews.review.detail import LOG_LINES, SHOWN_OUTPUT
from reviews.review.reports import ToolReports
from reviews.review.steps import PathStep, artifacts_of, steps_of


class TaskWork(ToolReports):
    """Work of one task, so far."""

    def __init__(self, task: Task, query: QueryDict | None = None) -> None:
        line = versions.by_id(task.pinned_id)
        super().__init__(line, steps_of(task, line), artifacts_of(task), query)
        self.task = task

    @property
    def _masker(self) -> Masker:
        return masker_of(self.task)

    @property
    def last(self) -> PathStep | None:
        """Step that ran last."""
        return self.steps[-1] if self.steps else None

    @property
    def job(self) -> Job | None:
        return self.last.job if self.last else None

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
        return logs.tail(self.job, self.job.attempt, LOG_LINES) if self.job else None
