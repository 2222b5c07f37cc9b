"""`events`: what happened to a task, a line or a project, as JSON lines."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gateline import completion, output, places
from gateline.client import path
from gateline.failures import Usage
from gateline.session import client


def events(
    ctx: typer.Context,
    task: Annotated[
        str, typer.Argument(help="Only of this task.", metavar="[WI-…]", autocompletion=completion.task)
    ] = "",
    line: Annotated[
        str, typer.Option("--line", help="Only of this line.", autocompletion=completion.line)
    ] = "",
    project: Annotated[
        str, typer.Option("--project", help="Of this project.", autocompletion=completion.project)
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
    server = client(ctx)
    if task:
        address = places.task(server, task).path("events")
    elif line:
        address = places.line(server, line).path("events")
    else:
        owner, key = places.project_of(server, project)
        address = path("owners", owner, "projects", key, "events")
    query = {"transitions": transitions, **({"since": since} if since and not task else {})}
    with server.stream("GET", address, params=query) as response:
        rows = (f"{row}\n" for row in response.iter_lines())
        if file is None:
            for row in rows:
                output.raw(row.rstrip("\n"))
            return
        try:
            with file.open("w", encoding="utf-8") as target:
                target.writelines(rows)
        except OSError as fault:
            raise Usage(f"{file} cannot be written: {fault.strerror}") from fault
