"""Lines, their versions, and what is stored beside them: scenarios, drawings, trials of a station."""

from __future__ import annotations

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q, Value

from pipelines.models.people import Project, slug
from pipelines.routing.document.model import REVISION


class LimitPolicy(models.TextChoices):
    """Policy for a task that is one more than a line may have open at once (law §8)."""

    QUEUE = "queue", "It waits for its turn"
    REPLACE = "replace", "It replaces the oldest, which is cancelled"


class Line(models.Model):
    """A pipeline, edited as a draft: one JSON document with a version number, which may be invalid."""

    project = models.ForeignKey(Project, models.PROTECT, related_name="lines")
    key = models.CharField(max_length=64, validators=[slug])
    name = models.CharField(max_length=200)
    draft = models.JSONField(default=dict)
    draft_text = models.TextField(
        blank=True,
        help_text="The draft as it was typed, comments included; empty if made elsewhere.",
    )
    draft_number = models.PositiveIntegerField(default=1)
    draft_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
    )
    draft_at = models.DateTimeField(null=True, blank=True)
    draft_hands = models.JSONField(
        default=dict,
        blank=True,
        help_text="Who changed what since it was published: see pipelines/formats/authorship.py",
    )
    draft_writers = ArrayField(
        models.BigIntegerField(),
        default=list,
        blank=True,
        help_text="Ids of who saved the draft since the line was published.",
    )
    live = models.ForeignKey("LineVersion", models.PROTECT, null=True, blank=True, related_name="+")
    drawing = models.ForeignKey(
        "Drawing",
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="lines",
        help_text="What lists show: of the live version, or before there is one, of the draft.",
    )
    created_at = models.DateTimeField()
    archived_at = models.DateTimeField(null=True, blank=True)
    maintainer = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        help_text="The member who answers for it.",
    )
    tags = ArrayField(models.CharField(max_length=40), default=list, db_default=[], blank=True)
    limit_tasks = models.PositiveSmallIntegerField(
        null=True, blank=True, help_text="So many of its tasks may be open at once; empty: any number."
    )
    limit_key = models.CharField(
        max_length=200,
        blank=True,
        help_text="Path over the inputs: tasks with the same value are counted together; empty: all.",
    )
    limit_over = models.CharField(
        max_length=7,
        choices=LimitPolicy.choices,
        default=LimitPolicy.QUEUE,
        help_text="What becomes of one task more.",
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "key"], name="line_key_in_project"),
            models.CheckConstraint(
                condition=models.Q(limit_tasks__isnull=True) | models.Q(limit_tasks__gte=1),
                name="a_limit_lets_one_task_work",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class LineVersion(models.Model):
    """A published, immutable, canonical document (house §3 I14); a trigger refuses every change but another name."""

    line = models.ForeignKey(Line, models.PROTECT, related_name="versions")
    number = models.PositiveIntegerField()
    document = models.JSONField()
    digest = models.CharField(max_length=64)
    law = models.PositiveSmallIntegerField(default=1)
    revision = models.PositiveSmallIntegerField(
        default=REVISION, help_text="Of the law under which it was published, and is read ever after."
    )
    name = models.CharField(max_length=200, blank=True)
    published_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.PROTECT,
        null=True,
        blank=True,
        related_name="+",
    )
    published_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["line", "number"], name="version_number_in_line"),
            models.CheckConstraint(condition=Q(law__gte=1), name="version_has_a_law"),
        ]

    def __str__(self) -> str:
        return f"{self.line.key} v{self.number}"


class PublishRequest(models.Model):
    """A draft that somebody asks another designer to publish, where a protection says so (law §14)."""

    class State(models.TextChoices):
        OPEN = "open", "Waits for another designer"
        PUBLISHED = "published", "Published"
        SENT_BACK = "sent_back", "Sent back"
        REPLACED = "replaced", "Asked for anew"

    line = models.ForeignKey(Line, models.CASCADE, related_name="publish_requests")
    draft = models.PositiveIntegerField(help_text="The number of the draft; another one makes it void.")
    digest = models.CharField(max_length=64, help_text="Of the draft: other content makes it void.")
    name = models.CharField(max_length=200, blank=True)
    requested_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    requested_at = models.DateTimeField()
    state = models.CharField(max_length=9, choices=State.choices, default=State.OPEN)
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, null=True, blank=True, related_name="+"
    )
    decided_at = models.DateTimeField(null=True, blank=True)
    reason = models.TextField(blank=True)
    version = models.OneToOneField(LineVersion, models.CASCADE, null=True, blank=True, related_name="+")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["line"], condition=Q(state="open"), name="one_open_publish_request_of_a_line"
            )
        ]

    def __str__(self) -> str:
        return f"{self.line} · {self.state}"


