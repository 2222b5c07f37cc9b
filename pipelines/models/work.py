"""Jobs, who runs them, and what they leave behind."""

from __future__ import annotations

import uuid

from django.db import models
from django.db.models import Q
from django.db.models.fields.json import KeyTransform
from django.db.models.lookups import IsNull

from pipelines.models.lines import LineVersion
from pipelines.models.people import ApiToken, Project
from pipelines.models.tasks import Task, Token


class Worker(models.Model):
    """A driver process, or a runner on another machine. `seen_at` is renewed with its leases; /healthz reads it."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    name = models.CharField(max_length=200)
    host = models.CharField(max_length=200)
    pid = models.PositiveIntegerField()
    labels = models.JSONField(default=list)
    owners = models.JSONField(null=True, blank=True, help_text="Keys of those it serves; null: all.")
    # Which conditions it can answer besides its stations' work, see pipelines/ports/leases.py
    answers = models.JSONField(default=list)
    offers = models.JSONField(
        null=True, blank=True, help_text="What it has of what stations need; null: everything."
    )
    agents = models.JSONField(
        default=dict,
        help_text="{agent: {path, version, seconds}} of the coding agents that are installed here.",
    )
    programs = models.JSONField(
        null=True,
        blank=True,
        help_text="Tools of repositories on the path of stations; null: it did not say.",
    )
    registries = models.JSONField(
        default=dict,
        help_text="{tool: hosts} of tools that say from which hosts they take packages here.",
    )
    isolation = models.CharField(max_length=40, help_text="What separates stations here, or “none”.")
    cuts_network = models.BooleanField(
        default=False, help_text="Whether a station without the network is kept from it here."
    )
    limits_hosts = models.BooleanField(
        default=False, help_text="Whether a station with a list of hosts is kept to it here."
    )
    # Of a runner: the token by which it came, and the only project that it serves.
    token = models.ForeignKey(ApiToken, models.CASCADE, null=True, blank=True, related_name="runners")
    project = models.ForeignKey(Project, models.CASCADE, null=True, blank=True, related_name="runners")
    concurrency = models.PositiveIntegerField(default=0)
    machine = models.JSONField(default=dict, help_text="{os, arch, python, git, version} as it says itself.")
    last_job = models.BigIntegerField(
        null=True,
        blank=True,
        help_text="Of a runner of ALP, whose reports name none: the job it got last.",
    )
    started_at = models.DateTimeField()
    seen_at = models.DateTimeField()
    stopping = models.BooleanField(default=False)
    # Its disk, or the storage of artifacts, took nothing more when it last tried
    no_space = models.BooleanField(default=False)
    stopped_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return self.name


class Purpose(models.TextChoices):
    """Purpose of a job: the work of its station, or a question about what that work left (law §3, §6)."""

    STATION = "station", "Station"
    EVALUATION = "evaluation", "Evaluation"
    CHECK = "check", "Check of a gate"


class Job(models.Model):
    """Job: an execution of one station for one token, the record of a visit. Or, with another purpose, a
    question that a decision asks about such a visit: `kind` then says who answers it."""

    class State(models.TextChoices):
        QUEUED = "queued", "Queued"
        RUNNING = "running", "Running"
        DONE = "done", "Done"

    task = models.ForeignKey(Task, models.CASCADE, related_name="jobs", db_index=False)
    token = models.ForeignKey(Token, models.CASCADE, related_name="jobs")
    pinned = models.ForeignKey(
        LineVersion, models.PROTECT, related_name="+", db_index=False, help_text="Judged under it."
    )
    # Where its version's stations are in the version to which its task was migrated meanwhile (docs/versions.md).
    mapping = models.JSONField(default=dict, help_text="{old station: new station}, for its next move.")
    station = models.CharField(max_length=64)
    kind = models.CharField(max_length=32)
    # Of the agent whose capacity it takes while it is open; "" where its station names none.
    agent = models.CharField(max_length=64, blank=True, default="")
    purpose = models.CharField(max_length=10, choices=Purpose.choices, default=Purpose.STATION)
    question = models.JSONField(null=True, blank=True, help_text="As the decision asks it.")
    question_digest = models.CharField(max_length=64, blank=True)
    visit = models.PositiveIntegerField(help_text="Entry of this task into this station, from 1.")
    # Its task's priority, which never changes: an index has what waits in the order in which it is claimed.
    rank = models.PositiveSmallIntegerField(default=1, db_default=1, help_text="0 high, 1 medium, 2 low.")
    state = models.CharField(max_length=8, choices=State.choices, default=State.QUEUED)
    attempt = models.PositiveIntegerField(default=1)
    feedback = models.TextField(blank=True)
    asked = models.TextField(blank=True, help_text="The question that the feedback answers.")
    # The attempt's, None between attempts. A manual job runs without (law §1).
    lease_key = models.UUIDField(null=True, blank=True)
    worker = models.ForeignKey(Worker, models.SET_NULL, null=True, blank=True, related_name="jobs")
    outcome = models.JSONField(null=True, blank=True, help_text="As recorded, untouched (law §5).")
    result = models.CharField(max_length=10, blank=True)
    exit_code = models.IntegerField(null=True, blank=True)
    summary = models.TextField(blank=True)
    # The fence: the accepted report's digest and the answer that an identical repeat gets again.
    report_digest = models.CharField(max_length=64, blank=True)
    report_answer = models.JSONField(null=True, blank=True)
    reported_by = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField()
    not_before = models.DateTimeField(
        null=True, blank=True, help_text="It looked, and looks again then: no worker waits with it."
    )
    started_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["token"],
                condition=~Q(state="done"),
                name="one_open_job_per_token",
            ),
            models.UniqueConstraint(
                fields=["task", "station", "visit"],
                condition=Q(purpose="station"),
                name="one_job_per_visit",
            ),
            # What was closed before anybody answered may be asked again.
            models.UniqueConstraint(
                fields=["token", "visit", "question_digest"],
                condition=~Q(purpose="station") & ~Q(result="cancelled"),
                name="a_question_is_asked_once",
            ),
            models.CheckConstraint(
                condition=Q(purpose="station", question__isnull=True)
                | (Q(purpose__in=["evaluation", "check"], question__isnull=False) & ~Q(question_digest="")),
                name="a_question_says_what_it_asks",
            ),
            models.CheckConstraint(
                condition=Q(state__in=["queued", "running", "done"]),
                name="job_state_known",
            ),
            models.CheckConstraint(condition=Q(attempt__gte=1, visit__gte=1), name="job_counts_from_one"),
            models.CheckConstraint(
                condition=Q(state="done", outcome__isnull=False, ended_at__isnull=False)
                | (~Q(state="done") & Q(outcome__isnull=True, ended_at__isnull=True)),
                name="a_done_job_has_an_outcome",
            ),
            models.CheckConstraint(
                # A person and the clock work without a lease.
                condition=~Q(state="running") | Q(lease_key__isnull=False) | Q(kind__in=["manual", "wait"]),
                name="a_running_job_has_a_lease",
            ),
        ]
        indexes = [
            models.Index(fields=["agent"], condition=~Q(state="done") & ~Q(agent=""), name="job_of_agent"),
            models.Index(fields=["state", "id"], condition=~Q(state="done"), name="job_open"),
            # What waits at each station, in the order in which it is claimed.
            models.Index(
                fields=["pinned", "station", "purpose", "kind", "rank", "created_at", "id"],
                condition=Q(state="queued"),
                name="job_queued",
            ),
            models.Index(
                fields=["ended_at"],
                condition=Q(IsNull(KeyTransform("usage", KeyTransform("facts", "outcome")), rhs=False)),
                name="job_of_cost",
            ),
            # Insights read the jobs of a line and a range of time from this alone. One is entered when it is done, a
            # moment at which its row gets new entries in any case.
            models.Index(
                fields=["pinned", "created_at"],
                include=("id", "station", "kind", "purpose", "started_at", "ended_at"),
                condition=Q(state="done"),
                name="job_of_version",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.station} #{self.visit}"


class IgnoredReport(models.Model):
    """A late or contradicting report that moved nothing: one event at the first, then this counter (law §5)."""

    job = models.ForeignKey(Job, models.CASCADE, related_name="ignored")
    attempt = models.PositiveIntegerField()
    digest = models.CharField(max_length=64)
    count = models.PositiveIntegerField(default=1)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["job", "attempt", "digest"], name="one_row_per_ignored_report")
        ]

    def __str__(self) -> str:
        return f"{self.job_id}.{self.attempt} × {self.count}"


class Lease(models.Model):
    """The right to work on a job, in a narrow table: all of a worker's are renewed by one statement (house §2)."""

    job = models.OneToOneField(Job, models.CASCADE, primary_key=True, related_name="lease")
    key = models.UUIDField()
    worker = models.ForeignKey(Worker, models.CASCADE, related_name="leases")
    expires_at = models.DateTimeField()

    class Meta:
        indexes = [models.Index(fields=["expires_at"], name="lease_by_expiry")]


