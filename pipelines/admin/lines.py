"""Lines, their versions and what is said about them."""

from __future__ import annotations

from django.contrib import admin

from pipelines.admin.base import ReadOnly
from pipelines.models import (
    Comment,
    Line,
    LineEvent,
    LineVersion,
    Migration,
    MigrationEntry,
    PublishRequest,
    Scenario,
    StationTrial,
    Trigger,
    TriggerDelivery,
    VersionGate,
    VersionRule,
    VersionStation,
)


@admin.register(Line)
class LineAdmin(ReadOnly):
    list_display = ("project", "key", "name", "live", "draft_number")
    search_fields = ("key", "name")


@admin.register(Comment)
class CommentAdmin(ReadOnly):
    list_display = ("line", "kind", "key", "author", "created_at", "resolved_at", "deleted_at")
    search_fields = ("text", "key")


@admin.register(LineVersion)
class LineVersionAdmin(ReadOnly):
    list_display = ("line", "number", "name", "digest", "published_by", "published_at")
    search_fields = ("line__key", "digest")


@admin.register(LineEvent)
class LineEventAdmin(ReadOnly):
    list_display = ("line", "kind", "version", "by", "at")
    list_filter = ("kind",)


@admin.register(PublishRequest)
class PublishRequestAdmin(ReadOnly):
    list_display = ("line", "draft", "state", "requested_by", "decided_by", "requested_at")
    list_filter = ("state",)


@admin.register(VersionStation)
class VersionStationAdmin(ReadOnly):
    list_display = ("version", "position", "key", "name", "kind")
    list_filter = ("kind",)


@admin.register(VersionRule)
class VersionRuleAdmin(ReadOnly):
    list_display = ("version", "station", "position", "key", "label")


@admin.register(VersionGate)
class VersionGateAdmin(ReadOnly):
    list_display = ("version", "position", "key", "name", "mode")
    list_filter = ("mode",)


@admin.register(Scenario)
class ScenarioAdmin(ReadOnly):
    list_display = ("line", "key", "name", "source", "made_by", "at")
    list_filter = ("source",)
    search_fields = ("key", "name", "line__key")


@admin.register(StationTrial)
class StationTrialAdmin(ReadOnly):
    list_display = ("line", "station", "by", "state", "why", "created_at")
    list_filter = ("state",)
    exclude = ("log", "outcome", "inputs", "context", "document")


@admin.register(Migration)
class MigrationAdmin(ReadOnly):
    list_display = ("line", "to", "undoes", "by", "at", "finished_at")
    search_fields = ("reason", "line__key")


@admin.register(MigrationEntry)
class MigrationEntryAdmin(ReadOnly):
    list_display = ("migration", "task", "was", "to", "result", "at")
    list_filter = ("result",)


@admin.register(Trigger)
class TriggerAdmin(ReadOnly):
    list_display = ("line", "kind", "options", "next_at", "paused_at", "changed_by", "changed_at")


@admin.register(TriggerDelivery)
class TriggerDeliveryAdmin(ReadOnly):
    list_display = ("trigger", "key", "at", "outcome", "task")
