"""Tasks, and their positions: one token, or one for each branch while the task is forked."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Case, Exists, F, OuterRef, Q, QuerySet, Subquery, Value, When
from django.db.models.expressions import Combinable
from django.db.models.lookups import Exact
from django.utils.functional import cached_property

from pipelines.models.lines import Line, LineVersion
from pipelines.models.people import Project


class Status(models.TextChoices):
    """Status of a token; that of a task is derived from its tokens (law §1)."""

    QUEUED = "queued", "Queued"
    RUNNING = "running", "Running"
    EVALUATING = "evaluating", "Evaluating"
    AWAITING_REVIEW = "awaiting_review", "Waiting for review"
    HELD = "held", "On hold"
    BLOCKED = "blocked", "Blocked"
    STUCK = "stuck", "Stuck"
    COMPLETED = "completed", "Completed"
    FAILED = "failed", "Failed"
    CANCELLED = "cancelled", "Cancelled"


ENDED = (Status.COMPLETED, Status.FAILED, Status.CANCELLED)

WAITING_FOR_INPUT = "waiting_for_input"
"""Shown, never stored: a person has to give something (law §12, Waiting). Ranked after awaiting_review."""
DISPLAYED = [*Status.choices[:4], (WAITING_FOR_INPUT, "Waiting for input"), *Status.choices[4:]]
"""Every status that is shown, with its word."""
ASKS = Q(status=Status.BLOCKED, wait__has_key="question") & ~Q(wait__has_key="evaluation")
"""A token that is blocked with a question."""


class Retention(models.IntegerChoices):
    """Retention part of a task that has ended, by the retention of its project."""

    ALL = 0, "Everything"
    RECORD = 1, "Without logs and files"
    TOMBSTONE = 2, "Purged"


UNKNOWN = "unknown"
"""Among the requesters of a task: an issue started it, and nobody is known who may have asked for it there."""


class Priority(models.TextChoices):
    LOW = "low", "Low"
    MEDIUM = "medium", "Medium"
    HIGH = "high", "High"

    @property
    def rank(self) -> int:
        """Return its place in the order in which work is claimed: 0 comes first."""
        return {"high": 0, "medium": 1, "low": 2}[self.value]


class Deadline(models.Model):
    """Model with a due time, or none. While `paused_at` is set its clock stands still since then."""

    due_at = models.DateTimeField(null=True, blank=True)
    paused_at = models.DateTimeField(
        null=True, blank=True, help_text="Since when the clock of its due time stands still (law §17)."
    )

    class Meta:
        abstract = True

    @property
    def running_due_at(self) -> datetime | None:
        """The due time, None while a pause stops its clock. What had passed before stays."""
        stands = self.due_at and self.paused_at and self.paused_at < self.due_at
        return None if stands else self.due_at

    @property
    def due_after_pause(self) -> timedelta | None:
        """Time that is left when the pause is over; None where no clock stands still."""
        if self.due_at is None or self.paused_at is None or self.running_due_at is not None:
            return None
        return self.due_at - self.paused_at


def overdue_condition(now: datetime | Combinable, prefix: str = "") -> Q:
    """Return the condition of a due time that has passed, and not while a pause stopped its clock. `prefix`: of the
    fields, such as `task__`."""
    due, paused = f"{prefix}due_at", f"{prefix}paused_at"
    return Q(**{f"{due}__lt": now}) & (Q(**{paused: None}) | Q(**{f"{due}__lt": F(paused)}))


def running_due_at_expression() -> Case:
    """Return `Deadline.running_due_at` for the database."""
    runs = Q(paused_at=None) | Q(paused_at__gte=F("due_at"))
    return Case(When(runs, then=F("due_at")), output_field=models.DateTimeField())


class Task(Deadline):
    """Task: a work item, numbered WI-{project}-{sequence}. Its status and counters are derived: a fold of its
    events."""

    project = models.ForeignKey(Project, models.PROTECT, related_name="tasks", db_index=False)
    line = models.ForeignKey(Line, models.PROTECT, related_name="tasks", db_index=False)
    pinned = models.ForeignKey(LineVersion, models.PROTECT, related_name="tasks")
    number = models.PositiveBigIntegerField()
    title = models.CharField(max_length=300)
    description = models.TextField(blank=True)
    requester = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.PROTECT,
        null=True,
        blank=True,
        related_name="requested_tasks",
    )
    requested_by = models.CharField(max_length=200, help_text="The requester's name at that time.")
    requesters = ArrayField(
        models.CharField(max_length=40),
        default=list,
        blank=True,
        help_text="Who else may have asked for it, by an issue or a machine: person:7, or unknown for nobody known.",
    )
    priority = models.CharField(max_length=6, choices=Priority.choices, default=Priority.MEDIUM)
    labels = ArrayField(models.CharField(max_length=100), default=list, blank=True)
    # Terminal is final: new work from an item that has ended is a new one, linked to it (law §8, AEEF E13).
    follows = models.ForeignKey("self", models.PROTECT, null=True, blank=True, related_name="followed_by")
    # Of a retry: the visit of the followed task that it repeats, whose files it begins with (law §12). Of a fork: the
    # last visit of the position that it was forked from, by the moment of the fork (law §17).
    retry_of = models.ForeignKey("Job", models.PROTECT, null=True, blank=True, related_name="retries")
    fork_event = models.PositiveIntegerField(
        null=True,
        blank=True,
        help_text="Of a fork: the number of the event of the followed task with whose files it begins (law §17).",
    )
    limit_key = models.CharField(
        max_length=100,
        blank=True,
        help_text="Of the limit of its line: it counts with those of the same key.",
    )
    inputs = models.JSONField(default=dict)
    context = models.JSONField(default=dict)
    variables = models.JSONField(default=dict)
    unreadable = models.JSONField(
        default=dict, help_text="{key of the context: station whose output could not be read}"
    )
    # law §5 step 9: {station: n}, {"a->b": n}, {rule id: n}, {gate key: n}, {"station:failure type": n}
    visits = models.JSONField(default=dict)
    edges = models.JSONField(default=dict)
    rules = models.JSONField(default=dict)
    rounds = models.JSONField(default=dict)
    failures = models.JSONField(default=dict)
    status = models.CharField(max_length=16, choices=Status.choices, default=Status.QUEUED)
    end = models.CharField(max_length=64, blank=True)
    error = models.CharField(max_length=64, blank=True)
    reason = models.TextField(blank=True, help_text="Why it was rejected, aborted or cancelled (ALP A16).")
    escalations = models.PositiveIntegerField(default=0, help_text="How many are open now.")
    seq = models.PositiveIntegerField(default=0, help_text="The number of the last event.")
    created_at = models.DateTimeField()
    changed_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)
    retention = models.PositiveSmallIntegerField(
        choices=Retention.choices, default=Retention.ALL, db_default=Retention.ALL
    )
    purged_at = models.DateTimeField(
        null=True, blank=True, help_text="When the retention of the project last deleted something of it."
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "number"], name="task_number_in_project"),
            models.CheckConstraint(condition=Q(status__in=Status.values), name="task_status_known"),
            models.CheckConstraint(condition=Q(priority__in=Priority.values), name="task_priority_known"),
            models.CheckConstraint(
                condition=Q(status__in=ENDED, ended_at__isnull=False)
                | (~Q(status__in=ENDED) & Q(ended_at__isnull=True)),
                name="task_ended_at_its_end",
            ),
        ]
        indexes = [
            models.Index(fields=["line", "status"], name="task_by_line_status"),
            models.Index(fields=["project", "-created_at"], name="task_by_project"),
            # Lists over several projects: the newest of them without reading all.
            models.Index(fields=["-created_at", "-id"], name="task_newest"),
            models.Index(
                fields=["line", "-ended_at"],
                condition=Q(ended_at__isnull=False),
                name="task_ended",
            ),
            models.Index(
                fields=["line", "id"],
                condition=Q(ended_at__isnull=True),
                name="task_open",
            ),
            models.Index(
                fields=["due_at"],
                condition=Q(ended_at__isnull=True, due_at__isnull=False),
                name="task_due",
            ),
            # What the retention of a project deletes next, without what it has purged.
            models.Index(
                fields=["project", "retention", "ended_at"],
                condition=Q(ended_at__isnull=False, retention__lt=Retention.TOMBSTONE),
                name="task_by_retention",
            ),
            # Healing of lost hints reads what changed in the last seconds (house §4).
            models.Index(fields=["changed_at"], name="task_changed"),
        ]

    def __str__(self) -> str:
        return self.name

    @cached_property
    def display_status(self) -> str:
        """Status that pages and the API show. A list reads it with its rows, see `tasks_with_display_status`."""
        # Only these may be shown as another one, so that all others need no query
        if self.status not in (Status.RUNNING, Status.EVALUATING, Status.BLOCKED):
            return self.status
        status: str = (
            tasks_with_display_status(Task.objects.filter(pk=self.pk))
            .values_list("display_status", flat=True)
            .get()
        )
        return status

    def refresh_from_db(self, *args: Any, **more: Any) -> None:
        """Forget the status that was read with the row, too."""
        self.__dict__.pop("display_status", None)
        super().refresh_from_db(*args, **more)

    @property
    def is_purged(self) -> bool:
        return self.retention == Retention.TOMBSTONE

    @property
    def followed_name(self) -> str:
        """The name of the task that this one follows, of the same project; or nothing."""
        return f"WI-{self.project.key}-{self.follows.number}" if self.follows else ""

    @property
    def name(self) -> str:
        """`WI-app-42`."""
        return f"WI-{self.project.key}-{self.number}"


class TaskText(models.Model):
    """Text that a search of tasks looks up: title, labels and number, in capitals, a line each. Written by
    triggers alone, and apart from the task because every move would write its index there
    (migrations/0155_task_text)."""

    task = models.OneToOneField(
        Task, models.DO_NOTHING, primary_key=True, db_constraint=False, related_name="+"
    )
    text = models.TextField()

    def __str__(self) -> str:
        return self.text


class Token(models.Model):
    """A position of a task. `version` grows with every change of the row: votes and reports are bound to it."""

    task = models.ForeignKey(Task, models.CASCADE, related_name="tokens")
    parent = models.ForeignKey("self", models.CASCADE, null=True, blank=True, related_name="children")
    version = models.PositiveIntegerField(default=1)
    station = models.CharField(max_length=64)
    status = models.CharField(max_length=16, choices=Status.choices, default=Status.QUEUED)
    origin = models.CharField(max_length=64, blank=True)
    forked = models.BooleanField(default=False, help_text="Waits for its children; not a live position.")
    # Ended as part of this one, at a join (law §7): its end is not the task's.
    joined = models.ForeignKey(
        "self", models.CASCADE, null=True, blank=True, related_name="merged", db_index=False
    )
    signal_reworks = models.PositiveIntegerField(default=0)
    # What would free it, see pipelines/engine/moves/decision_application.py: {decision, question, missing, gates, to,
    # rule, evaluation, evaluator, why, trigger, message, rejection, by, was}; of a forked one {to,
    # branches}; at a join {join}, see pipelines/engine/moves/joins.py
    wait = models.JSONField(default=dict)
    error = models.CharField(max_length=64, blank=True)
    end = models.CharField(max_length=64, blank=True)
    entered_at = models.DateTimeField()
    changed_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(status__in=Status.values), name="token_status_known"),
            models.CheckConstraint(
                condition=Q(status__in=ENDED, ended_at__isnull=False)
                | (~Q(status__in=ENDED) & Q(ended_at__isnull=True)),
                name="token_ended_at_its_end",
            ),
            models.CheckConstraint(
                condition=~Q(status="stuck") | ~Q(error=""),
                name="stuck_names_its_error",
            ),
            models.CheckConstraint(
                condition=Q(forked=False) | Q(ended_at__isnull=True),
                name="forked_until_it_ends",
            ),
        ]
        indexes = [models.Index(fields=["task"], condition=Q(ended_at__isnull=True), name="token_alive")]

    def __str__(self) -> str:
        return f"{self.task_id}@{self.station}"

    @property
    def waits_at_join(self) -> bool:
        return "join" in self.wait and self.status == Status.QUEUED

    @property
    def is_branch(self) -> bool:
        """It is one of several positions into which its task was forked."""
        return self.parent_id is not None

    @property
    def asks_question(self) -> bool:
        """It is blocked with a question: `ASKS`, of one that was read."""
        return self.status == Status.BLOCKED and "question" in self.wait and "evaluation" not in self.wait


def tasks_with_display_status(rows: QuerySet[Task]) -> QuerySet[Any]:
    """Return the tasks with `display_status`: the status, but *waiting for input* where that comes first
    among the positions of the task."""
    by_hand = Task.objects.filter(pk=OuterRef("pk"), jobs__state="running", jobs__kind="manual")
    # law §1, §12: blocked, held, awaiting review, and behind them waiting for input
    foremost = Case(
        When(~ASKS, status=Status.BLOCKED, then=Value(0)),
        When(status=Status.HELD, then=Value(1)),
        When(status=Status.AWAITING_REVIEW, then=Value(2)),
        default=Value(3),
    )
    # One value of one task, not EXISTS, which PostgreSQL may answer by hashing the positions of every task.
    living = Token.objects.filter(task=OuterRef("pk"), forked=False, ended_at__isnull=True)
    foremost_status = living.annotate(foremost=foremost).order_by("foremost").values("foremost")[:1]
    blocked = Case(
        *(
            When(Exact(Subquery(foremost_status), place), then=Value(status.value))
            for place, status in enumerate((Status.BLOCKED, Status.HELD, Status.AWAITING_REVIEW))
        ),
        default=Value(WAITING_FOR_INPUT),
    )
    status_case = Case(
        When(
            Q(status__in=(Status.RUNNING, Status.EVALUATING)) & Exists(by_hand), then=Value(WAITING_FOR_INPUT)
        ),
        When(status=Status.BLOCKED, then=blocked),
        default=F("status"),
    )
    return rows.annotate(display_status=status_case)  # type: ignore[no-redef]
