"""Gate visits and the votes on them."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Coalesce

from pipelines.models.lines import Line
from pipelines.models.people import User
from pipelines.models.tasks import Deadline, Task, Token
from pipelines.models.work import Job


class Word(models.TextChoices):
    """A person's word at a gate (law §5)."""

    APPROVE = "approve", "Approve"
    SEND_BACK = "send_back", "Send back"
    REJECT = "reject", "Reject"
    REWORK = "rework", "Rework"
    ABORT = "abort", "Abort"


DECISIONS = {
    Word.APPROVE: "Approved",
    Word.SEND_BACK: "Sent back",
    Word.REJECT: "Rejected",
    Word.REWORK: "Sent back",
    Word.ABORT: "Aborted",
}
RETURNS = (Word.SEND_BACK, Word.REJECT, Word.REWORK)
"""Words after which the same work may come to its gate once more."""
SELF_APPROVED = "Self-approved"
OVERRIDDEN = "Approved by override"
DUE_TIME = "due time"
"""Decides in place of a person where a gate rejects by the clock (law §6)."""
BY_DUE_TIME = "due time"


class GateVisit(Deadline):
    """Opening of a gate for one token. All open ones of a token belong to one decision (`asked_by`)."""

    class State(models.TextChoices):
        OPEN = "open", "Open"
        DECIDED = "decided", "Decided"
        CLOSED = "closed", "Closed without a decision"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    task = models.ForeignKey(Task, models.CASCADE, related_name="gate_visits")
    token = models.ForeignKey(Token, models.CASCADE, related_name="gate_visits")
    job = models.ForeignKey(
        Job,
        models.PROTECT,
        related_name="gate_visits",
        help_text="Whose outcome waits.",
    )
    asked_by = models.ForeignKey("Decision", models.PROTECT, related_name="gate_visits")
    gate = models.CharField(max_length=64)
    position = models.PositiveIntegerField(default=0, help_text="Among the gates asked together.")
    round = models.PositiveIntegerField(default=1, help_text="1 + times sent back so far.")
    token_version = models.PositiveIntegerField()
    evidence = models.JSONField(help_text="What is shown and voted on, without the files.")
    evidence_digest = models.CharField(max_length=64)
    producers = ArrayField(
        models.CharField(max_length=40),
        default=list,
        blank=True,
        help_text="Who worked on it by hand, or pushed to the branch: person:7. Besides whoever reported the job.",
    )
    state = models.CharField(max_length=8, choices=State.choices, default=State.OPEN)
    word = models.CharField(max_length=10, choices=Word.choices, blank=True)
    route = models.CharField(max_length=64, blank=True)
    reason = models.TextField(blank=True)
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.PROTECT,
        null=True,
        blank=True,
        related_name="+",
        db_index=False,
    )
    opened_at = models.DateTimeField()
    decided_at = models.DateTimeField(null=True, blank=True)
    overridden = models.BooleanField(
        default=False, help_text="An administrator approved it instead of the people it asks."
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["token", "gate"],
                condition=Q(state="open"),
                # A board reads no visit to know what its columns have.
                include=("position", "opened_at", "due_at", "paused_at"),
                name="one_open_visit_of_token_and_gate",
            ),
            models.CheckConstraint(condition=Q(word__in=["", *Word.values]), name="gate_word_known"),
            models.CheckConstraint(
                condition=(Q(state="decided") & ~Q(word="") & Q(decided_at__isnull=False))
                | (Q(state="open") & Q(word="") & Q(decided_at__isnull=True))
                | (Q(state="closed") & Q(word="") & Q(decided_at__isnull=False)),
                name="a_gate_visit_is_decided_once",
            ),
        ]
        indexes = [
            models.Index(fields=["task"], condition=Q(state="open"), name="gate_visit_open"),
            models.Index(fields=["decided_by", "-decided_at", "-id"], name="gate_visit_decided"),
            models.Index(
                fields=["due_at"], condition=Q(state="open", due_at__isnull=False), name="gate_visit_due"
            ),
            # Insights read the decisions of a range of time, and how long each took from this alone.
            models.Index(
                fields=["decided_at"],
                include=("job", "opened_at"),
                condition=Q(decided_at__isnull=False),
                name="gate_visit_over_at",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.gate} · {self.state}"

    @property
    def decision_fields(self) -> dict[str, str]:
        """Decision of the visit, as a situation has it."""
        fields = {"decision": self.word, "route": self.route, "reason": self.reason}
        return {key: value for key, value in fields.items() if value}

    @property
    def decider(self) -> User | str | None:
        """The person whose word decided, or the due time that passed; None where nothing was decided."""
        return self.decided_by or (str(BY_DUE_TIME) if self.word else None)

    @property
    def self_approved(self) -> bool:
        """Approved by who was barred from it, in a project that had nobody else (law §6)."""
        return self.word == Word.APPROVE and any(vote.self_approved for vote in self.votes.all())

    @property
    def word_display(self) -> str:
        if self.overridden:
            return str(OVERRIDDEN)
        return str(SELF_APPROVED) if self.self_approved else self.get_word_display()

    @property
    def decision_text(self) -> str:
        """“Sent back by Ann”, "" where nothing was decided."""
        if not self.word:
            return ""
        is_plain = not self.overridden and not self.self_approved
        return f"{DECISIONS[Word(self.word)] if is_plain else self.word_display} by {self.decider}"


class Vote(models.Model):
    """Vote of one person on one gate visit, bound to the evidence that was displayed."""

    visit = models.ForeignKey(GateVisit, models.CASCADE, related_name="votes")
    # No index of its own: `vote_latest_of_person` begins with it.
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="votes", db_index=False)
    stands_for = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.PROTECT,
        null=True,
        blank=True,
        related_name="+",
        db_index=False,
        help_text="Who was away, and in whose place the person voted.",
    )
    word = models.CharField(max_length=10, choices=Word.choices)
    reason = models.TextField(blank=True)
    route = models.CharField(max_length=64, blank=True)
    token_version = models.PositiveIntegerField()
    evidence_digest = models.CharField(max_length=64)
    # What entitled the person at that moment, or whoever they stand for: {"roles": […], "groups": […]} (house §3 I5);
    # `people` from the one who was away to the person, where they stand in; `alone` where the project had nobody
    # else, `self_approved` where they could approve only because of it (law §6); `chat`, through which it came, and
    # the id of whoever connected that, who could have cast it as well (law §15).
    entitled_as = models.JSONField()
    fields = models.JSONField(default=dict, help_text="What was filled in, by the keys of the gate's fields.")
    via = models.CharField(max_length=10, help_text="page, api, mail or the name of a chat")
    at = models.DateTimeField()

    class Meta:
        indexes = [
            models.Index(fields=["user", "-at", "-visit"], name="vote_latest_of_person"),
            # Most votes say nothing: those that do are found without the rest.
            models.Index(fields=["visit"], condition=~Q(reason=""), name="vote_with_reason"),
        ]
        constraints = [
            models.UniqueConstraint(fields=["visit", "user"], name="one_vote_per_person"),
            models.UniqueConstraint("visit", Coalesce("stands_for", "user"), name="one_vote_per_seat"),
            models.CheckConstraint(condition=Q(word__in=Word.values), name="vote_word_known"),
            models.CheckConstraint(
                condition=~Q(word__in=["reject", "send_back"]) | Q(reason__regex=r"\S"),
                name="refusing_needs_a_reason",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user} · {self.word}"

    @property
    def seat_id(self) -> int:
        """Id of the person whose place this vote fills. Nobody's place is filled twice (law §6, Absence)."""
        return self.stands_for_id or self.user_id

    @property
    def chat(self) -> str:
        """Name the chat through which it came, "" for any other way."""
        return str(self.entitled_as.get("chat", ""))

    @property
    def connected_by(self) -> int | None:
        """Identify whoever connected that chat."""
        return self.entitled_as.get("connected_by")

    @property
    def self_approved(self) -> bool:
        return bool(self.entitled_as.get("self_approved"))

    @property
    def word_display(self) -> str:
        return str(SELF_APPROVED) if self.self_approved else self.get_word_display()


class SampledDraw(models.Model):
    """Draw of a gate that asks about a sample: what it has asked about is asked about again ever after (law
    §15). `about`: `task:<id>`, the first task of its chain, `change:<digest>`, its changed lines,
    `request:<digest>`, the inputs of one that was drawn and that nobody has approved, or `ALL`, every task since
    something went wrong."""

    ALL = "all"

    line = models.ForeignKey(Line, models.CASCADE, related_name="+")
    gate = models.CharField(max_length=64)
    about = models.CharField(max_length=80)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["line", "gate", "about"], name="one_draw_per_gate_and_change")
        ]

    def __str__(self) -> str:
        return f"{self.gate} · {self.about}"
