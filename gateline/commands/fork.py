"""`fork`: starts a linked task from a moment of another one."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from gateline import completion, lookup, output
from gateline.output import Json, print_text
from gateline.session import signed_in_client


def fork(
    ctx: typer.Context,
    task: Annotated[
        str,
        typer.Argument(help="Such as WI-app-42.", metavar="WI-…", autocompletion=completion.complete_task),
    ],
    at: Annotated[
        int | None, typer.Option("--at", help="The number of an event. Left out: the last one.", min=1)
    ] = None,
    position: Annotated[
        int | None, typer.Option("--position", help="Which position, where the task had several.", min=1)
    ] = None,
    station: Annotated[
        str, typer.Option("--station", "-s", help="Where it begins. Left out: where the task stood.")
    ] = "",
    reason: Annotated[str, typer.Option("--reason", "-r", help="Kept with both tasks.")] = "",
    accept: Annotated[
        list[str] | None, typer.Option("--accept", help="A guarantee that the fork breaks, by its id.")
    ] = None,
    plan: Annotated[bool, typer.Option("--plan", help="Only say what would happen.")] = False,
    json: Json = False,
) -> None:
    """Start a linked task from a moment of this one, with the files of then. This one goes on as it was."""
    server = signed_in_client(ctx)
    place = lookup.find_task(server, task)
    body: dict[str, Any] = {
        "at": at,
        "position": position,
        "station": station,
        "reason": reason,
        "accepts": accept or [],
    }
    answer = server.post(place.api_path("fork/plan" if plan else "fork"), body)
    if json:
        output.print_json(answer)
    elif plan:
        _print_plan(answer)
    else:
        print_text(f"{answer['id']} is forked from {place.name}.")


def _print_plan(plan: dict[str, Any]) -> None:
    print_text(f"It will begin at {plan['station']}: {plan['status']}.")
    if plan["commit"]:
        print_text(f"It has the files of commit {plan['commit'][:10]}, on a branch of its own.")
    elif plan["files"]:
        print_text(f"Files in its workspace: {plan['files']}.")
    else:
        print_text("It has no files yet.")
    if plan["asks"]:
        print_text(f"Its rules lead to: {', '.join(plan['asks'])}.")
    if plan["alone"]:
        print_text("It is a branch alone: at a join the other branches count as failed.")
    if plan["cap"] is not None:
        print_text(f"Its first run costs up to ${plan['cap']:.2f}.")
    for name, sentence in zip(plan["breaks"], plan["why"], strict=True):
        print_text(f"Breaks: {sentence}. Confirm with --accept {name} and --reason, as an administrator.")
