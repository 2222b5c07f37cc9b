"""Every model of this app, so that each can be named from here."""

from pipelines.models.agents import Agent, AgentEvent
from pipelines.models.bulk_commands import BulkCommand, BulkEntry
from pipelines.models.changes import SeenTree, ViewedFile
from pipelines.models.comments import Comment
from pipelines.models.deadlocks import Deadlock, Dependency
from pipelines.models.escalations import Escalation, Incident
from pipelines.models.events import Decision, Event
from pipelines.models.gates import DUE_TIME, GateVisit, SampledDraw, Vote, Word
from pipelines.models.handoffs import Handoff
from pipelines.models.health import HealthBreach
from pipelines.models.host_links import HookReceipt, HostLink, HostNotice, IssueTrigger
from pipelines.models.invitations import Invitation
from pipelines.models.line_migrations import Migration, MigrationEntry
from pipelines.models.lines import (
    Drawing,
    LimitPolicy,
    Line,
    LineEvaluation,
    LineEvent,
    LineVersion,
    PublishRequest,
    Scenario,
    StationTrial,
    VersionGate,
    VersionRule,
    VersionStation,
)
from pipelines.models.pauses import Pause
from pipelines.models.people import (
    Absence,
    AddressMinute,
    AdministrativeAct,
    ApiToken,
    Group,
    Membership,
    Owner,
    Project,
    Role,
    SignInLink,
    TaskCounter,
    User,
)
from pipelines.models.permissions import ToolPermission
from pipelines.models.repeats import RecordedAnswer
from pipelines.models.repositories import (
    AllowedFolder,
    BranchPush,
    Delivery,
    Repository,
    RepositoryProtection,
    VisitCommit,
)
from pipelines.models.retention import KeptReceipt, Tombstone
from pipelines.models.runners import RunnerResult, RunnerUpload
from pipelines.models.stored_values import StoredValue
from pipelines.models.tasks import (
    ASKS,
    DISPLAYED,
    ENDED,
    UNKNOWN,
    WAITING_FOR_INPUT,
    Priority,
    Retention,
    Status,
    Task,
    TaskText,
    Token,
    overdue_condition,
    running_due_at,
    with_display_status,
)
from pipelines.models.timers import Due
from pipelines.models.triggers import Trigger, TriggerDelivery, WebhookAddress, WebhookSecret
from pipelines.models.work import (
    Artifact,
    Blob,
    IgnoredReport,
    Job,
    Lease,
    LogChunk,
    Purpose,
    Snapshot,
    Upload,
    Worker,
)

__all__ = [
    "ASKS",
    "DISPLAYED",
    "DUE_TIME",
    "ENDED",
    "UNKNOWN",
    "WAITING_FOR_INPUT",
    "Absence",
    "AddressMinute",
    "AdministrativeAct",
    "Agent",
    "AgentEvent",
    "AllowedFolder",
    "ApiToken",
    "Artifact",
    "Blob",
    "BranchPush",
    "BulkCommand",
    "BulkEntry",
    "Comment",
    "Deadlock",
    "Decision",
    "Delivery",
    "Dependency",
    "Drawing",
    "Due",
    "Escalation",
    "Event",
    "GateVisit",
    "Group",
    "Handoff",
    "HealthBreach",
    "HookReceipt",
    "HostLink",
    "HostNotice",
    "IgnoredReport",
    "Incident",
    "Invitation",
    "IssueTrigger",
    "Job",
    "KeptReceipt",
    "Lease",
    "LimitPolicy",
    "Line",
    "LineEvaluation",
    "LineEvent",
    "LineVersion",
    "LogChunk",
    "Membership",
    "Migration",
    "MigrationEntry",
    "Owner",
    "Pause",
    "Priority",
    "Project",
    "PublishRequest",
    "Purpose",
    "RecordedAnswer",
    "Repository",
    "RepositoryProtection",
    "Retention",
    "Role",
    "RunnerResult",
    "RunnerUpload",
    "SampledDraw",
    "Scenario",
    "SeenTree",
    "SignInLink",
    "Snapshot",
    "StationTrial",
    "Status",
    "StoredValue",
    "Task",
    "TaskCounter",
    "TaskText",
    "Token",
    "Tombstone",
    "ToolPermission",
    "Trigger",
    "TriggerDelivery",
    "Upload",
    "User",
    "VersionGate",
    "VersionRule",
    "VersionStation",
    "ViewedFile",
    "VisitCommit",
    "Vote",
    "WebhookAddress",
    "WebhookSecret",
    "Word",
    "Worker",
    "overdue_condition",
    "running_due_at",
    "with_display_status",
]
