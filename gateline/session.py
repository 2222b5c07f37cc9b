"""The server that a command speaks with: the client of the profile that was chosen."""

from __future__ import annotations

import typer

from gateline import profiles
from gateline.client import Client


def signed_in_client(ctx: typer.Context) -> Client:
    """Closed when the command ends. Raises SignInFailure, Usage."""
    return ctx.with_resource(Client(profiles.current_profile(ctx.obj)))
