"""Calls of webhooks as their senders sign them: Standard Webhooks, and the hosts."""

from __future__ import annotations

import hmac
import json
import uuid
from datetime import UTC, datetime
from typing import Any

from pipelines.work.hosts import standard_webhooks


def call(
    signature: str, secret: str, document: Any, message_id: str = "", at: datetime | None = None
) -> tuple[bytes, dict[str, str]]:
    """Return the body and the headers of a call. `document`: bytes are sent as they are."""
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    moment = at or datetime.now(UTC)
    message_id = message_id or f"msg_{uuid.uuid4().hex}"
    if signature == "github":
        digest = hmac.new(secret.encode(), body, "sha256").hexdigest()
        headers = {"X-Hub-Signature-256": f"sha256={digest}", "X-GitHub-Delivery": message_id}
    elif signature == "gitea":
        headers = {"X-Gitea-Signature": hmac.new(secret.encode(), body, "sha256").hexdigest()}
    elif not secret.startswith(standard_webhooks.PREFIX):
        headers = {"X-Gitlab-Token": secret}
    else:
        headers = {
            "webhook-id": message_id,
            "webhook-timestamp": str(int(moment.timestamp())),
            "webhook-signature": standard_webhooks.webhook_signature(secret, message_id, moment, body),
        }
    return body, headers
