"""Everything in Django's admin. What is the record of something is shown there and never changed there."""

from __future__ import annotations

from django.contrib import admin

from pipelines.admin import hosting, lines, people, tasks, work
from pipelines.admin.base import ReadOnlyAdmin, login
from pipelines.models import (
    Absence,
    AddressMinute,
    Blob,
    BranchPush,
    IgnoredReport,
    RunnerResult,
    RunnerUpload,
    SampledDraw,
    SeenTree,
    Snapshot,
    TaskCounter,
    TaskText,
    ViewedFile,
)

__all__ = ["ReadOnlyAdmin", "hosting", "lines", "people", "tasks", "work"]

for _model in (
    *(Absence, AddressMinute, Blob, BranchPush, IgnoredReport, RunnerResult, RunnerUpload, SampledDraw),
    *(SeenTree, Snapshot, TaskCounter, TaskText, ViewedFile),
):
    admin.site.register(_model, ReadOnlyAdmin)
admin.site.login = login  # type: ignore[method-assign]
