"""Tasks, where they are, and what the engine recorded of them."""

from __future__ import annotations

from django.contrib import admin

from pipelines.admin.base import ReadOnlyAdmin
from pipelines.models import (
    Deadlock,
    Decision,
    Dependency,
    Due,
    Escalation,
    Event,
    GateVisit,
    Handoff,
    Incident,
    Pause,
    Task,
    Token,
    Vote,
)


@admin.register(Task)
class TaskAdmin(ReadOnlyAdmin):
    list_display = ("name", "title", "line", "status", "requested_by", "created_at", "ended_at")
    list_filter = ("status", "priority")
    search_fields = ("title", "number")
    date_hierarchy = "created_at"


@admin.register(Token)
class TokenAdmin(ReadOnlyAdmin):
    list_display = ("task", "station", "status", "version", "error", "changed_at")
    list_filter = ("status",)


@admin.register(GateVisit)
class GateVisitAdmin(ReadOnlyAdmin):
    list_display = ("task", "gate", "round", "state", "word", "decided_by", "opened_at", "decided_at")
    list_filter = ("state", "word")


@admin.register(Vote)
class VoteAdmin(ReadOnlyAdmin):
    list_display = ("visit", "user", "word", "via", "at")
    list_filter = ("word", "via")


@admin.register(Event)
class EventAdmin(ReadOnlyAdmin):
    list_display = ("task", "seq", "kind", "source", "target", "trigger", "actor", "at")
    list_filter = ("kind",)


@admin.register(Decision)
class DecisionAdmin(ReadOnlyAdmin):
    list_display = ("task", "station", "cause", "pinned", "revision", "micros", "at")


@admin.register(Escalation)
class EscalationAdmin(ReadOnlyAdmin):
    list_display = ("task", "trigger", "role", "state", "opened_at", "due_at", "breached_at", "resolved_by")
    list_filter = ("state", "trigger")


@admin.register(Incident)
class IncidentAdmin(ReadOnlyAdmin):
    list_display = ("task", "title", "opened_at")


@admin.register(Deadlock)
class DeadlockAdmin(ReadOnlyAdmin):
    list_display = ("task", "kind", "role", "state", "found_at", "resolved_by")
    list_filter = ("state", "kind")


@admin.register(Dependency)
class DependencyAdmin(ReadOnlyAdmin):
    list_display = ("task", "on", "made_at")


@admin.register(Handoff)
class HandoffAdmin(ReadOnlyAdmin):
    list_display = ("__str__", "task", "source", "target", "by", "at")


@admin.register(Pause)
class PauseAdmin(ReadOnlyAdmin):
    list_display = ("project", "scope", "by", "since")


@admin.register(Due)
class DueAdmin(ReadOnlyAdmin):
    list_display = ("task", "kind", "key", "due_at")
    list_filter = ("kind",)
