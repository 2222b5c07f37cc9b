"""Everything in Django's admin. What is the record of something is shown there and never changed there."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from pipelines.models import (
    Absence,
    AddressMinute,
    AdministrativeAct,
    Agent,
    AgentEvent,
    ApiToken,
    Artifact,
    Blob,
    BranchPush,
    Comment,
    Deadlock,
    Decision,
    Delivery,
    Dependency,
    Due,
    Escalation,
    Event,
    GateVisit,
    Group,
    Handoff,
    HookReceipt,
    HostLink,
    HostNotice,
    IgnoredReport,
    Incident,
    Invitation,
    IssueTrigger,
    Job,
    Lease,
    Line,
    LineEvent,
    LineVersion,
    LogChunk,
    Membership,
    Migration,
    MigrationEntry,
    Owner,
    Project,
    RecordedAnswer,
    Repository,
    RunnerResult,
    RunnerUpload,
    SampledDraw,
    Scenario,
    SeenTree,
    SignInLink,
    Snapshot,
    StoredValue,
    Task,
    TaskCounter,
    Token,
    Upload,
    User,
    VersionGate,
    VersionRule,
    VersionStation,
    ViewedFile,
    VisitCommit,
    Vote,
    Worker,
)


class ReadOnly(admin.ModelAdmin):
    """Shown, never added, changed or deleted: what the engine or publishing wrote, or a credential."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(User)
class PersonAdmin(UserAdmin):
    fieldsets = (
        *(UserAdmin.fieldsets or ()),
        (_("Screen"), {"fields": ("theme", "density", "time_zone", "letter_shortcuts")}),
    )


class MembershipInline(admin.TabularInline):
    model = Membership
    extra = 0
    autocomplete_fields = ("user",)


class GroupInline(admin.TabularInline):
    model = Group
    extra = 0
    autocomplete_fields = ("members",)


@admin.register(Owner)
class OwnerAdmin(admin.ModelAdmin):
    list_display = ("key", "name")
    search_fields = ("key", "name")


@admin.register(Project)
class ProjectAdmin(admin.ModelAdmin):
    list_display = ("__str__", "name")
    list_select_related = ("owner",)
    search_fields = ("key", "name", "owner__key")
    inlines = (MembershipInline, GroupInline)


@admin.register(Membership)
class MembershipAdmin(admin.ModelAdmin):
    list_display = ("project", "user", "roles_display", "execute")
    list_filter = ("execute",)
    list_select_related = ("project__owner", "user")
    autocomplete_fields = ("project", "user")


@admin.register(Group)
class GroupAdmin(admin.ModelAdmin):
    list_display = ("project", "key", "name")
    list_select_related = ("project__owner",)
    autocomplete_fields = ("project", "members")
    search_fields = ("key", "name")


@admin.register(Line)
class LineAdmin(ReadOnly):
    list_display = ("project", "key", "name", "live", "draft_number")
    list_select_related = ("project__owner", "live__line")
    search_fields = ("key", "name")


@admin.register(Comment)
class CommentAdmin(ReadOnly):
    list_display = ("line", "kind", "key", "author", "created_at", "resolved_at", "deleted_at")
    list_select_related = ("line", "author")
    search_fields = ("text", "key")


@admin.register(LineVersion)
class LineVersionAdmin(ReadOnly):
    list_display = ("line", "number", "name", "digest", "published_by", "published_at")
    list_select_related = ("line", "published_by")
    search_fields = ("line__key", "digest")


@admin.register(LineEvent)
class LineEventAdmin(ReadOnly):
    list_display = ("line", "kind", "version", "by", "at")
    list_filter = ("kind",)
    list_select_related = ("line", "version__line", "by")


@admin.register(VersionStation)
class VersionStationAdmin(ReadOnly):
    list_display = ("version", "position", "key", "name", "kind")
    list_select_related = ("version__line",)
    list_filter = ("kind",)


@admin.register(VersionRule)
class VersionRuleAdmin(ReadOnly):
    list_display = ("version", "station", "position", "key", "label")
    list_select_related = ("version__line", "station")


@admin.register(VersionGate)
class VersionGateAdmin(ReadOnly):
    list_display = ("version", "position", "key", "name", "mode")
    list_select_related = ("version__line",)
    list_filter = ("mode",)


