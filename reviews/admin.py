"""Read-only lists of what reviews store, in Django's admin."""

from __future__ import annotations

from typing import Any

from django.db.models import Model

from pipelines.admin import register_with_list_options
from reviews.models import (
    AskedPlace,
    ChannelConnection,
    ChannelMessage,
    ChatAccount,
    ChatCode,
    Digest,
    Follow,
    Mail,
    MailLink,
    Notice,
    Notification,
    NotificationSettings,
    Remark,
    ReviewClaim,
    ReviewQuestion,
    ReviewSnooze,
    Sitting,
)

LIST_OPTIONS: dict[type[Model], dict[str, Any]] = {
    # The outbox: only moves and the queue write its rows.
    Mail: {
        "list_display": ["visit", "address", "kind", "state", "created_at", "sent_at"],
        "list_filter": ["state", "kind"],
        "search_fields": ["address"],
    },
    ReviewClaim: {"list_display": ["visit", "user", "at", "until"]},
    ReviewQuestion: {"list_display": ["task", "gate", "asked_by", "asked", "at", "answered_at"]},
    ReviewSnooze: {"list_display": ["visit", "user", "until"]},
    Follow: {"list_display": ["user", "project", "task", "line", "station", "at"]},
    # Neither a token nor a signing secret, nor what they are encrypted to, nor the address, which of a webhook is a
    # secret too.
    ChannelConnection: {
        "list_display": ["name", "kind", "project", "enabled", "created_by", "created_at"],
        "list_filter": ["kind", "enabled"],
        "exclude": ["secret", "signing", "address"],
    },
    ChatAccount: {"list_display": ["user", "connection", "workspace", "account", "linked_at"]},
    ChatCode: {"list_display": ["user", "connection", "expires_at"], "exclude": ["digest"]},
    MailLink: {"list_display": ["user", "visit", "created_at", "used_at"], "exclude": ["digest"]},
    **{
        model: {}
        for model in (
            AskedPlace,
            ChannelMessage,
            Digest,
            Notice,
            Notification,
            NotificationSettings,
            Remark,
            Sitting,
        )
    },
}
register_with_list_options(LIST_OPTIONS)
