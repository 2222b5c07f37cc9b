"""`pause` and `resume`: hold a task, a line or one station of it, and let it go on."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from gateline import lookup, output
from gateline.client import Client
from gateline.output import Json, print_text
from gateline.session import signed_in_client

Name = Annotated[str, typer.Argument(help="A task, such as WI-app-42, or a line by its key.")]
Station = Annotated[str, typer.Option("--station", "-s", help="Of a line: only this station, by its key.")]


def pause(
    ctx: typer.Context,
    name: Name,
    station: Station = "",
    stop: Annotated[bool, typer.Option("--stop", help="Stop running work, too; it begins anew.")] = False,
    reason: Annotated[str, typer.Option("--reason", "-r", help="Shown with the pause.")] = "",
    json: Json = False,
) -> None:
    """Pause a task, a line, or one station of a line: nothing of it begins until somebody resumes it."""
    answer = _post_pause_or_resume(
        signed_in_client(ctx), name, "pause", station, {"reason": reason, "stops": stop}
    )
    if json:
        output.print_json(answer)
    else:
        print_text(f"{name} is paused.")


def resume(ctx: typer.Context, name: Name, station: Station = "") -> None:
    """Resume what was paused. Its due times move by as long as that took."""
    _post_pause_or_resume(signed_in_client(ctx), name, "resume", station, {})
    print_text(f"{name} goes on.")


def _post_pause_or_resume(server: Client, name: str, verb: str, station: str, body: dict[str, Any]) -> Any:
    if lookup.TASK.fullmatch(name):
        return server.post(lookup.find_task(server, name).api_path(verb), body)
    return server.post(lookup.find_line(server, name).api_path(verb), {**body, "station": station})
