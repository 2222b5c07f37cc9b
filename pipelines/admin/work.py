"""Jobs, who works on them, and what came of it."""

from __future__ import annotations

from django.contrib import admin

from pipelines.admin.base import ReadOnlyAdmin
from pipelines.models import (
    Agent,
    AgentEvent,
    Artifact,
    Job,
    Lease,
    LogChunk,
    RecordedAnswer,
    Upload,
    Worker,
)


@admin.register(Job)
class JobAdmin(ReadOnlyAdmin):
    list_display = ("task", "station", "visit", "kind", "state", "attempt", "result", "worker", "created_at")
    exclude = ("lease_key",)
    list_filter = ("state", "kind", "result")


@admin.register(Agent)
class AgentAdmin(ReadOnlyAdmin):
    list_display = ("project", "key", "name", "owner", "capacity", "valid_until", "suspended_at")
    search_fields = ("key", "name")


@admin.register(AgentEvent)
class AgentEventAdmin(ReadOnlyAdmin):
    list_display = ("agent", "kind", "actor", "at")
    list_filter = ("kind",)


@admin.register(Worker)
class WorkerAdmin(ReadOnlyAdmin):
    list_display = ("name", "host", "pid", "isolation", "started_at", "seen_at", "stopped_at")


@admin.register(Lease)
class LeaseAdmin(ReadOnlyAdmin):
    list_display = ("job", "worker", "expires_at")
    exclude = ("key",)


@admin.register(Artifact)
class ArtifactAdmin(ReadOnlyAdmin):
    list_display = ("task", "job", "name", "media_type")


@admin.register(Upload)
class UploadAdmin(ReadOnlyAdmin):
    list_display = ("name", "project", "by", "at")


@admin.register(RecordedAnswer)
class RecordedAnswerAdmin(ReadOnlyAdmin):
    list_display = ("actor", "status", "at")
    exclude = ("key", "body")


@admin.register(LogChunk)
class LogChunkAdmin(ReadOnlyAdmin):
    list_display = ("job", "attempt", "number", "at")
    exclude = ("data",)
