"""Lines, and the published versions that tasks are pinned to."""

from __future__ import annotations

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from pipelines.models.people import Project, slug
from pipelines.routing.document.model import REVISION


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
    created_at = models.DateTimeField()
    archived_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["project", "key"], name="line_key_in_project")]

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
