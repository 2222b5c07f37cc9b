"""The table of everything for which a person must act, in the order in which the page shows the kinds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django import forms
from django.utils.translation import gettext_lazy as _

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
from reviews.asked import MOST
from reviews.inbox import acts, finding
from reviews.inbox.item import Act, InboxItem, InboxKind, Link, Mine, Verb
from reviews.models import ReviewQuestion


class ReviewerReply(forms.Form):
    """Of no position: the answer to a question stays right whatever moves meanwhile."""

    text = forms.CharField(label=_("Answer"), max_length=10_000)


RETRY = Act("retry", _("Retry"), "reason", SeenReason, acts.retry)
CANCEL = Act("cancel", _("Cancel the task"), "reason", Reason, acts.cancel, danger=True)

KINDS: tuple[InboxKind, ...] = (
    InboxKind(
        "gate", _("Reviews"), _("A task continues only after your decision."), GateVisit, finding.gates,
        (Link("review", _("Review"), acts.review),),
    ),
    InboxKind(
        "reply", _("Questions about reviews"), _("A reviewer asks you about your task."), ReviewQuestion,
        finding.replies,
        (Act("reply", _("Answer"), "reply", ReviewerReply, acts.reply),
         Link("review", _("Open the review"), acts.asked_in)),
    ),
    InboxKind(
        "evaluation", _("Evaluations"), _("A condition that only you can answer."), Token, finding.evaluations,
        (Act("answer", _("Answer"), "words", Fact, acts.settle), CANCEL),
    ),
    InboxKind(
        "question", _("Questions"), _("A station asks before it continues."), Token, finding.questions,
        (Act("answer", _("Answer"), "text", AnswerForm, acts.answer), CANCEL),
    ),
    InboxKind(
        "approval", _("Approvals of tools"), _("A station asks whether it may call tools."), Token,
        finding.approvals,
        (Act("approve", _("Approve"), "nothing", SeenForm, acts.approve),
         Act("deny", _("Deny"), "reason", SeenReason, acts.deny), CANCEL),
    ),
    InboxKind(
        "manual", _("Manual stations"), _("Work done by a person."), Job, finding.manual,
        (Link("complete", _("Do the work"), acts.complete),),
    ),
    InboxKind(
        "blocked", _("Blocked"), _("A station could not continue by itself."), Token, finding.blocked,
        (Act("answer", _("Answer what it needs"), "text", AnswerForm, acts.answer), RETRY, CANCEL),
    ),
    InboxKind(
        "stuck", _("Stuck"), _("The engine could not decide where the task goes."), Token, finding.stuck,
        (RETRY, Link("draw", _("Change the line"), acts.draw, acts.designs),
         Link("migrate", _("Migrate"), acts.impact, acts.designs), CANCEL),
    ),
    InboxKind(
        "escalation", _("Escalations"), _("Somebody responsible decides how a task continues."), Escalation,
        finding.escalations,
        (Act("resolve", _("Resolve"), "resolve", Resolved, acts.resolve), Link("look", _("Open the task"), acts.look)),
    ),
    InboxKind(
        "deadlock", _("Deadlocks"), _("Work is on hold until somebody resolves it."), Deadlock,
        finding.deadlocks,
        (Act("unlock", _("Resolve"), "unlock", Unlocked, acts.unlock), Link("look", _("Open the task"), acts.look)),
    ),
    InboxKind(
        "missing", _("On hold for something missing"), _("A task cannot continue yet."), Token, finding.missing,
        (Act("supply", _("Add what is missing"), "metadata", Supplied, acts.supply, offered=acts.lacks_metadata),
         Act("handoff", _("Provide the handoff"), "handoff", GivenHandoff, acts.hand_over, offered=acts.lacks_handoff),
         Link("agents", _("See the agents"), acts.agents, acts.lacks_an_agent),
         Link("look", _("Open the task"), acts.look), RETRY, CANCEL),
    ),
    InboxKind(
        "held", _("On hold"),
        _("Somebody holds the task, nothing has changed since it was rejected, or what it waits for did not complete."),
        Token,
        finding.held,
        (Act("release", _("Release"), "nothing", SeenForm, acts.release, offered=acts.let_go_by_hand),
         Act("retry", _("Retry"), "reason", SeenReason, acts.retry, offered=acts.run_again_by_hand), CANCEL),
    ),
)  # fmt: skip
BY_KEY = {kind.key: kind for kind in KINDS}


@dataclass(frozen=True)
class Offered:
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
    verbs: tuple[Offered, ...]

    def act(self, key: str) -> Act | None:
        """The offered verb of this name, where it is done in place."""
        return next((verb.act for verb in self.verbs if verb.key == key), None)


def needs(mine: Mine) -> list[OfferedItem]:
    """Everything that needs this person, due first."""
    found = [(kind, need) for kind in KINDS for need in kind.query(mine)]
    return [offer(kind, need, mine) for kind, need in sorted(found, key=lambda pair: pair[1].order)]


def offer(kind: InboxKind, need: InboxItem, mine: Mine) -> OfferedItem:
    return OfferedItem(
        need, kind, tuple(_offered(verb, need) for verb in kind.verbs if verb.offered(need, mine))
    )


def _offered(verb: Verb, need: InboxItem) -> Offered:
    href = verb.to(need) if isinstance(verb, Link) else None
    return Offered(verb.key, str(verb.label), href, verb if isinstance(verb, Act) else None)


def count(mine: Mine) -> str:
    """How much needs this person: “” for nothing, “200+” beyond what is counted."""
    return capped(finding.how_many(mine, MOST + 1)) if mine.seen else ""


def capped(number: int) -> str:
    """A count as pages show it."""
    return f"{MOST}+" if number > MOST else str(number or "")


def narrowed(found: Sequence[OfferedItem], kind: str, project: str) -> list[OfferedItem]:
    """`project`: `owner/key`; what is blank narrows nothing."""
    return [
        each for each in found if kind in ("", each.need.kind) and project in ("", "/".join(each.need.keys))
    ]
