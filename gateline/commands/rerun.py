"""`rerun`: asks the host of a repository to run the checks of a task again."""

from __future__ import annotations

from typing import Annotated

import typer

from gateline import completion, lookup, output
from gateline.output import Json, print_text
from gateline.session import signed_in_client


def rerun(
    ctx: typer.Context,
    task: Annotated[
        str,
        typer.Argument(help="Such as WI-app-42.", metavar="WI-…", autocompletion=completion.complete_task),
    ],
    station: Annotated[
        str, typer.Option("--station", "-s", help="By its key, where several positions wait.")
    ] = "",
    reason: Annotated[str, typer.Option("--reason", "-r", help="Kept with the task.")] = "",
    json: Json = False,
) -> None:
    """Run the checks of the host again that failed, where a task waits with them.

    The task then waits for them anew. What the host says to it is in its log and on its page."""
    server = signed_in_client(ctx)
    place = lookup.find_task(server, task)
    answer = server.post(place.api_path("rerun-checks"), {"station": station, "reason": reason})
    if json:
        output.print_json(answer)
        return
    print_text(f"{place.name} asks the host to run its checks again, and waits for them.")