class LineEvent(models.Model):
    """The record of a line: who published, restored, named. Append-only, by a trigger."""

    class RecordKind(models.TextChoices):
        PUBLISHED = "published", "Published"
        NAMED = "named", "Named"
        RESTORED = "restored", "Restored as the draft"
        NOT_MIGRATED = "not_migrated", "Published, and not migrated"
        REREAD = "reread", "Guarantees read anew"
        ASKS_ALL = "asks_all", "A gate asks about all again"
        SAMPLES = "samples", "A gate samples again"

    # No index of its own: `record_of_line` begins with it.
    line = models.ForeignKey(Line, models.PROTECT, related_name="record", db_index=False)
    kind = models.CharField(max_length=16, choices=RecordKind.choices)
    version = models.ForeignKey(
        LineVersion, models.PROTECT, null=True, blank=True, related_name="+", db_index=False
    )
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, null=True, blank=True, related_name="+", db_index=False
    )
    at = models.DateTimeField()
    # published {draft, warnings, others, running} · named {was, name} · restored {source, draft, by, saved} ·
    # not_migrated {why, mapping, reason} · reread {revision, refuted: ids of guarantees} ·
    # asks_all {gate, name, cause, task} · samples {gate, name}
    data = models.JSONField(default=dict)
    # The draft that was put aside by restoring another, as it was stored.
    draft = models.JSONField(null=True, blank=True)
    draft_text = models.TextField(blank=True)

    class Meta:
        indexes = [models.Index(fields=["line", "-at"], name="record_of_line")]
        constraints = [
            models.CheckConstraint(
                condition=Q(
                    kind__in=[
                        *("published", "named", "restored", "not_migrated", "reread"),
                        *("asks_all", "samples"),
                    ]
                ),
                name="line_event_kind_known",
            )
        ]

    def __str__(self) -> str:
        return f"{self.line_id} {self.kind}"


class VersionStation(models.Model):
    """A read-only row of a published station: for keys, the admin and analytics."""

    version = models.ForeignKey(LineVersion, models.PROTECT, related_name="stations")
    position = models.PositiveIntegerField()
    key = models.CharField(max_length=64)
    name = models.CharField(max_length=200)
    kind = models.CharField(max_length=32)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["version", "key"], name="station_key_in_version")]
        ordering = ["version", "position"]

    def __str__(self) -> str:
        return self.key


class VersionRule(models.Model):
    version = models.ForeignKey(LineVersion, models.PROTECT, related_name="rules")
    station = models.ForeignKey(VersionStation, models.PROTECT, related_name="rules")
    position = models.PositiveIntegerField()
    key = models.CharField(max_length=64, help_text="The rule's id.")
    label = models.CharField(max_length=200, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["version", "key"], name="rule_id_in_version")]
        ordering = ["version", "station__position", "position"]

    def __str__(self) -> str:
        return self.key


class VersionGate(models.Model):
    version = models.ForeignKey(LineVersion, models.PROTECT, related_name="gates")
    position = models.PositiveIntegerField()
    key = models.CharField(max_length=64)
    name = models.CharField(max_length=200)
    mode = models.CharField(max_length=20)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["version", "key"], name="gate_key_in_version")]
        ordering = ["version", "position"]

    def __str__(self) -> str:
        return self.key


# Tests of a line: scripted walks that are kept with it, and belong to no version.


class Scenario(models.Model):
    """Scenario: a walk through a line, with what is expected of it (docs/testing.md)."""

    class Source(models.TextChoices):
        WRITTEN = "written", "Written"
        RECORDED = "recorded", "Recorded"
        GENERATED = "generated", "Generated"

    line = models.ForeignKey(Line, models.CASCADE, related_name="scenarios")
    key = models.CharField(max_length=64, validators=[slug])
    name = models.CharField(max_length=200)
    document = models.JSONField()
    source = models.CharField(max_length=12, choices=Source.choices, default=Source.WRITTEN)
    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
    )
    at = models.DateTimeField(help_text="When it was made or last changed.")
    runs = models.JSONField(
        default=dict,
        help_text="The last run against `draft` and against `live`, as pipelines/lines/scenarios.py keeps them.",
    )

    class Meta:
        constraints = [models.UniqueConstraint(fields=["line", "key"], name="scenario_key_in_line")]
        ordering = ["line", "key"]

    def __str__(self) -> str:
        return self.key


# Drawings of lines, stored: where parts stand, and the same as SVG.


