"""Recorded answers to idempotency keys, so that a request which comes twice is carried out once."""

from __future__ import annotations

from django.db import models


class RecordedAnswer(models.Model):
    """The answer to the first request that one actor sent with a key. Rows expire, see web/shell/repeated_requests."""

    actor = models.CharField(max_length=80)
    key = models.CharField(max_length=255)
    request_digest = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField(default=0)
    body = models.BinaryField(default=b"", help_text="zlib of the JSON that was sent.")
    at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["actor", "key"], name="one_answer_per_key")]
        indexes = [
            models.Index(fields=["actor", "id"], name="answer_by_actor"),
            models.Index(fields=["at"], name="answer_by_age"),
        ]

    def __str__(self) -> str:
        return f"{self.actor} · {self.key}"
