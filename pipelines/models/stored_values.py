"""Secrets and variables: values that stations get by name (house §5)."""

from __future__ import annotations

from django.conf import settings
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Q

from pipelines.models.lines import Line
from pipelines.models.people import Owner, Project
from pipelines.routing.document.work.references import NAME

value_name = RegexValidator(
    f"^{NAME.pattern}", "Use capitals, digits and “_”, beginning with a capital; at most 64 characters."
)


class StoredValue(models.Model):
    """A value of an owner, a project or a line. Where several have the same name, the nearest counts."""

    class ValueKind(models.TextChoices):
        SECRET = "secret", "Secret"
        VARIABLE = "variable", "Variable"

    owner = models.ForeignKey(Owner, models.CASCADE, null=True, blank=True, related_name="stored_values")
    project = models.ForeignKey(Project, models.CASCADE, null=True, blank=True, related_name="stored_values")
    line = models.ForeignKey(Line, models.CASCADE, null=True, blank=True, related_name="stored_values")
    kind = models.CharField(max_length=8, choices=ValueKind.choices)
    name = models.CharField(max_length=64, validators=[value_name])
    content = models.TextField(
        help_text="Of a variable its value, of a secret what its value is encrypted to."
    )
    changed_at = models.DateTimeField()
    changed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    last_used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(owner__isnull=False, project__isnull=True, line__isnull=True)
                | Q(owner__isnull=True, project__isnull=False, line__isnull=True)
                | Q(owner__isnull=True, project__isnull=True, line__isnull=False),
                name="stored_value_has_one_place",
            ),
            models.CheckConstraint(
                condition=Q(kind__in=["secret", "variable"]), name="stored_value_kind_known"
            ),
            models.UniqueConstraint(
                fields=["owner", "name"], condition=Q(owner__isnull=False), name="value_name_in_owner"
            ),
            models.UniqueConstraint(
                fields=["project", "name"], condition=Q(project__isnull=False), name="value_name_in_project"
            ),
            models.UniqueConstraint(
                fields=["line", "name"], condition=Q(line__isnull=False), name="value_name_in_line"
            ),
        ]

    def __str__(self) -> str:
        return self.name