class LogChunk(models.Model):
    """A compressed piece of a job's log. `position` counts the bytes of text before it."""

    job = models.ForeignKey(Job, models.CASCADE, related_name="log")
    attempt = models.PositiveIntegerField()
    number = models.PositiveIntegerField()
    position = models.PositiveBigIntegerField()
    lines_before = models.PositiveBigIntegerField(default=0)
    data = models.BinaryField(help_text="zlib of UTF-8 text: whole lines, each “seconds<TAB>text”.")
    at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["job", "attempt", "number"], name="log_chunk_in_order")
        ]


class Blob(models.Model):
    """Stored bytes by content: artifacts, snapshots and outputs above 256 KiB (house §4)."""

    digest = models.CharField(max_length=64, primary_key=True, help_text="SHA-256, hex.")
    size = models.PositiveBigIntegerField()
    name = models.CharField(max_length=300, help_text="Name in the artifact storage.")
    created_at = models.DateTimeField()
    released_at = models.DateTimeField(
        null=True,
        blank=True,
        help_text="When something that used it was deleted. If nothing uses it a day later, it is deleted.",
    )

    class Meta:
        indexes = (
            models.Index(
                fields=["released_at"], condition=Q(released_at__isnull=False), name="blob_released"
            ),
        )


class Upload(models.Model):
    """A file that somebody uploaded to a project for an input. Only its own project may name it by its digest."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="uploads")
    blob = models.ForeignKey(Blob, models.PROTECT, related_name="+")
    name = models.CharField(max_length=200)
    by = models.CharField(max_length=200)
    at = models.DateTimeField()
    content = models.CharField(
        max_length=10, blank=True, default="", help_text="What its first bytes say; empty: nobody looked."
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "blob", "name"], name="one_upload_of_a_name")
        ]

    def __str__(self) -> str:
        return self.name


class Artifact(models.Model):
    """A file that a job handed over."""

    task = models.ForeignKey(Task, models.CASCADE, related_name="artifacts")
    job = models.ForeignKey(Job, models.CASCADE, related_name="artifacts")
    name = models.CharField(max_length=300)
    media_type = models.CharField(max_length=100, default="application/octet-stream")
    blob = models.ForeignKey(Blob, models.PROTECT, related_name="+")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["job", "name"], name="artifact_name_in_job")]


class Snapshot(models.Model):
    """The workspace after an executing station, from which a worker elsewhere goes on (house §2)."""

    task = models.ForeignKey(Task, models.CASCADE, related_name="snapshots")
    job = models.OneToOneField(Job, models.CASCADE, related_name="snapshot")
    digest = models.CharField(max_length=64)
    manifest = models.JSONField(help_text="[{path, mode, digest, size} or {path, link}]")
    size = models.PositiveBigIntegerField()
    created_at = models.DateTimeField()
