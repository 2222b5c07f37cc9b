from django.contrib import admin

from pipelines.admin import ReadOnlyAdmin
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


@admin.register(Mail)
class MailAdmin(ReadOnlyAdmin):
    """The outbox: only moves and the queue write its rows."""

    list_display = ["visit", "address", "kind", "state", "created_at", "sent_at"]
    list_filter = ["state", "kind"]
    search_fields = ["address"]


@admin.register(ReviewClaim)
class ReviewClaimAdmin(ReadOnlyAdmin):
    list_display = ["visit", "user", "at", "until"]


@admin.register(ReviewQuestion)
class ReviewQuestionAdmin(ReadOnlyAdmin):
    list_display = ["task", "gate", "asked_by", "asked", "at", "answered_at"]


@admin.register(ReviewSnooze)
class ReviewSnoozeAdmin(ReadOnlyAdmin):
    list_display = ["visit", "user", "until"]


@admin.register(Follow)
class FollowAdmin(ReadOnlyAdmin):
    list_display = ["user", "project", "task", "line", "station", "at"]


@admin.register(ChannelConnection)
class ChannelConnectionAdmin(ReadOnlyAdmin):
    """Connections of channels: which there are; neither a token nor a signing secret, nor what they are
    encrypted to, nor the address, which of a webhook is a secret too."""

    list_display = ["name", "kind", "project", "enabled", "created_by", "created_at"]
    list_filter = ["kind", "enabled"]
    exclude = ["secret", "signing", "address"]


@admin.register(ChatAccount)
class ChatAccountAdmin(ReadOnlyAdmin):
    list_display = ["user", "connection", "workspace", "account", "linked_at"]


@admin.register(ChatCode)
class ChatCodeAdmin(ReadOnlyAdmin):
    list_display = ["user", "connection", "expires_at"]
    exclude = ["digest"]


@admin.register(MailLink)
class MailLinkAdmin(ReadOnlyAdmin):
    list_display = ["user", "visit", "created_at", "used_at"]
    exclude = ["digest"]


for _model in (
    AskedPlace,
    ChannelMessage,
    Digest,
    Notice,
    Notification,
    NotificationSettings,
    Remark,
    Sitting,
):
    admin.site.register(_model, ReadOnlyAdmin)
