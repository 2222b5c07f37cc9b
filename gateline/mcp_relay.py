"""Relay between an agent on standard input and output and the server's address of the Model Context Protocol."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx2
from mcp.client.streamable_http import streamable_http_client
from mcp.server.stdio import stdio_server

from gateline import __version__
from gateline.client import TIMEOUT, trusted_authorities
from gateline.profiles import Profile

PATH = "/api/mcp"


def run_relay(profile: Profile) -> None:
    """Pass messages on both ways until the agent closes its side."""
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
        answering = asyncio.create_task(_pass_on(from_server, to_agent))
        await _pass_on(from_agent, to_server)
        answering.cancel()


async def _pass_on(source: Any, target: Any) -> None:
    async for message in source:
        # A line that is no message has no number to be answered by
        if not isinstance(message, Exception):
            await target.send(message)
