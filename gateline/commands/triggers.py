"""`triggers`: what starts tasks by itself, and what it did; pausing, resuming, trying and deleting one."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from gateline import completion, lookup, output
from gateline.client import Client, url_path
from gateline.failures import UsageFailure
from gateline.lookup import LinePlace
from gateline.output import Json, age_text_or_empty, confirm_or_exit, in_or_ago_text, print_text, unstyled
from gateline.session import signed_in_client


def triggers(
    ctx: typer.Context,
    line: Annotated[
        str,
        typer.Argument(
            help="Of this line: line, project/line or owner/project/line.",
            autocompletion=completion.complete_line,
        ),
    ] = "",
    project: Annotated[
        str, typer.Option("--project", help="Of this project.", autocompletion=completion.complete_project)
    ] = "",
    runs: Annotated[
        int, typer.Option("--runs", help="What became of the runs of this one.", metavar="ID")
    ] = 0,
    rotate: Annotated[
        int, typer.Option("--rotate", help="Change the secret of this webhook; shown once.", metavar="ID")
    ] = 0,
    pause: Annotated[int, typer.Option("--pause", help="Pause this one.", metavar="ID")] = 0,
    resume: Annotated[int, typer.Option("--resume", help="Resume this one, in your name.", metavar="ID")] = 0,
    try_: Annotated[
        int,
        typer.Option("--try", help="Say what this one would start now; nothing is started.", metavar="ID"),
    ] = 0,
    delete: Annotated[int, typer.Option("--delete", help="Delete this one, with its log.", metavar="ID")] = 0,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Delete without asking.")] = False,
    json: Json = False,
) -> None:
    """List the triggers of a line or a project, or do something with one of a line: gateline triggers LINE --pause 3"""
    server = signed_in_client(ctx)
    acts = {
        "deliveries": runs,
        "rotate": rotate,
        "pause": pause,
        "resume": resume,
        "try": try_,
        "delete": delete,
    }
    requested = {act: number for act, number in acts.items() if number}
    if len(requested) > 1:
        raise UsageFailure(
            "Only one thing at a time.",
            "Leave out all but one of --runs, --rotate, --pause, --resume, --try, --delete.",
        )
    if requested:
        if not line:
            raise UsageFailure("Of which line?", "Name it: gateline triggers LINE …")
        [(act, number)] = requested.items()
        _do_and_print_trigger_act(server, lookup.find_line(server, line), act, number, yes=yes, json=json)
        return
    if line:
        rows = server.get(lookup.find_line(server, line).api_path("triggers"))
    else:
        owner, key = lookup.find_owner_and_key_of_project(server, project)
        rows = server.get(url_path("owners", owner, "projects", key, "triggers"))
    if json:
        output.print_json(rows)
        return
    output.print_table(("Id", "Line", "Trigger", "", "Next run", "Last run"), map(_trigger_row, rows))


def _trigger_row(row: dict[str, Any]) -> tuple[object, ...]:
    waits = {"webhook": "when called", "line_end": "after a task"}
    following = in_or_ago_text(row["next_at"]) if row["next_at"] else waits.get(row["kind"], "never")
    following = "paused" if row["paused_at"] else following
    last = row["last"]
    text = f"{last['outcome']} {last['task'] or ''} {age_text_or_empty(last['at'])}" if last else ""
    words, detail = unstyled(row["words"]), unstyled(row["detail"])
    return row["id"], unstyled(row["line"]), words, detail, following, unstyled(" ".join(text.split()))


def _do_and_print_trigger_act(
    server: Client, line: LinePlace, act: str, number: int, *, yes: bool, json: bool
) -> None:
    place = line.api_path("triggers", number)
    if act == "delete":
        if not yes:
            words = server.get(place)["words"]
            confirm_or_exit(
                f"Delete “{unstyled(words)}” with its log?", "delete it", "Nothing is deleted.", "Add --yes."
            )
        server.send("DELETE", place)
        output.print_note("Deleted.")
        return
    at = line.api_path("triggers", number, act)
    answer = server.get(at) if act == "deliveries" else server.post(at, {} if act == "rotate" else None)
    if json:
        output.print_json(answer)
    elif act == "deliveries":
        output.print_table(
            ("At", "Status", "Task", ""),
            (
                (in_or_ago_text(row["at"]), row["outcome"], row["task"] or "", unstyled(row["detail"]))
                for row in answer
            ),
        )
    elif act == "try":
        started = (
            f"Would start “{unstyled(answer['title'])}”."
            if answer["title"]
            else f"Would start nothing: {answer['outcome']}."
        )
        print_text(f"{started} {unstyled(answer['detail'])}".strip())
    elif act == "rotate":
        print_text(unstyled(answer["secret"]))
        output.print_note("The secret before it is valid for 24 hours more.")
    elif answer["next_at"]:
        print_text(f"Resumed. Next run: {in_or_ago_text(answer['next_at'])}")
    else:
        print_text("Paused." if answer["paused_at"] else "Resumed.")
