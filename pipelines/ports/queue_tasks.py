"""The tasks of the queue: every name that may be enqueued, and the queues in which its tickets lie.

Whoever enqueues takes a name from here, and a worker starts only if it knows every task of the queues that it serves
(`work/scheduler/known_tasks.py`): a ticket whose name no module registers would be thrown away without a word."""

from __future__ import annotations

from collections.abc import Mapping

from pipelines.ports.terms import DRIVE, EVALUATE, EVALUATIONS, QUICK, TRIALS, TRY_STATION

MAIL, HOSTS, CHANNELS, DRAWINGS, BULK = "mail", "hosts", "channels", "drawings", "bulk"
DRIVE_TOKEN = "pipelines.drive"
FOLLOW_UP = "pipelines.follow_up"
START_AFTER = "pipelines.start_after"
TELL_HOST = "pipelines.tell_host"
DRAW, DRAW_VERSION, DRAW_DRAFT = "pipelines.draw", "pipelines.draw_version", "pipelines.draw_draft"
WORK_ON_BULK = "pipelines.work_on_bulk"
SEND_MAIL = "reviews.send_mail"
SEND_NOTICE = "reviews.send_notice"
SEND_NOTIFICATION = "reviews.send_notification"
SEND_DIGEST = "reviews.send_digest"
SEND_INVITATION = "reviews.send_invitation"
SEND_CHANNEL_MESSAGE = "reviews.send_channel_message"
SEND_CHAT_REPLY = "reviews.send_chat_reply"
TASKS: Mapping[str, frozenset[str]] = {
    DRIVE_TOKEN: frozenset((DRIVE, QUICK, EVALUATE)),
    FOLLOW_UP: frozenset((QUICK,)),
    START_AFTER: frozenset((QUICK,)),
    TRY_STATION: frozenset((TRIALS, EVALUATIONS)),
    TELL_HOST: frozenset((HOSTS,)),
    DRAW: frozenset((DRAWINGS,)),
    DRAW_VERSION: frozenset((DRAWINGS,)),
    DRAW_DRAFT: frozenset((DRAWINGS,)),
    WORK_ON_BULK: frozenset((BULK,)),
    SEND_MAIL: frozenset((MAIL,)),
    SEND_NOTICE: frozenset((MAIL,)),
    SEND_NOTIFICATION: frozenset((MAIL,)),
    SEND_DIGEST: frozenset((MAIL,)),
    SEND_INVITATION: frozenset((MAIL,)),
    SEND_CHANNEL_MESSAGE: frozenset((CHANNELS,)),
    SEND_CHAT_REPLY: frozenset((CHANNELS,)),
}
"""{name: queues}. One line adds a task."""
