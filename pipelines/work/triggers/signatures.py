"""Table of the ways in which a webhook can be signed. One line adds one."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from pipelines.work.hosts import standard_webhooks
from pipelines.work.hosts.hooks import Headers, HookSenders
from pipelines.work.hosts.table import TABLE

MAX_ID = 100
"""Characters of the name of a delivery."""


@dataclass(frozen=True, slots=True)
class Signature:
    """Way in which a webhook is signed. `is_signed`: whether the sender knows the secret. `senders`: the people whom
    the body names; None where nobody vouches for what a body says of people."""

    key: str
    label: str
    is_signed: Callable[[Headers, bytes, str], bool]
    senders: Callable[[Any], HookSenders] | None = None

    def name_of(self, headers: Headers, body: bytes, secret: str) -> str:
        """Return the name by which a delivery counts once: only what is signed, so that nobody changes it."""
        by_id = self.key == STANDARD or (secret.startswith(standard_webhooks.PREFIX) and self.key == "gitlab")
        name = headers.get(standard_webhooks.MESSAGE_ID, "") if by_id else ""
        # GitHub and Gitea sign the body alone: whoever has one could send it under another id.
        return name if 0 < len(name) <= MAX_ID else hashlib.sha256(name.encode() or body).hexdigest()


STANDARD: Final = "standard"
SIGNATURES: Final[dict[str, Signature]] = {
    signature.key: signature
    for signature in (
        Signature(STANDARD, "Standard Webhooks", standard_webhooks.is_signed),
        *(Signature(host.key, host.name, host.is_signed, host.senders_of_payload) for host in TABLE),
    )
}
