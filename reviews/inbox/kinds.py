"""The table of everything for which a person must act, in the order in which the page shows the kinds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from django import forms

from pipelines.models import Deadlock, Escalation, GateVisit, Job, Token, ToolPermission
from pipelines.web.shell.forms import (
    AnswerForm,
    DeadlockResolutionForm,
    EscalationResolutionForm,
    EvaluationAnswerForm,
    HandoffForm,
    MetadataForm,
    OptionalReasonForm,
    TokenVersionForm,
    VersionedReasonForm,
)
from reviews.decision.review_access import MOST
from reviews.inbox import item_actions, item_queries, late_items
from reviews.inbox.item import Act, InboxItem, InboxKind, InboxViewer, Link, Verb
from reviews.models import ReviewQuestion


class ReviewerReply(forms.Form):
    """Form of a reply, of no position: the answer to a question stays right whatever moves meanwhile."""

    text = forms.CharField(label="Answer", max_length=10_000)


class SeenCallForm(forms.Form):
    """Form of an answer to one call of a tool, named by the digest of what was shown."""

    digest = forms.CharField(max_length=64)


class DeniedCallForm(SeenCallForm):
    reason = forms.CharField(label="Reason", max_length=10_000)


RETRY = Act(
    "retry", "Retry", "nothing", TokenVersionForm, item_actions.retry_position, branch_label="Run %s again"
)
CANCEL = Act(
    "cancel", "Cancel the task", "optional_reason", OptionalReasonForm, item_actions.cancel_task, danger=True
)

KINDS: tuple[InboxKind, ...] = (
    InboxKind(
        "gate", "Reviews", "A task continues only after your decision.", GateVisit, item_queries.decidable_gate_items,
        (Link("review", "Review", item_actions.review_url),),
    ),
    InboxKind(
        "reply", "Questions about reviews", "A reviewer asks you about your task.", ReviewQuestion,
        item_queries.unanswered_reviewer_questions,
        (Act("reply", "Answer", "reply", ReviewerReply, item_actions.answer_reviewer_question),
         Link("review", "Open the review", item_actions.question_url)),
    ),
    InboxKind(
        "evaluation", "Evaluations", "A condition that only you can answer.", Token,
        item_queries.evaluations_only_people_can_answer,
        (Act("answer", "Answer", "words", EvaluationAnswerForm, item_actions.answer_evaluation), CANCEL),
    ),
    InboxKind(
        "question", "Questions", "A station asks before it continues.", Token,
        item_queries.station_questions_without_tool_approvals,
        (Act("answer", "Answer", "text", AnswerForm, item_actions.answer_station_question), CANCEL),
    ),
    InboxKind(
        "approval", "Approvals of tools", "A station asks whether it may call tools.", Token,
        item_queries.tool_call_approvals,
        (Act("approve", "Approve", "nothing", TokenVersionForm, item_actions.allow_shown_tool_calls),
         Act("deny", "Deny", "reason", VersionedReasonForm, item_actions.deny_shown_tool_calls), CANCEL),
    ),
    InboxKind(
        "permission", "Calls of agents", "An agent waits until you allow or deny a call of a tool.", ToolPermission,
        item_queries.permission_items,
        (Act("allow", "Allow once", "nothing", SeenCallForm, item_actions.allow_tool_call),
         Act("deny", "Deny", "call_reason", DeniedCallForm, item_actions.deny_tool_call)),
    ),
    InboxKind(
        "manual", "Manual stations", "Work done by a person.", Job, item_queries.running_manual_station_items,
        (Link("complete", "Complete", item_actions.completion_url),),
    ),
    InboxKind(
        "blocked", "Blocked", "A station could not continue by itself.", Token,
        item_queries.blocked_items_without_question,
        (Act("answer", "Answer", "text", AnswerForm, item_actions.answer_station_question), RETRY,
         CANCEL),
    ),
    InboxKind(
        "stuck", "Stuck", "The engine could not decide where the task goes.", Token, item_queries.stuck_items,
        (RETRY, Link("draw", "Change the line", item_actions.editor_url, item_actions.viewer_may_design_project),
         Link("migrate", "Migrate", item_actions.impact_url, item_actions.viewer_may_design_project), CANCEL),
    ),
    InboxKind(
        "late", "Late", "A station takes longer than it expects.", Token, late_items.late_items,
        (replace(RETRY, key="again", label="Run again"),
         Link("log", "Open the log", item_actions.log_url), CANCEL),
    ),
    InboxKind(
        "escalation", "Escalations", "Somebody responsible decides how a task continues.", Escalation,
        item_queries.open_escalations_for_viewer_roles,
        (Act("resolve", "Resolve", "resolve", EscalationResolutionForm, item_actions.resolve_escalation),
         Link("look", "Open the task", item_actions.task_url)),
    ),
    InboxKind(
        "deadlock", "Deadlocks", "Work is on hold until somebody resolves it.", Deadlock,
        item_queries.open_deadlocks_for_viewer_roles,
        (Act("unlock", "Resolve", "unlock", DeadlockResolutionForm, item_actions.resolve_deadlock),
         Link("look", "Open the task", item_actions.task_url)),
    ),
    InboxKind(
        "missing", "On hold for something missing", "A task cannot continue yet.", Token,
        item_queries.items_held_for_preconditions,
        (Act("supply", "Add what is missing", "metadata", MetadataForm, item_actions.supply_metadata,
             offered=item_actions.lacks_metadata),
         Act("handoff", "Provide the handoff", "handoff", HandoffForm, item_actions.hand_over,
             offered=item_actions.lacks_handoff_document),
         Link("agents", "See the agents", item_actions.agents_url, item_actions.lacks_agent),
         Link("look", "Open the task", item_actions.task_url), RETRY, CANCEL),
    ),
    InboxKind(
        "held", "On hold",
        "Somebody holds the task, nothing has changed since it was rejected, or what it waits for did not complete.",
        Token,
        item_queries.items_on_hold_otherwise,
        (Act("release", "Release", "nothing", TokenVersionForm, item_actions.release_hold,
             offered=item_actions.is_held_by_person_or_dependencies),
         replace(RETRY, offered=item_actions.is_held_for_neither_person_nor_dependencies), CANCEL),
    ),
)  # fmt: skip
BY_KEY = {kind.key: kind for kind in KINDS}

MAIN_LETTER = "e"
LETTERS = {"retry": "t", "again": "t", "log": "l", "look": "o"}
"""Keys that lead to a verb (static/ts/letters.ts); those of a decision are others: A, R, D and C."""


@dataclass(frozen=True)
class OfferedVerb:
    """A verb of one need: `href` where it is done on a page of its own, else None, and `act` is done in place.
    `letters`: the keys that lead to it, separated by blanks."""

    key: str
    label: str
    href: str | None
    act: Act | None
    letters: str = ""


@dataclass(frozen=True)
class OfferedItem:
    """A need with the verbs that this person is offered."""

    need: InboxItem
    kind: InboxKind
    verbs: tuple[OfferedVerb, ...]

    def offered_act_or_none(self, key: str) -> Act | None:
        """The offered verb of this name, where it is done in place."""
        return next((verb.act for verb in self.verbs if verb.key == key), None)


def offered_items_due_first(viewer: InboxViewer) -> list[OfferedItem]:
    """Everything that needs this person, due first."""
    pairs = [(kind, need) for kind in KINDS for need in kind.query(viewer)]
    return [
        item_with_its_offered_verbs(kind, need, viewer)
        for kind, need in sorted(pairs, key=lambda pair: pair[1].order)
    ]


def item_with_its_offered_verbs(kind: InboxKind, need: InboxItem, viewer: InboxViewer) -> OfferedItem:
    verbs = [verb for verb in kind.verbs if verb.offered(need, viewer)]
    return OfferedItem(
        need, kind, tuple(_offered_verb(verb, need, is_main=verb is verbs[0]) for verb in verbs)
    )


def _offered_verb(verb: Verb, need: InboxItem, is_main: bool) -> OfferedVerb:
    href = verb.to(need) if isinstance(verb, Link) else None
    act = verb if isinstance(verb, Act) else None
    label = act.branch_label % need.place if act and act.branch_label and need.branch else verb.label
    # Where choices are buttons, the first of them is what is done
    letters = [MAIN_LETTER] if is_main and not need.choices else []
    letters += [LETTERS[verb.key]] if verb.key in LETTERS else []
    return OfferedVerb(verb.key, label, href, act, " ".join(letters))


def capped_count_text_of_needs(viewer: InboxViewer) -> str:
    """Return how much needs this person: “” for nothing, “200+” beyond what is counted."""
    if not viewer.visible_projects:
        return ""
    count = item_queries.count_items_up_to_limit_per_source(viewer, MOST + 1)
    return capped_count_text_or_empty(count + len(late_items.overrunning_programs(viewer)))


def capped_count_text_or_empty(number: int) -> str:
    """A count as pages show it."""
    return f"{MOST}+" if number > MOST else str(number or "")


def items_of_kind_and_project_if_given(
    offered_items: Sequence[OfferedItem], kind: str, project: str
) -> list[OfferedItem]:
    """`project`: `owner/key`; what is blank narrows nothing."""
    return [
        offered
        for offered in offered_items
        if kind in ("", offered.need.kind) and project in ("", "/".join(offered.need.owner_and_project_keys))
    ]
