"""Agents of a project: who answers for them, what they may do, how much at once, and how far they are trusted
(law §8, AEEF REQ-009-01 and -02). A station names its agent by key."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.validators import MaxValueValidator, RegexValidator
from django.db import models
from django.db.models import Q

from pipelines.models.people import Project

agent_id = RegexValidator(
    # \Z: $ would let a line break at the end pass.
    r"^[a-z][a-z0-9-]{0,63}\Z",
    "Use a–z, 0–9 and “-”, beginning with a letter, at most 64 characters.",
)
EVERYWHERE = "*"
"""Among the stations of `trust`: all that it does not name."""


class Agent(models.Model):
    """`trust` {station: 0…3}; what it does not name is 0, full supervision."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="agents")
    key = models.CharField(max_length=64, validators=[agent_id])
    name = models.CharField(max_length=200, blank=True)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.PROTECT,
        related_name="owned_agents",
        help_text="The person who answers for it.",
    )
    # The contract (AEEF): without an entry in each of the three lists, or past its day, it is not valid.
    contract_version = models.CharField(max_length=40, blank=True)
    allowed_inputs = models.JSONField(default=list, blank=True)
    allowed_outputs = models.JSONField(default=list, blank=True)
    forbidden_actions = models.JSONField(default=list, blank=True)
    required_checks = models.JSONField(default=list, blank=True)
    escalates_to = models.CharField(max_length=100, blank=True)
    valid_until = models.DateTimeField(null=True, blank=True)
    capacity = models.PositiveIntegerField(
        null=True, blank=True, validators=[MaxValueValidator(100_000)], help_text="Open jobs at once."
    )
    trust = models.JSONField(default=dict, blank=True)
    suspended_at = models.DateTimeField(null=True, blank=True)
    suspended_by = models.CharField(max_length=200, blank=True)
    suspended_why = models.TextField(blank=True)
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "key"], name="agent_key_in_project"),
            models.CheckConstraint(
                condition=Q(suspended_at__isnull=True) | ~Q(suspended_why=""), name="a_suspension_says_why"
            ),
        ]

    def __str__(self) -> str:
        return self.name or self.key

    def has_contract(self, now: Any) -> bool:
        """Return whether the contract of the agent is complete and in force at this instant."""
        complete = self.contract_version and all(
            (self.allowed_inputs, self.allowed_outputs, self.required_checks)
        )
        return bool(complete) and (self.valid_until is None or self.valid_until > now)

    def trust_level_at(self, station: str) -> int:
        level: int = self.trust.get(station, self.trust.get(EVERYWHERE, 0))
        return level


class AgentEvent(models.Model):
    """The audit of an agent: who changed what, and when; also that its trust was raised or lowered. Append-only."""

    agent = models.ForeignKey(Agent, models.CASCADE, related_name="events")
    kind = models.CharField(max_length=20, help_text="added, changed, suspended, restored")
    actor = models.CharField(max_length=200)
    data = models.JSONField(default=dict)
    at = models.DateTimeField()

    class Meta:
        ordering = ["-pk"]
