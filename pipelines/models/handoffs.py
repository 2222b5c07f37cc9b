"""Handoffs from one station to the next: a document, validated against a schema, with a name of its own (law
§9)."""

from __future__ import annotations

import json
import uuid

from django.db import models

from pipelines.models.tasks import Task
from pipelines.models.work import Job


class Handoff(models.Model):
    """`name` is `HO-{source}-{target}-{YYYYMMDDTHHMMSS}`, UTC; "" while a document that a person added has not moved
    yet. `source` and `target`: agents, where stations name them, else the stations."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    task = models.ForeignKey(Task, models.CASCADE, related_name="handoffs")
    # No index of its own: `handoff_by_job` begins with it.
    job = models.ForeignKey(Job, models.CASCADE, related_name="handed_on", db_index=False)
    to = models.ForeignKey(Job, models.CASCADE, null=True, blank=True, related_name="received")
    name = models.CharField(max_length=160, blank=True)
    source = models.CharField(max_length=64)
    target = models.CharField(max_length=64, blank=True)
    document = models.JSONField()
    faults = models.JSONField(default=list, help_text="What its schema finds wrong, each with its place.")
    by = models.CharField(max_length=200)
    at = models.DateTimeField()

    class Meta:
        indexes = [models.Index(fields=["job", "at"], name="handoff_by_job")]

    def __str__(self) -> str:
        return self.name or f"{self.source} → …"

    @property
    def text(self) -> str:
        """The document, to be read."""
        return json.dumps(self.document, indent=2, ensure_ascii=False)
