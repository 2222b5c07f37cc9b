"""Message that says what a decision starts: it is true only until the task has moved on."""

from __future__ import annotations

from django.contrib.messages import get_messages
from django.contrib.messages.storage.base import Message
from django.http import HttpRequest

from pipelines.models import Status

MOVING = frozenset({Status.QUEUED, Status.RUNNING, Status.EVALUATING})
_WHILE = "while-"


def moving_if_at_work_else_status(status: str) -> str:
    """Return the state of a task as far as such a message depends on it: that it moves, or where it waits or ended."""
    return "moving" if status in MOVING else status


STAY_WHILE = {status.value: f"stays {_WHILE}{moving_if_at_work_else_status(status)}" for status in Status}
"""{status: tags of a message that stays until the task's standing changes}."""


def current_messages(request: HttpRequest, status: str) -> list[Message]:
    """Return the messages for the page of a task, without those that its state has outdated."""
    return [message for message in get_messages(request) if _is_current(message, status)]


def _is_current(message: Message, status: str) -> bool:
    conditions = [tag for tag in message.tags.split() if tag.startswith(_WHILE)]
    return not conditions or f"{_WHILE}{moving_if_at_work_else_status(status)}" in conditions
