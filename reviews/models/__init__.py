"""Every model of this app, so that each can be named from here."""

from reviews.models.attention import ReviewClaim, ReviewQuestion, ReviewSnooze
from reviews.models.channels import ChannelConnection, ChannelMessage
from reviews.models.chat import ChatAccount, ChatCode
from reviews.models.following import Follow
from reviews.models.outbox import (
    AskedPlace,
    Digest,
    Mail,
    MailLink,
    Notice,
    Notification,
    NotificationSettings,
    Posted,
    Remark,
)
from reviews.models.review_sessions import Sitting

__all__ = [
    "AskedPlace",
    "ChannelConnection",
    "ChannelMessage",
    "ChatAccount",
    "ChatCode",
    "Digest",
    "Follow",
    "Mail",
    "MailLink",
    "Notice",
    "Notification",
    "NotificationSettings",
    "Posted",
    "Remark",
    "ReviewClaim",
    "ReviewQuestion",
    "ReviewSnooze",
    "Sitting",
]