class Drawing(models.Model):
    """Drawing of one picture, in a wide frame and in a narrow one; a picture of the same content has the same.

    `project`: null for what ships with Gateline. `wide` and `narrow`: "" until it is drawn."""

    project = models.ForeignKey(Project, models.CASCADE, null=True, blank=True, related_name="drawings")
    digest = models.CharField(max_length=64, help_text="Of the picture, and of the program that draws it.")
    picture = models.JSONField(help_text="What the canvas draws (pipelines/web/lines/drawing.py).")
    geometry = models.JSONField(default=dict, help_text="{wide, narrow}: {key, placed}")
    wide = models.TextField(blank=True)
    narrow = models.TextField(blank=True)
    used_at = models.DateTimeField(help_text="When a page last asked for it, to the day.")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "digest"], name="one_drawing_of_a_picture"),
            models.UniqueConstraint(
                fields=["digest"], condition=Q(project=None), name="one_shipped_drawing_of_a_picture"
            ),
        ]
        indexes = [models.Index(fields=["used_at"], name="drawing_by_use")]

    def __str__(self) -> str:
        return self.digest[:12]


# Runs of one station by itself, from the editor: no task has any part in them.


class LineEvaluation(models.Model):
    """Past tasks whose change was accepted, given once more to a station as a document has it. Its runs are trials:
    no task has any part in them. Deleted 90 days after it was started."""

    line = models.ForeignKey(Line, models.CASCADE, related_name="evaluations")
    station = models.CharField(max_length=64)
    check_station = models.CharField(
        max_length=64, blank=True, help_text="The command that runs on what the station made; empty: none."
    )
    document = models.JSONField(help_text="The line as it was drawn when this was started.")
    cost_limit = models.DecimalField(
        max_digits=12, decimal_places=4, help_text="In dollars. Once it is spent, no further run begins."
    )
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    created_at = models.DateTimeField()
    stopped_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [models.Index(fields=["created_at"], name="evaluation_by_age")]

    def __str__(self) -> str:
        return f"{self.station} of {self.line_id}"


class StationTrial(models.Model):
    """Trial run of a station as it is drawn, with its inputs. Deleted an hour after it was requested; one of an
    evaluation goes with that.

    `why`: how it ended without an outcome.
    """

    class State(models.TextChoices):
        QUEUED = "queued", "Queued"
        RUNNING = "running", "Running"
        DONE = "done", "Done"
        CANCELLED = "cancelled", "Cancelled"

    line = models.ForeignKey(Line, models.CASCADE, related_name="trials")
    station = models.CharField(max_length=64)
    document = models.JSONField(help_text="The line as it is drawn, stored or not.")
    inputs = models.JSONField(default=dict)
    context = models.JSONField(default=dict, help_text="What earlier stations are said to have handed on.")
    # No foreign key: a trial has no hold on what belongs to a task.
    source = models.BigIntegerField(
        null=True, blank=True, help_text="The recorded run whose inputs and files it gets; empty: typed."
    )
    evaluation = models.ForeignKey(
        LineEvaluation,
        models.CASCADE,
        null=True,
        blank=True,
        related_name="trials",
        help_text="Has the document.",
    )
    check_outcome = models.JSONField(null=True, blank=True, help_text="Of the check of an evaluation.")
    comparison = models.JSONField(
        default=dict,
        db_default=Value({}, models.JSONField()),
        help_text="With what was accepted: {seconds, tree, files, added, removed}.",
    )
    difference = models.TextField(
        blank=True, db_default="", help_text="From what was accepted, as a unified diff; bounded."
    )
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    state = models.CharField(max_length=10, choices=State.choices, default=State.QUEUED)
    log = models.TextField(blank=True, help_text="Whole lines, each “seconds<TAB>text”; bounded.")
    outcome = models.JSONField(null=True, blank=True)
    why = models.CharField(max_length=40, blank=True, help_text="A key of pipelines.lines.trials.ENDED.")
    created_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True, blank=True)
    seen_at = models.DateTimeField(
        null=True, blank=True, help_text="When its worker last said that it goes on."
    )
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["by"],
                condition=Q(state__in=["queued", "running"], evaluation__isnull=True),
                name="one_open_trial_per_person",
            ),
            models.CheckConstraint(
                condition=Q(state="done", outcome__isnull=False)
                | (~Q(state="done") & Q(outcome__isnull=True)),
                name="a_done_trial_has_an_outcome",
            ),
        ]
        indexes = [models.Index(fields=["created_at"], name="trial_by_age")]

    def __str__(self) -> str:
        return f"{self.station} ({self.state})"
