"""The record of administrative acts. Append-only: the database refuses to alter or delete a row (migration 0031)."""

from __future__ import annotations

from django.db import models

from pipelines.models.people import Project


class AdministrativeAct(models.Model):
    """Record of who changed what about people, their permissions or their credentials."""

    at = models.DateTimeField()
    actor = models.CharField(max_length=200, help_text="person:7, or command for the shell")
    kind = models.CharField(max_length=40, help_text="A key of pipelines.ports.audit.KINDS.")
    project = models.ForeignKey(
        Project, models.PROTECT, null=True, related_name="acts", help_text="Empty: of the installation."
    )
    about = models.CharField(max_length=200, blank=True, help_text="person:7, group:3, token:12 …")
    name = models.CharField(max_length=300, blank=True, help_text="What it was called at that time.")
    data = models.JSONField(default=dict)

    class Meta:
        ordering = ["-pk"]
        indexes = [
            models.Index(fields=["project", "-id"], name="act_of_project"),
            models.Index(fields=["about", "-id"], name="act_about"),
        ]

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M} {self.actor} {self.kind} {self.name}"
