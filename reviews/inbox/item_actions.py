"""Acts of a person on an inbox item: each goes through the engine, as on the task's own page."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.urls import reverse

from pipelines import engine
from pipelines.models import GateVisit, User
from pipelines.routing.document.preconditions import AGENT, HANDOFF
from pipelines.web.tasks.start import input_values_of_form
from reviews.attention import questions
from reviews.inbox.item import InboxItem, InboxViewer

ActFields = dict[str, Any]


def answer_station_question(need: InboxItem, user: User, fields: ActFields) -> str:
    """Answer a question: the station runs again with the answer."""
    engine.answer_blocked_token(
        int(need.key), user=user, token_version=fields["token_version"], text=fields["text"]
    )
    return "Answered"


def answer_reviewer_question(need: InboxItem, user: User, fields: ActFields) -> str:
    """Answer what a reviewer asked; the review stays as it is."""
    visit = GateVisit.objects.select_related("task__project").get(pk=need.about["visit"])
    questions.answer_question(visit, int(need.key), user, fields["text"])
    return "Answered"


def allow_shown_tool_calls(need: InboxItem, user: User, fields: ActFields) -> str:
    """Allow the calls that are shown: the answer that a station of kind `tools` waits for."""
    engine.answer_blocked_token(
        int(need.key), user=user, token_version=fields["token_version"], text="approve"
    )
    return "Approved"


def deny_shown_tool_calls(need: InboxItem, user: User, fields: ActFields) -> str:
    """Deny them, starting with a word that no station takes for a yes."""
    text = f"Denied: {fields['reason']}"
    engine.answer_blocked_token(int(need.key), user=user, token_version=fields["token_version"], text=text)
    return "Denied"


def allow_tool_call(need: InboxItem, user: User, fields: ActFields) -> str:
    """Allow the call that is shown, this once."""
    engine.answer_tool_permission(int(need.key), user=user, digest=fields["digest"], allow=True)
    return "Allowed"


def deny_tool_call(need: InboxItem, user: User, fields: ActFields) -> str:
    """Deny it; the agent is told the reason."""
    engine.answer_tool_permission(
        int(need.key), user=user, digest=fields["digest"], allow=False, reason=fields["reason"]
    )
    return "Denied"


def answer_evaluation(need: InboxItem, user: User, fields: ActFields) -> str:
    """Answer an evaluation: the same situation is decided again with the answer."""
    engine.answer_blocked_token(
        int(need.key),
        user=user,
        token_version=fields["token_version"],
        text=fields["text"],
        fact=fields["answer"],
    )
    return "Answered"


def retry_position(need: InboxItem, user: User, fields: ActFields) -> str:
    engine.move_or_retry_by_hand(int(need.key), user=user, token_version=fields["token_version"])
    return f"Only {need.place} runs again" if need.branch else "Runs again"


def resolve_escalation(need: InboxItem, user: User, fields: ActFields) -> str:
    engine.resolve_escalation(UUID(need.key), user=user, **fields)
    return "Resolved"


def resolve_deadlock(need: InboxItem, user: User, fields: ActFields) -> str:
    engine.resolve_deadlock(UUID(need.key), user=user, **fields)
    return "Resolved"


def supply_metadata(need: InboxItem, user: User, fields: ActFields) -> str:
    """Supply metadata that a precondition asks for: the task is decided again with it."""
    metadata = input_values_of_form(need.about["metadata"], fields["posted"], "metadata")
    engine.supply_metadata_and_decide_again(
        int(need.key), user=user, token_version=fields["token_version"], values=metadata
    )
    return "Added"


def hand_over(need: InboxItem, user: User, fields: ActFields) -> str:
    engine.store_handoff_and_decide_again(
        int(need.key), user=user, token_version=fields["token_version"], document=fields["document"]
    )
    return "Handed over"


def release_hold(need: InboxItem, user: User, fields: ActFields) -> str:
    engine.release(int(need.key), user=user, token_version=fields["token_version"])
    return "Released"


def cancel_task(need: InboxItem, user: User, fields: ActFields) -> str:
    engine.cancel(need.task.pk, actor=engine.Actor.person(user), reason=fields["reason"])
    return "Cancelled"


# Where a verb is offered


def is_held_by_person_or_dependencies(need: InboxItem, viewer: InboxViewer) -> bool:
    """Return whether a person put it on hold, or it waits for other tasks."""
    return "by" in need.about["wait"] or "depends_on" in need.about["wait"]


def is_held_for_neither_person_nor_dependencies(need: InboxItem, viewer: InboxViewer) -> bool:
    return not is_held_by_person_or_dependencies(need, viewer)


def lacks_metadata(need: InboxItem, viewer: InboxViewer) -> bool:
    return bool(need.about["metadata"])


def lacks_handoff_document(need: InboxItem, viewer: InboxViewer) -> bool:
    return HANDOFF in need.about["wait"]["missing"]


def lacks_agent(need: InboxItem, viewer: InboxViewer) -> bool:
    return any(name.startswith(f"{AGENT}:") for name in need.about["wait"]["missing"])


def viewer_may_design_project(need: InboxItem, viewer: InboxViewer) -> bool:
    return need.task.project in viewer.designable_projects


# Where the others lead


def review_url(need: InboxItem) -> str:
    return reverse("gate-visit", args=[need.key])


def question_url(need: InboxItem) -> str:
    return reverse("gate-visit", args=[need.about["visit"]]) + f"#question-{need.key}"


def completion_url(need: InboxItem) -> str:
    return reverse("job-complete", args=[*need.owner_and_project_keys, need.task.name, need.key])


def editor_url(need: InboxItem) -> str:
    return reverse("line-draw", args=[*need.owner_and_project_keys, need.task.line.key])


def impact_url(need: InboxItem) -> str:
    return reverse("line-impact", args=[*need.owner_and_project_keys, need.task.line.key])


def agents_url(need: InboxItem) -> str:
    return reverse("project-agents", args=[*need.owner_and_project_keys])


def log_url(need: InboxItem) -> str:
    return f"{need.task_url}?tab=log#panel"


def task_url(need: InboxItem) -> str:
    return need.task_url
