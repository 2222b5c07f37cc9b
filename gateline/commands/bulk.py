"""`bulk`: moves, retries, pauses, resumes or cancels many tasks after showing the plan; says what became of each."""

from __future__ import annotations

import time
from collections import defaultdict
from typing import Annotated, Any

import typer

from gateline import lookup, output
from gateline.client import Client, url_path
from gateline.failures import ConflictFailure, ExitCode, UsageFailure
from gateline.output import Json, print_note, print_text, unstyled
from gateline.session import signed_in_client

ACTIONS = ("move", "retry", "pause", "resume", "cancel")
LOOKS = ("show", "stop")
INTERVAL = 0.5
"""Seconds between two looks."""


def bulk(
    ctx: typer.Context,
    action: Annotated[
        str,
        typer.Argument(help="move, retry, pause, resume or cancel; show or stop an earlier one by its id."),
    ],
    names: Annotated[
        list[str] | None, typer.Argument(help="Tasks, such as WI-app-42; or the id.", metavar="[WI-…|ID]…")
    ] = None,
    matching: Annotated[
        bool, typer.Option("--all-that-match", help="In place of names: what the options below narrow.")
    ] = False,
    line: Annotated[str, typer.Option("--line", "-l", help="Only tasks of this line.")] = "",
    project: Annotated[str, typer.Option("--project", "-p", help="Only tasks of this project.")] = "",
    show: Annotated[
        str,
        typer.Option(
            "--show", help="Only running, queued, waiting, review, input, blocked, held, stuck or late."
        ),
    ] = "",
    search: Annotated[str, typer.Option("--search", help="Only tasks with this in their title.")] = "",
    requested_by_me: Annotated[bool, typer.Option("--mine", help="Only tasks that you requested.")] = False,
    to: Annotated[
        str, typer.Option("--to", "-t", help="Of a move: a station, or @success for where success leads.")
    ] = "",
    stop_running: Annotated[
        bool, typer.Option("--stop-running", help="Of a pause: take running work back, too.")
    ] = False,
    reason: Annotated[str, typer.Option("--reason", "-r", help="Kept with each task.")] = "",
    plan: Annotated[bool, typer.Option("--plan", help="Only say what would happen.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    json: Json = False,
) -> None:
    """Do one thing to many tasks. Shows the plan and asks; then it is done in the background, and Ctrl-C stops it. Ends
    with 6 where a task was refused."""
    server = signed_in_client(ctx)
    if action in LOOKS:
        _show_or_stop_earlier_command(server, action, names or [], json)
        return
    if action not in ACTIONS:
        raise UsageFailure(f"“{action}” is nothing to do.", f"Use one of {', '.join((*ACTIONS, *LOOKS))}.")
    if matching == bool(names):
        raise UsageFailure("Which tasks?", "Name them, or add --all-that-match.")
    which: dict[str, Any] = (
        {"matching": _selection_filters(server, line, project, show, search, requested_by_me)}
        if matching
        else {"tasks": [{"task": name} for name in names or ()]}
    )
    body = {"action": action, "to": to, "reason": reason, "stops": stop_running, **which}
    planned = _wait_until_state_changes(server, server.post("/bulk-commands", body), "planning")
    # That nothing can be done is an answer to --plan, and a refusal of everything else
    if plan or not planned["counts"].get("planned"):
        _print_result_and_exit(planned, json, ExitCode.OK if plan else ExitCode.CONFLICT)
    if not json:
        _print_plan(planned)
    if not yes:
        output.confirm_or_exit("Do it?", f"{action} these tasks", "Nothing was done.")
    running = server.post(url_path("bulk-commands", planned["id"], "start"))
    try:
        ended = _wait_until_state_changes(server, running, "running")
    # The server does the work: ending this program alone would not stop it
    except KeyboardInterrupt:
        ended = _stop_or_read_ended_command(server, planned["id"])
    refused = ended["counts"].get("refused") or ended["counts"].get("left")
    _print_result_and_exit(ended, json, ExitCode.CONFLICT if refused else ExitCode.OK)


def _selection_filters(
    server: Client, line: str, project: str, show: str, search: str, requested_by_me: bool
) -> dict[str, Any]:
    return {
        "line": str(lookup.find_line(server, line)) if line else "",
        "project": "/".join(lookup.find_owner_and_key_of_project(server, project)) if project else "",
        "show": show,
        "q": search,
        "requester": "me" if requested_by_me else "",
    }


def _show_or_stop_earlier_command(server: Client, action: str, names: list[str], json: bool) -> None:
    if len(names) != 1:
        raise UsageFailure("Which one?", "Add the id that the command printed.")
    if action == "stop":
        _print_result_and_exit(_stop_or_read_ended_command(server, names[0]), json, ExitCode.OK)
    _print_result_and_exit(server.get(url_path("bulk-commands", names[0])), json, ExitCode.OK)


def _stop_or_read_ended_command(server: Client, bulk_id: str) -> dict[str, Any]:
    try:
        stopped: dict[str, Any] = server.post(url_path("bulk-commands", bulk_id, "stop"))
    except ConflictFailure:
        # It ended just before
        stopped = server.get(url_path("bulk-commands", bulk_id))
    return stopped


def _wait_until_state_changes(server: Client, command: dict[str, Any], state: str) -> dict[str, Any]:
    """Look again until it is in another state; say how far it is."""
    progress = -1
    while command["state"] == state:
        counts = command["counts"]
        # Planned tasks are what a plan has got through, and what its doing has still before it
        left = counts.get("chosen", 0) + (counts.get("planned", 0) if state == "running" else 0)
        total = sum(counts.values())
        if total - left != progress:
            progress = total - left
            print_note(f"{state.capitalize()}: {progress} of {total}")
        time.sleep(INTERVAL)
        command = server.get(url_path("bulk-commands", command["id"]))
    return command


def _print_plan(command: dict[str, Any]) -> None:
    for sentence in command["plan"]:
        print_text(unstyled(sentence))
    by_reason: defaultdict[str, list[str]] = defaultdict(list)
    for entry in command["entries"]:
        if entry["result"] == "refused":
            by_reason[entry["detail"]].append(entry["task"])
    for reason, tasks in by_reason.items():
        print_text(f"Refused: {unstyled(reason)} {', '.join(map(unstyled, tasks))}")


def _print_result_and_exit(command: dict[str, Any], json: bool, code: ExitCode) -> None:
    """Print what became of it, and end with this exit code."""
    if json:
        output.print_json(command)
    else:
        _print_plan(command)
        counts = ", ".join(f"{number} {name}" for name, number in command["counts"].items() if number)
        print_text(f"{command['state'].capitalize()}: {counts}.")
        print_text(f"Look again with: gateline bulk show {command['id']}")
    raise typer.Exit(code)
