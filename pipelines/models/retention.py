"""Remains of a task that the retention of its project purged."""

from __future__ import annotations

from django.db import models

from pipelines.models.tasks import Task

DIGEST_BYTES = 32


class Tombstone(models.Model):
    """Proof of the events of a purged task: each can be recognised, none can be read. Line, version, outcome and times
    stand in the row of the task."""

    task = models.OneToOneField(Task, models.CASCADE, primary_key=True, related_name="tombstone")
    days = models.PositiveIntegerField(help_text="The retention of the project by which it was purged.")
    digests = models.BinaryField(
        help_text="SHA-256 of each event as it was exported, in canonical JSON: 32 bytes each, in order."
    )

    def __str__(self) -> str:
        return f"{self.task_id}"

    @property
    def event_digests(self) -> list[str]:
        digests = bytes(self.digests)
        places = range(0, len(digests), DIGEST_BYTES)
        return [digests[place : place + DIGEST_BYTES].hex() for place in places]


class KeptReceipt(models.Model):
    """Statement of the receipt of a delivery, of a task that was purged: what its signed receipt is made of."""

    job_id = models.BigIntegerField(primary_key=True, help_text="The delivery's.")
    task = models.ForeignKey(Task, models.CASCADE, related_name="kept_receipts")
    commit = models.CharField(max_length=64)
    landed_at = models.DateTimeField()
    statement = models.JSONField(help_text="As formats/receipts.py signs it.")

    class Meta:
        indexes = (models.Index(fields=["commit"], name="kept_receipt_commit"),)

    def __str__(self) -> str:
        return self.commit