@admin.register(Scenario)
class ScenarioAdmin(ReadOnly):
    list_display = ("line", "key", "name", "source", "made_by", "at")
    list_filter = ("source",)
    list_select_related = ("line", "made_by")
    search_fields = ("key", "name", "line__key")


@admin.register(Migration)
class MigrationAdmin(ReadOnly):
    list_display = ("line", "to", "undoes", "by", "at", "finished_at")
    list_select_related = ("line", "to__line", "undoes__line", "by")
    search_fields = ("reason", "line__key")


@admin.register(MigrationEntry)
class MigrationEntryAdmin(ReadOnly):
    list_display = ("migration", "task", "was", "to", "result", "at")
    list_filter = ("result",)
    list_select_related = ("migration__line", "task__project", "was__line", "to__line")


@admin.register(Task)
class TaskAdmin(ReadOnly):
    list_display = ("name", "title", "line", "status", "requested_by", "created_at", "ended_at")
    list_filter = ("status", "priority")
    list_select_related = ("project", "line")
    search_fields = ("title", "number")
    date_hierarchy = "created_at"


@admin.register(Token)
class TokenAdmin(ReadOnly):
    list_display = ("task", "station", "status", "version", "error", "changed_at")
    list_filter = ("status",)
    list_select_related = ("task__project",)


@admin.register(Job)
class JobAdmin(ReadOnly):
    list_display = ("task", "station", "visit", "kind", "state", "attempt", "result", "worker", "created_at")
    exclude = ("lease_key",)
    list_filter = ("state", "kind", "result")
    list_select_related = ("task__project", "worker")


@admin.register(GateVisit)
class GateVisitAdmin(ReadOnly):
    list_display = ("task", "gate", "round", "state", "word", "decided_by", "opened_at", "decided_at")
    list_filter = ("state", "word")
    list_select_related = ("task__project", "decided_by")


@admin.register(Vote)
class VoteAdmin(ReadOnly):
    list_display = ("visit", "user", "word", "via", "at")
    list_filter = ("word", "via")
    list_select_related = ("visit", "user")


@admin.register(Event)
class EventAdmin(ReadOnly):
    list_display = ("task", "seq", "kind", "source", "target", "trigger", "actor", "at")
    list_filter = ("kind",)
    list_select_related = ("task__project",)


@admin.register(Decision)
class DecisionAdmin(ReadOnly):
    list_display = ("task", "station", "cause", "pinned", "revision", "micros", "at")
    list_select_related = ("task__project", "pinned__line")


@admin.register(ApiToken)
class ApiTokenAdmin(ReadOnly):
    list_display = (
        "name",
        "kind",
        "user",
        "project",
        "role",
        "prefix",
        "expires_at",
        "last_used_at",
        "revoked_at",
    )
    list_filter = ("kind", "role")
    list_select_related = ("user", "project__owner")
    exclude = ("digest",)


@admin.register(StoredValue)
class StoredValueAdmin(ReadOnly):
    """Which there are; neither a value nor what a secret is encrypted to."""

    list_display = ("name", "kind", "owner", "project", "line", "changed_by", "changed_at", "last_used_at")
    list_filter = ("kind",)
    exclude = ("content",)


@admin.register(SignInLink)
class SignInLinkAdmin(ReadOnly):
    list_display = ("user", "created_at", "expires_at", "used_at")
    list_select_related = ("user",)
    exclude = ("digest",)


@admin.register(Invitation)
class InvitationAdmin(ReadOnly):
    list_display = ("project", "email", "roles", "created_by", "expires_at", "accepted_by", "revoked_at")
    list_select_related = ("project__owner", "created_by", "accepted_by")
    exclude = ("key",)


@admin.register(AdministrativeAct)
class AdministrativeActAdmin(ReadOnly):
    list_display = ("at", "actor", "kind", "name", "project")
    list_filter = ("kind",)
    list_select_related = ("project__owner",)
    search_fields = ("actor", "about", "name")


@admin.register(Agent)
class AgentAdmin(ReadOnly):
    list_display = ("project", "key", "name", "owner", "capacity", "valid_until", "suspended_at")
    list_select_related = ("project__owner", "owner")
    search_fields = ("key", "name")


