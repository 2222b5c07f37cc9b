"""Relay between an agent on standard input and output and the server's address of the Model Context Protocol."""

from __future__ import annotations

import asyncio

import httpx2
from mcp.client.streamable_http import streamable_http_client
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCRequest

from gateline import __version__
from gateline.client import TIMEOUT, trusted_authorities
from gateline.profiles import Profile

PATH = "/api/mcp"


ANSWER_SECONDS = 60.0
"""For which outstanding answers are waited once the agent has closed its side."""


def run_relay(profile: Profile) -> None:
    """Pass messages on both ways until the agent closes its side and has all its answers."""
    asyncio.run(_relay_messages(profile))


async def _relay_messages(profile: Profile) -> None:
    headers = {"Authorization": f"Bearer {profile.token}", "User-Agent": f"gateline/{__version__}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=TIMEOUT, verify=trusted_authorities()) as http,
        streamable_http_client(profile.url + PATH, http_client=http, terminate_on_close=False) as (
            from_server,
            to_server,
        ),
        stdio_server() as (from_agent, to_agent),
    ):
        unanswered: set[str | int | None] = set()
        all_answered = asyncio.Event()

        async def pass_answers_on() -> None:
            async for message in from_server:
                if not isinstance(message, Exception):
                    await to_agent.send(message)
                    # Only once it is passed on: the end waits for what is written
                    unanswered.discard(_message_id_or_none(message))
                    if not unanswered:
                        all_answered.set()
            all_answered.set()

        answering = asyncio.create_task(pass_answers_on())
        async for message in from_agent:
            # A line that is no message has no number to be answered by
            if isinstance(message, Exception):
                continue
            if isinstance(message.message, JSONRPCRequest):
                unanswered.add(_message_id_or_none(message))
                all_answered.clear()
            await to_server.send(message)
        # An agent may close its side right behind its last question
        if unanswered:
            await asyncio.wait([asyncio.create_task(all_answered.wait())], timeout=ANSWER_SECONDS)
        answering.cancel()
        # Both libraries wait until nothing more can be written
        await to_agent.aclose()
        await to_server.aclose()


def _message_id_or_none(message: SessionMessage) -> str | int | None:
    """Return the number of a request or of its answer; None of a notification."""
    return getattr(message.message, "id", None)
