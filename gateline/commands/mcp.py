"""`mcp`: the tools of the server for an agent on this machine."""

from __future__ import annotations

from importlib import import_module

import typer

from gateline import profiles
from gateline.failures import UsageFailure


def mcp(ctx: typer.Context) -> None:
    """Speak the Model Context Protocol on standard input and output, as the person of the profile. Agents start it:
    they can look, explain, check and simulate lines and start tasks, but neither vote nor publish.

    Example: claude mcp add gateline -- gateline mcp"""
    profile = profiles.current_profile(ctx.obj)
    try:
        relay = import_module("gateline.mcp_relay")
    except ModuleNotFoundError as fault:
        if (fault.name or "").partition(".")[0] != "mcp":
            raise
        raise UsageFailure(
            "The library of the Model Context Protocol is not installed.",
            "Install the wheel of your release with the extra: pip install 'gateline-….whl[mcp]'",
        ) from fault
    relay.run_relay(profile)
