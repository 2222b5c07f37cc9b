"""The table of everything for which a person must act, in the order in which the page shows the kinds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django import forms

from pipelines.models import Deadlock, Escalation, GateVisit, Job, Token
from pipelines.web.shell.forms import (
    AnswerForm,
    Fact,
    GivenHandoff,
    Reason,
    Resolved,
    SeenForm,
    SeenReason,
    Supplied,
    Unlocked,
)
from reviews.decision.asked import MOST
from reviews.inbox import acts, finding
from reviews.inbox.item import Act, InboxItem, InboxKind, InboxViewer, Link, Verb
from reviews.models import ReviewQuestion


class ReviewerReply(forms.Form):
    """Form of a reply, of no position: the answer to a question stays right whatever moves meanwhile."""

    text = forms.CharField(label="Answer", max_length=10_000)


RETRY = Act("retry", "Retry", "reason", SeenReason, acts.retry)
CANCEL = Act("cancel", "Cancel the task", "reason", Reason, acts.cancel, danger=True)

KINDS: tuple[InboxKind, ...] = (
    InboxKind(
        "gate", "Reviews", "A task continues only after your decision.", GateVisit, finding.gates,
        (Link("review", "Review", acts.review_url),),
    ),
    InboxKind(
        "reply", "Questions about reviews", "A reviewer asks you about your task.", ReviewQuestion,
        finding.replies,
        (Act("reply", "Answer", "reply", ReviewerReply, acts.reply),
         Link("review", "Open the review", acts.question_url)),
    ),
    InboxKind(
        "evaluation", "Evaluations", "A condition that only you can answer.", Token, finding.evaluations,
        (Act("answer", "Answer", "words", Fact, acts.answer_evaluation), CANCEL),
    ),
    InboxKind(
        "question", "Questions", "A station asks before it continues.", Token, finding.questions,
        (Act("answer", "Answer", "text", AnswerForm, acts.answer), CANCEL),
    ),
    InboxKind(
        "approval", "Approvals of tools", "A station asks whether it may call tools.", Token,
        finding.approvals,
        (Act("approve", "Approve", "nothing", SeenForm, acts.approve),
         Act("deny", "Deny", "reason", SeenReason, acts.deny), CANCEL),
    ),
    InboxKind(
        "manual", "Manual stations", "Work done by a person.", Job, finding.manual,
        (Link("complete", "Do the work", acts.completion_url),),
    ),
    InboxKind(
        "blocked", "Blocked", "A station could not continue by itself.", Token, finding.blocked,
        (Act("answer", "Answer what it needs", "text", AnswerForm, acts.answer), RETRY, CANCEL),
    ),
    InboxKind(
        "stuck", "Stuck", "The engine could not decide where the task goes.", Token, finding.stuck,
        (RETRY, Link("draw", "Change the line", acts.editor_url, acts.may_design),
         Link("migrate", "Migrate", acts.impact_url, acts.may_design), CANCEL),
    ),
    InboxKind(
        "escalation", "Escalations", "Somebody responsible decides how a task continues.", Escalation,
        finding.escalations,
        (Act("resolve", "Resolve", "resolve", Resolved, acts.resolve), Link("look", "Open the task", acts.task_url)),
    ),
    InboxKind(
        "deadlock", "Deadlocks", "Work is on hold until somebody resolves it.", Deadlock,
        finding.deadlocks,
        (Act("unlock", "Resolve", "unlock", Unlocked, acts.unlock), Link("look", "Open the task", acts.task_url)),
    ),
    InboxKind(
        "missing", "On hold for something missing", "A task cannot continue yet.", Token, finding.missing,
        (Act("supply", "Add what is missing", "metadata", Supplied, acts.supply, offered=acts.lacks_metadata),
         Act("handoff", "Provide the handoff", "handoff", GivenHandoff, acts.hand_over, offered=acts.lacks_handoff),
         Link("agents", "See the agents", acts.agents_url, acts.lacks_an_agent),
         Link("look", "Open the task", acts.task_url), RETRY, CANCEL),
    ),
    InboxKind(
        "held", "On hold",
        "Somebody holds the task, nothing has changed since it was rejected, or what it waits for did not complete.",
        Token,
        finding.on_hold,
        (Act("release", "Release", "nothing", SeenForm, acts.release, offered=acts.is_releasable),
         Act("retry", "Retry", "reason", SeenReason, acts.retry, offered=acts.is_retryable), CANCEL),
    ),
)  # fmt: skip
BY_KEY = {kind.key: kind for kind in KINDS}


@dataclass(frozen=True)
class OfferedVerb:
    """A verb of one need: `href` where it is done on a page of its own, else None, and `act` is done in place."""

    key: str
    label: str
    href: str | None
    act: Act | None


@dataclass(frozen=True)
class OfferedItem:
    """A need with the verbs that this person is offered."""

    need: InboxItem
    kind: InboxKind
    verbs: tuple[OfferedVerb, ...]

    def act(self, key: str) -> Act | None:
        """The offered verb of this name, where it is done in place."""
        return next((verb.act for verb in self.verbs if verb.key == key), None)


def needs(viewer: InboxViewer) -> list[OfferedItem]:
    """Everything that needs this person, due first."""
    pairs = [(kind, need) for kind in KINDS for need in kind.query(viewer)]
    return [offer(kind, need, viewer) for kind, need in sorted(pairs, key=lambda pair: pair[1].order)]


def offer(kind: InboxKind, need: InboxItem, viewer: InboxViewer) -> OfferedItem:
    return OfferedItem(
        need, kind, tuple(_offered(verb, need) for verb in kind.verbs if verb.offered(need, viewer))
    )


def _offered(verb: Verb, need: InboxItem) -> OfferedVerb:
    href = verb.to(need) if isinstance(verb, Link) else None
    return OfferedVerb(verb.key, str(verb.label), href, verb if isinstance(verb, Act) else None)


def count(viewer: InboxViewer) -> str:
    """Return how much needs this person: “” for nothing, “200+” beyond what is counted."""
    return capped(finding.count_items(viewer, MOST + 1)) if viewer.visible_projects else ""


def capped(number: int) -> str:
    """A count as pages show it."""
    return f"{MOST}+" if number > MOST else str(number or "")


def narrowed(offered_items: Sequence[OfferedItem], kind: str, project: str) -> list[OfferedItem]:
    """`project`: `owner/key`; what is blank narrows nothing."""
    return [
        offered
        for offered in offered_items
        if kind in ("", offered.need.kind) and project in ("", "/".join(offered.need.keys))
    ]
