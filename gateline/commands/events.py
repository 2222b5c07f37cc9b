"""`events`: what happened to a task, a line or a project, as JSON lines."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gateline import completion, lookup, output
from gateline.client import url_path
from gateline.failures import UsageFailure
from gateline.session import signed_in_client


def events(
    ctx: typer.Context,
    task: Annotated[
        str,
        typer.Argument(help="Only of this task.", metavar="[WI-…]", autocompletion=completion.complete_task),
    ] = "",
    line: Annotated[
        str, typer.Option("--line", help="Only of this line.", autocompletion=completion.complete_line)
    ] = "",
    project: Annotated[
        str, typer.Option("--project", help="Of this project.", autocompletion=completion.complete_project)
    ] = "",
    since: Annotated[
        str, typer.Option("--since", help="From then on, such as 2026-02-23T14:30:00Z.", metavar="WHEN")
    ] = "",
    transitions: Annotated[
        bool, typer.Option("--transitions", help="Only from one state to another.")
    ] = False,
    file: Annotated[Path | None, typer.Option("--output", "-o", help="Write them there.")] = None,
) -> None:
    """Write the events of a project, a line or a task as JSON lines, oldest first within each task."""
    server = signed_in_client(ctx)
    if task:
        address = lookup.find_task(server, task).api_path("events")
    elif line:
        address = lookup.find_line(server, line).api_path("events")
    else:
        owner, key = lookup.find_owner_and_key_of_project(server, project)
        address = url_path("owners", owner, "projects", key, "events")
    query = {"transitions": transitions, **({"since": since} if since and not task else {})}
    # Row by row: the events of a project may be more than there is memory
    with server.stream("GET", address, params=query) as response:
        rows = (f"{row}\n" for row in response.iter_lines())
        if file is None:
            for row in rows:
                output.print_raw(row.rstrip("\n"))
            return
        try:
            with file.open("w", encoding="utf-8") as target:
                target.writelines(rows)
        except OSError as fault:
            raise UsageFailure(f"{file} cannot be written: {fault.strerror}") from fault