@admin.register(AgentEvent)
class AgentEventAdmin(ReadOnly):
    list_display = ("agent", "kind", "actor", "at")
    list_filter = ("kind",)
    list_select_related = ("agent__project",)


@admin.register(Escalation)
class EscalationAdmin(ReadOnly):
    list_display = ("task", "trigger", "role", "state", "opened_at", "due_at", "breached_at", "resolved_by")
    list_filter = ("state", "trigger")
    list_select_related = ("task__project", "resolved_by")


@admin.register(Incident)
class IncidentAdmin(ReadOnly):
    list_display = ("task", "title", "opened_at")
    list_select_related = ("task__project",)


@admin.register(Deadlock)
class DeadlockAdmin(ReadOnly):
    list_display = ("task", "kind", "role", "state", "found_at", "resolved_by")
    list_filter = ("state", "kind")
    list_select_related = ("task__project", "resolved_by")


@admin.register(Dependency)
class DependencyAdmin(ReadOnly):
    list_display = ("task", "on", "made_at")
    list_select_related = ("task__project", "on__project")


@admin.register(Handoff)
class HandoffAdmin(ReadOnly):
    list_display = ("__str__", "task", "source", "target", "by", "at")
    list_select_related = ("task__project",)


@admin.register(Due)
class DueAdmin(ReadOnly):
    list_display = ("task", "kind", "key", "due_at")
    list_filter = ("kind",)
    list_select_related = ("task__project",)


@admin.register(Worker)
class WorkerAdmin(ReadOnly):
    list_display = ("name", "host", "pid", "isolation", "started_at", "seen_at", "stopped_at")


@admin.register(Lease)
class LeaseAdmin(ReadOnly):
    list_display = ("job", "worker", "expires_at")
    list_select_related = ("job", "worker")
    exclude = ("key",)


@admin.register(Artifact)
class ArtifactAdmin(ReadOnly):
    list_display = ("task", "job", "name", "media_type")
    list_select_related = ("task__project", "job")


@admin.register(Upload)
class UploadAdmin(ReadOnly):
    list_display = ("name", "project", "by", "at")
    list_select_related = ("project__owner",)


@admin.register(RecordedAnswer)
class RecordedAnswerAdmin(ReadOnly):
    list_display = ("actor", "status", "at")
    exclude = ("key", "body")


@admin.register(LogChunk)
class LogChunkAdmin(ReadOnly):
    list_display = ("job", "attempt", "number", "at")
    list_select_related = ("job",)
    exclude = ("data",)


@admin.register(Repository)
class RepositoryAdmin(ReadOnly):
    list_display = ("name", "project", "address", "default_branch", "pushing", "tested_at")
    list_select_related = ("project__owner",)
    search_fields = ("name", "address")


@admin.register(VisitCommit)
class VisitCommitAdmin(ReadOnly):
    list_display = ("task", "repository_name", "branch", "base", "head", "tree", "created_at")
    list_select_related = ("task__project",)


@admin.register(Delivery)
class DeliveryAdmin(ReadOnly):
    list_display = ("task", "repository_name", "to", "branch", "tree", "commit", "cleared_at", "landed_at")
    list_select_related = ("task__project",)


@admin.register(IssueTrigger)
class IssueTriggerAdmin(ReadOnly):
    list_display = ("repository", "on", "value", "line", "made_by", "created_at")
    list_select_related = ("repository", "line__project", "made_by")


@admin.register(HostLink)
class HostLinkAdmin(ReadOnly):
    list_display = ("task", "kind", "number", "repository", "url")
    list_select_related = ("task__project", "repository")


@admin.register(HookReceipt)
class HookReceiptAdmin(ReadOnly):
    list_display = ("repository", "at", "said", "task")
    list_select_related = ("repository", "task__project")


@admin.register(HostNotice)
class HostNoticeAdmin(ReadOnly):
    list_display = ("link", "about", "state", "error", "created_at", "sent_at")
    list_select_related = ("link",)


for _model in (
    *(Absence, AddressMinute, Blob, BranchPush, IgnoredReport, RunnerResult, RunnerUpload, SampledDraw),
    *(SeenTree, Snapshot, TaskCounter, ViewedFile),
):
    admin.site.register(_model, ReadOnly)
