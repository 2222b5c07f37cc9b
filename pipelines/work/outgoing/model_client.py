"""The official client for models, behind the guard. Kept apart: only who asks a model loads the library."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipelines.work.outgoing.endpoint import Outgoing
from pipelines.work.outgoing.transport import guarded_client

if TYPE_CHECKING:
    import openai

# Servers on one's own machine mostly want no key, the library always does.
NO_KEY = "none"


def model_client(outgoing: Outgoing) -> openai.AsyncOpenAI:
    """A client for one piece of work; use it as `async with`. The operator's own address may be private; where it
    redirects to may not. The endpoint has an address."""
    import openai  # noqa: PLC0415 - most of a worker's start, and for models alone

    endpoint = outgoing.endpoint
    openai_client = openai.AsyncOpenAI(
        base_url=endpoint.url,
        api_key=endpoint.key or NO_KEY,
        timeout=endpoint.seconds,
        max_retries=endpoint.retries,
        http_client=guarded_client(outgoing.guard.with_hosts(endpoint.host), endpoint.seconds),
    )
    # The library reads them from the environment, where no setting of ours stands.
    openai_client.organization = openai_client.project = None
    return openai_client
