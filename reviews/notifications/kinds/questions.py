"""A reviewer asks this person about their task, or their own question was answered."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pipelines.ports.observers import Consequence, QuestionAnswered, QuestionRaised
from pipelines.templatetags.cuts import shortened
from reviews.models import Notification
from reviews.notifications.kind import ConsequenceBatch, NotificationEvent, NotificationKind, NotificationText
from reviews.notifications.recipients import MailChoice

MAX_TEXT = 500
"""Characters of the question in a mail; the page has all of it."""


def events(batch_context: ConsequenceBatch) -> Iterable[NotificationEvent]:
    both: list[QuestionRaised | QuestionAnswered] = [
        *batch_context.consequences_of_type(QuestionRaised),
        *batch_context.consequences_of_type(QuestionAnswered),
    ]
    for event in both:
        word = "asked" if isinstance(event, QuestionRaised) else "answered"
        yield NotificationEvent(
            event.user_id,
            f"question:{event.question_id}:{word}",
            event.project_id,
            event.at,
            event.task_id,
            {
                "name": event.name,
                "visit": str(event.visit_id),
                "question": event.question_id,
                "text": shortened(event.text, MAX_TEXT),
            },
        )


def settled_subjects(batch: Sequence[Consequence]) -> Iterable[str]:
    """It was answered."""
    return [f"question:{event.question_id}:asked" for event in batch if isinstance(event, QuestionAnswered)]


def notification_text(row: Notification) -> NotificationText:
    assert row.task is not None
    words = {"name": row.data["name"], "task": row.task.title}
    if row.about.endswith(":asked"):
        sentence, verb = "{name} asks you about “{task}”.".format(**words), "Answer"
    else:
        sentence, verb = "{name} answered your question about “{task}”.".format(**words), "Open the review"
    facts = [("Question", row.data["text"])]
    return NotificationText(
        sentence, ("gate-visit", row.data["visit"]), verb, f"question-{row.data['question']}", facts
    )


KIND = NotificationKind(
    "questions",
    "Questions about reviews",
    "A reviewer asks you about your task, or your own question was answered.",
    "comment",
    MailChoice.NOW,
    (QuestionRaised, QuestionAnswered),
    events,
    notification_text,
    settled=settled_subjects,
)
"""Its mail goes out at once: a review waits for the answer."""
