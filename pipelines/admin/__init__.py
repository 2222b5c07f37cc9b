"""Everything in Django's admin. What is the record of something is shown there and never changed there."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import Model

from pipelines.admin.base import login, register_with_list_options
from pipelines.admin.people import GroupInline, MembershipInline
from pipelines.models import (
    Absence,
    AddressMinute,
    AdministrativeAct,
    Agent,
    AgentEvent,
    AllowedFolder,
    ApiToken,
    Artifact,
    Blob,
    BranchPush,
    BulkCommand,
    BulkEntry,
    Comment,
    Deadlock,
    Decision,
    Delivery,
    Dependency,
    Drawing,
    Due,
    Escalation,
    Event,
    GateVisit,
    Group,
    Handoff,
    HealthBreach,
    HookReceipt,
    HostLink,
    HostNotice,
    IgnoredReport,
    Incident,
    Invitation,
    IssueTrigger,
    Job,
    KeptReceipt,
    Lease,
    Line,
    LineEvaluation,
    LineEvent,
    LineVersion,
    LogChunk,
    Membership,
    Migration,
    MigrationEntry,
    Owner,
    Pause,
    Project,
    PublishRequest,
    RecordedAnswer,
    Repository,
    RepositoryProtection,
    RunnerResult,
    RunnerUpload,
    SampledDraw,
    Scenario,
    SeenTree,
    SignInLink,
    Snapshot,
    StationTrial,
    StoredValue,
    Task,
    TaskCounter,
    TaskText,
    Token,
    Tombstone,
    ToolPermission,
    Trigger,
    TriggerDelivery,
    Upload,
    UploadAddress,
    VersionGate,
    VersionRule,
    VersionStation,
    ViewedFile,
    VisitCommit,
    Vote,
    WebhookAddress,
    WebhookSecret,
    Worker,
)

__all__ = ["register_with_list_options"]

LIST_OPTIONS: dict[type[Model], dict[str, Any]] = {
    # Lines, their versions and what is said about them
    Line: {
        "list_display": ("project", "key", "name", "live", "draft_number"),
        "search_fields": ("key", "name"),
    },
    Comment: {
        "list_display": ("line", "kind", "key", "author", "created_at", "resolved_at", "deleted_at"),
        "search_fields": ("text", "key"),
    },
    LineVersion: {
        "list_display": ("line", "number", "name", "digest", "published_by", "published_at"),
        "search_fields": ("line__key", "digest"),
    },
    LineEvent: {"list_display": ("line", "kind", "version", "by", "at"), "list_filter": ("kind",)},
    Drawing: {"list_display": ("project", "digest", "used_at"), "search_fields": ("digest",)},
    PublishRequest: {
        "list_display": ("line", "draft", "state", "requested_by", "decided_by", "requested_at"),
        "list_filter": ("state",),
    },
    VersionStation: {
        "list_display": ("version", "position", "key", "name", "kind"),
        "list_filter": ("kind",),
    },
    VersionRule: {"list_display": ("version", "station", "position", "key", "label")},
    VersionGate: {"list_display": ("version", "position", "key", "name", "mode"), "list_filter": ("mode",)},
    Scenario: {
        "list_display": ("line", "key", "name", "source", "made_by", "at"),
        "list_filter": ("source",),
        "search_fields": ("key", "name", "line__key"),
    },
    StationTrial: {
        "list_display": ("line", "station", "by", "state", "why", "created_at"),
        "list_filter": ("state",),
        "exclude": ("log", "outcome", "inputs", "context", "document", "check_outcome", "difference"),
    },
    LineEvaluation: {
        "list_display": ("line", "station", "check_station", "cost_limit", "by", "created_at", "stopped_at"),
        "exclude": ("document",),
    },
    Migration: {
        "list_display": ("line", "to", "undoes", "by", "at", "finished_at"),
        "search_fields": ("reason", "line__key"),
    },
    BulkCommand: {
        "list_display": ("action", "by", "state", "created_at", "ended_at"),
        "list_filter": ("state",),
    },
    BulkEntry: {"list_display": ("command", "task", "result", "detail", "at"), "list_filter": ("result",)},
    MigrationEntry: {
        "list_display": ("migration", "task", "was", "to", "result", "at"),
        "list_filter": ("result",),
    },
    Trigger: {
        "list_display": ("line", "kind", "options", "next_at", "paused_at", "changed_by", "changed_at")
    },
    WebhookAddress: {"list_display": ("trigger", "example_of"), "exclude": ("address", "example")},
    WebhookSecret: {
        "list_display": ("trigger", "created_by", "created_at", "valid_until"),
        "exclude": ("content",),
    },
    TriggerDelivery: {"list_display": ("trigger", "key", "at", "outcome", "task")},
    # Tasks, where they are, and what the engine recorded of them
    Task: {
        "list_display": ("name", "title", "line", "status", "requested_by", "created_at", "ended_at"),
        "list_filter": ("status", "priority"),
        "search_fields": ("title", "number"),
        "date_hierarchy": "created_at",
    },
    Token: {
        "list_display": ("task", "station", "status", "version", "error", "changed_at"),
        "list_filter": ("status",),
    },
    GateVisit: {
        "list_display": ("task", "gate", "round", "state", "word", "decided_by", "opened_at", "decided_at"),
        "list_filter": ("state", "word"),
    },
    Vote: {"list_display": ("visit", "user", "word", "via", "at"), "list_filter": ("word", "via")},
    Event: {
        "list_display": ("task", "seq", "kind", "source", "target", "trigger", "actor", "at"),
        "list_filter": ("kind",),
    },
    Decision: {"list_display": ("task", "station", "cause", "pinned", "revision", "micros", "at")},
    Escalation: {
        "list_display": (
            "task",
            "trigger",
            "role",
            "state",
            "opened_at",
            "due_at",
            "breached_at",
            "resolved_by",
        ),
        "list_filter": ("state", "trigger"),
    },
    Incident: {"list_display": ("task", "title", "opened_at")},
    Deadlock: {
        "list_display": ("task", "kind", "role", "state", "found_at", "resolved_by"),
        "list_filter": ("state", "kind"),
    },
    Dependency: {"list_display": ("task", "on", "made_at")},
    Handoff: {"list_display": ("__str__", "task", "source", "target", "by", "at")},
    Pause: {"list_display": ("project", "scope", "by", "since")},
    Due: {"list_display": ("task", "kind", "key", "due_at"), "list_filter": ("kind",)},
    # Jobs, who works on them, and what came of it
    Job: {
        "list_display": (
            "task",
            "station",
            "visit",
            "kind",
            "state",
            "attempt",
            "result",
            "worker",
            "created_at",
        ),
        "exclude": ("lease_key",),
        "list_filter": ("state", "kind", "result"),
    },
    Agent: {
        "list_display": ("project", "key", "name", "owner", "capacity", "valid_until", "suspended_at"),
        "search_fields": ("key", "name"),
    },
    AgentEvent: {"list_display": ("agent", "kind", "actor", "at"), "list_filter": ("kind",)},
    Worker: {"list_display": ("name", "host", "pid", "isolation", "started_at", "seen_at", "stopped_at")},
    Lease: {"list_display": ("job", "worker", "expires_at"), "exclude": ("key",)},
    Artifact: {"list_display": ("task", "job", "name", "media_type")},
    Upload: {"list_display": ("name", "project", "by", "at")},
    RecordedAnswer: {"list_display": ("actor", "status", "at"), "exclude": ("key", "body")},
    LogChunk: {"list_display": ("job", "attempt", "number", "at"), "exclude": ("data",)},
    # Repositories, and the hosts of code beside them
    Repository: {
        "list_display": ("name", "project", "address", "default_branch", "pushing", "tested_at"),
        "search_fields": ("name", "address"),
    },
    AllowedFolder: {"list_display": ("owner", "path", "origin", "allowed_by", "allowed_at")},
    RepositoryProtection: {"list_display": ("place", "owner", "project", "rules")},
    VisitCommit: {
        "list_display": ("task", "repository_name", "branch", "base", "head", "tree", "created_at")
    },
    Delivery: {
        "list_display": (
            "task",
            "repository_name",
            "to",
            "branch",
            "tree",
            "commit",
            "cleared_at",
            "landed_at",
        )
    },
    IssueTrigger: {"list_display": ("repository", "on", "value", "line", "made_by", "created_at")},
    HostLink: {"list_display": ("task", "kind", "number", "repository", "url")},
    HookReceipt: {"list_display": ("repository", "at", "said", "task")},
    HostNotice: {"list_display": ("link", "about", "state", "error", "created_at", "sent_at")},
    # People, what they may do, and what they sign in with
    Owner: {"list_display": ("key", "name"), "search_fields": ("key", "name")},
    Project: {
        "list_display": ("__str__", "name"),
        "search_fields": ("key", "name", "owner__key"),
        "inlines": (MembershipInline, GroupInline),
    },
    Membership: {
        "list_display": ("project", "user", "roles_display", "execute"),
        "list_filter": ("execute",),
    },
    Group: {"list_display": ("project", "key", "name"), "search_fields": ("key", "name")},
    ApiToken: {
        "list_display": (
            "name",
            "kind",
            "user",
            "project",
            "role",
            "prefix",
            "expires_at",
            "last_used_at",
            "revoked_at",
        ),
        "list_filter": ("kind", "role"),
        "exclude": ("digest",),
    },
    # Neither a value nor what a secret is encrypted to
    StoredValue: {
        "list_display": (
            "name",
            "kind",
            "owner",
            "project",
            "line",
            "changed_by",
            "changed_at",
            "last_used_at",
        ),
        "list_filter": ("kind",),
        "exclude": ("content",),
    },
    SignInLink: {"list_display": ("user", "created_at", "expires_at", "used_at"), "exclude": ("digest",)},
    Invitation: {
        "list_display": (
            "project",
            "email",
            "roles",
            "created_by",
            "expires_at",
            "accepted_by",
            "revoked_at",
        ),
        "exclude": ("key",),
    },
    AdministrativeAct: {
        "list_display": ("at", "actor", "kind", "name", "project"),
        "list_filter": ("kind",),
        "search_fields": ("actor", "about", "name"),
    },
    HealthBreach: {"list_display": ("project", "figure", "of", "since")},
    # Shown as they are
    **{
        model: {}
        for model in (
            Absence,
            AddressMinute,
            Blob,
            BranchPush,
            IgnoredReport,
            KeptReceipt,
            RunnerResult,
            RunnerUpload,
            SampledDraw,
            SeenTree,
            Snapshot,
            TaskCounter,
            TaskText,
            Tombstone,
            ToolPermission,
            UploadAddress,
            ViewedFile,
        )
    },
}
register_with_list_options(LIST_OPTIONS)
admin.site.login = login  # type: ignore[method-assign]
