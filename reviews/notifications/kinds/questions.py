"""A reviewer asks this person about their task, or their own question was answered."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pipelines.ports.observers import Consequence, ReviewerAsked, ReviewerTold
from pipelines.templatetags.cuts import shortened
from reviews.models import Notification
from reviews.notifications.kind import Heard, NotificationEvent, NotificationKind, Said
from reviews.notifications.recipients import MailChoice

SHOWN = 500
"""Characters of the question in a mail; the page has all of it."""


def told(heard: Heard) -> Iterable[NotificationEvent]:
    both: list[ReviewerAsked | ReviewerTold] = [*heard.of(ReviewerAsked), *heard.of(ReviewerTold)]
    for each in both:
        word = "asked" if isinstance(each, ReviewerAsked) else "answered"
        yield NotificationEvent(
            each.user_id,
            f"question:{each.question_id}:{word}",
            each.project_id,
            each.at,
            each.task_id,
            {
                "name": each.name,
                "visit": str(each.visit_id),
                "question": each.question_id,
                "text": shortened(each.text, SHOWN),
            },
        )


def settled(batch: Sequence[Consequence]) -> Iterable[str]:
    """It was answered."""
    return [f"question:{each.question_id}:asked" for each in batch if isinstance(each, ReviewerTold)]


def says(row: Notification) -> Said:
    assert row.task is not None
    words = {"name": row.data["name"], "task": row.task.title}
    if row.about.endswith(":asked"):
        said, verb = "{name} asks you about “{task}”.".format(**words), "Answer"
    else:
        said, verb = "{name} answered your question about “{task}”.".format(**words), "Open the review"
    facts = [("Question", row.data["text"])]
    return Said(said, ("gate-visit", row.data["visit"]), verb, f"question-{row.data['question']}", facts)


KIND = NotificationKind(
    "questions",
    "Questions about reviews",
    "A reviewer asks you about your task, or your own question was answered.",
    "comment",
    MailChoice.NOW,
    (ReviewerAsked, ReviewerTold),
    told,
    says,
    settled=settled,
)
"""Its mail goes out at once: a review waits for the answer."""
