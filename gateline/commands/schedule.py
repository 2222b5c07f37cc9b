"""`schedule`: lets tasks of a line start by the clock."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated
from zoneinfo import ZoneInfo

import typer

from gateline import lookup, output
from gateline.commands.submit import typed_inputs
from gateline.options import InputFiles, InputValues, LineName
from gateline.output import Json, in_or_ago_text, print_text, unstyled
from gateline.session import signed_in_client


def schedule(
    ctx: typer.Context,
    line: LineName,
    values: InputValues = None,
    cron: Annotated[
        str,
        typer.Option("--cron", help="Minute, hour, day of the month, month, weekday.", metavar="EXPRESSION"),
    ] = "0 2 * * *",
    zone: Annotated[str, typer.Option("--zone", help="Such as Europe/Berlin.", metavar="ZONE")] = "UTC",
    file: InputFiles = None,
    title: Annotated[
        str,
        typer.Option(
            "--title", "-t", help="{date} becomes the day of the run. Otherwise made from the inputs."
        ),
    ] = "",
    missed: Annotated[
        str,
        typer.Option("--missed", help="once: catch a missed run up; skip: leave it.", metavar="once|skip"),
    ] = "once",
    side_by_side: Annotated[
        bool, typer.Option("--side-by-side", help="Start although a task of it has not ended.")
    ] = False,
    json: Json = False,
) -> None:
    """Start a task again and again: every night at two, unless --cron says otherwise. Its tasks start in your name.

    Example: gateline schedule upkeep --cron "30 7 * * 1-5" --zone Europe/Berlin"""
    server = signed_in_client(ctx)
    place = lookup.find_line(server, line)
    body = {
        "options": {"cron": cron, "zone": zone, "missed": missed},
        "title": title,
        "inputs": typed_inputs(server, place, values or (), file or ()),
        "one_at_a_time": not side_by_side,
    }
    made = server.post(place.api_path("triggers"), body)
    if json:
        output.print_json(made)
        return
    print_text(f"{made['id']}  {unstyled(made['words'])}, {unstyled(made['options']['zone'])}")
    for run in made["next_runs"]:
        at = datetime.fromisoformat(run).astimezone(ZoneInfo(made["options"]["zone"]))
        print_text(f"  {at:%a} {at.day} {at:%b %Y %H:%M}  [dim]{in_or_ago_text(run)}[/dim]")
