"""Lines, their versions and what is said about them."""

from __future__ import annotations

from django.contrib import admin

from pipelines.admin.base import ReadOnlyAdmin
from pipelines.models import (
    Comment,
    Drawing,
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
    WebhookAddress,
    WebhookSecret,
)


@admin.register(Line)
class LineAdmin(ReadOnlyAdmin):
    list_display = ("project", "key", "name", "live", "draft_number")
    search_fields = ("key", "name")


@admin.register(Comment)
class CommentAdmin(ReadOnlyAdmin):
    list_display = ("line", "kind", "key", "author", "created_at", "resolved_at", "deleted_at")
    search_fields = ("text", "key")


@admin.register(LineVersion)
class LineVersionAdmin(ReadOnlyAdmin):
    list_display = ("line", "number", "name", "digest", "published_by", "published_at")
    search_fields = ("line__key", "digest")


@admin.register(LineEvent)
class LineEventAdmin(ReadOnlyAdmin):
    list_display = ("line", "kind", "version", "by", "at")
    list_filter = ("kind",)


@admin.register(Drawing)
class DrawingAdmin(ReadOnlyAdmin):
    list_display = ("project", "digest", "used_at")
    search_fields = ("digest",)


@admin.register(PublishRequest)
class PublishRequestAdmin(ReadOnlyAdmin):
    list_display = ("line", "draft", "state", "requested_by", "decided_by", "requested_at")
    list_filter = ("state",)


@admin.register(VersionStation)
class VersionStationAdmin(ReadOnlyAdmin):
    list_display = ("version", "position", "key", "name", "kind")
    list_filter = ("kind",)


@admin.register(VersionRule)
class VersionRuleAdmin(ReadOnlyAdmin):
    list_display = ("version", "station", "position", "key", "label")


@admin.register(VersionGate)
class VersionGateAdmin(ReadOnlyAdmin):
    list_display = ("version", "position", "key", "name", "mode")
    list_filter = ("mode",)


@admin.register(Scenario)
class ScenarioAdmin(ReadOnlyAdmin):
    list_display = ("line", "key", "name", "source", "made_by", "at")
    list_filter = ("source",)
    search_fields = ("key", "name", "line__key")


@admin.register(StationTrial)
class StationTrialAdmin(ReadOnlyAdmin):
    list_display = ("line", "station", "by", "state", "why", "created_at")
    list_filter = ("state",)
    exclude = ("log", "outcome", "inputs", "context", "document")


@admin.register(Migration)
class MigrationAdmin(ReadOnlyAdmin):
    list_display = ("line", "to", "undoes", "by", "at", "finished_at")
    search_fields = ("reason", "line__key")


@admin.register(MigrationEntry)
class MigrationEntryAdmin(ReadOnlyAdmin):
    list_display = ("migration", "task", "was", "to", "result", "at")
    list_filter = ("result",)


@admin.register(Trigger)
class TriggerAdmin(ReadOnlyAdmin):
    list_display = ("line", "kind", "options", "next_at", "paused_at", "changed_by", "changed_at")


@admin.register(WebhookAddress)
class WebhookAddressAdmin(ReadOnlyAdmin):
    list_display = ("trigger", "example_of")
    exclude = ("address", "example")


@admin.register(WebhookSecret)
class WebhookSecretAdmin(ReadOnlyAdmin):
    list_display = ("trigger", "created_by", "created_at", "valid_until")
    exclude = ("content",)


@admin.register(TriggerDelivery)
class TriggerDeliveryAdmin(ReadOnlyAdmin):
    list_display = ("trigger", "key", "at", "outcome", "task")
