"""The table of the kinds of notification, in the order of the settings page. Bell, mail and digest come from it: a file
in `kinds` and a line here add one."""

from __future__ import annotations

from reviews.notifications.kind import NotificationKind
from reviews.notifications.kinds import (
    ended,
    escalation,
    followed,
    handed_over,
    health,
    invitation,
    mention,
    merged,
    permissions,
    publishing,
    questions,
    refuted,
    review,
    roles,
    sampling,
    trust,
    waiting,
)

KINDS: tuple[NotificationKind, ...] = (
    review.KIND,
    questions.KIND,
    permissions.KIND,
    escalation.KIND,
    waiting.KIND,
    ended.FAILED,
    ended.COMPLETED,
    merged.KIND,
    followed.KIND,
    mention.KIND,
    handed_over.KIND,
    publishing.KIND,
    refuted.KIND,
    sampling.KIND,
    trust.KIND,
    health.KIND,
    invitation.KIND,
    roles.KIND,
)
BY_KEY = {kind.key: kind for kind in KINDS}
NOTIFYING_EVENTS = frozenset(event_type for kind in KINDS for event_type in kind.hears)
"""Classes of consequence that any kind is called for."""
