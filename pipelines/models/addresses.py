"""Requests of people who are not signed in, by address and minute (pipelines/web/shell/rate_limits.py)."""

from __future__ import annotations

from django.db import models


class AddressMinute(models.Model):
    """Kept for minutes, in a table that is not logged: lost in a crash, and nothing is lost with it."""

    address = models.CharField(max_length=64)
    minute = models.DateTimeField()
    requests = models.PositiveIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["address", "minute"], name="one_count_a_minute")]
        indexes = [models.Index(fields=["minute"], name="address_minutes")]
