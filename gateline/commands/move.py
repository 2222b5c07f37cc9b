"""`move`: brings a task to another station, or lets the one where it stands run again."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from gateline import completion, lookup, output
from gateline.output import Json, print_text
from gateline.session import signed_in_client

SUCCESS = "@success"


def move(
    ctx: typer.Context,
    task: Annotated[
        str,
        typer.Argument(help="Such as WI-app-42.", metavar="WI-…", autocompletion=completion.complete_task),
    ],
    to: Annotated[
        str, typer.Option("--to", "-t", help="A station by its key. Left out: where it stands.")
    ] = "",
    skip: Annotated[bool, typer.Option("--skip", help="To where success leads.")] = False,
    station: Annotated[
        str, typer.Option("--station", "-s", help="Which position, where the task has several.")
    ] = "",
    reason: Annotated[str, typer.Option("--reason", "-r", help="Kept with the task.")] = "",
    accept: Annotated[
        list[str] | None, typer.Option("--accept", help="A guarantee that the move breaks, by its id.")
    ] = None,
    plan: Annotated[bool, typer.Option("--plan", help="Only say what would happen.")] = False,
    json: Json = False,
) -> None:
    """Move a task by hand: to a station, to where success leads, or to run again where it stands."""
    server = signed_in_client(ctx)
    place = lookup.find_task(server, task)
    body: dict[str, Any] = {
        "to": SUCCESS if skip else to,
        "station": station,
        "reason": reason,
        "accepts": accept or [],
    }
    answer = server.post(place.api_path("move/plan" if plan else "move"), body)
    if json:
        output.print_json(answer)
    elif plan:
        _print_plan(answer)
    else:
        print_text(f"{place.name} is moved.")


def _print_plan(plan: dict[str, Any]) -> None:
    for stands in plan["places"]:
        print_text(f"It will stand at {stands['station']}: {stands['status']}.")
    if plan["end"]:
        print_text(f"It will end: {plan['end']}.")
    lists = (
        ("Asked there", "gates"),
        ("Its rules lead to", "asks"),
        ("Reviews that are closed", "closes"),
    )
    for label, key in lists:
        if names := plan[key]:
            print_text(f"{label}: {', '.join(names)}.")
    if plan["stops"]:
        print_text(f"Running work at {plan['stops']} is stopped.")
    if plan["votes"]:
        print_text(f"Votes that no longer count: {plan['votes']}.")
    if plan["cap"] is not None or plan["spent"]:
        more = "without a limit" if plan["cap"] is None else f"up to ${plan['cap']:.2f}"
        print_text(f"Cost so far: ${plan['spent']:.2f}. One more run: {more}.")
    for name, sentence in zip(plan["breaks"], plan["why"], strict=True):
        print_text(f"Breaks: {sentence}. Confirm with --accept {name} and --reason, as an administrator.")
