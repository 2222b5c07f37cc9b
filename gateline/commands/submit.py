"""`submit`: starts a task on the live version of a line."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from gateline import completion, lookup, output
from gateline.client import Client, url_path
from gateline.commands.watch import watch_task_to_its_end
from gateline.failures import UsageFailure
from gateline.form_values import input_key_and_value, parse_value
from gateline.lookup import LinePlace, TaskPlace
from gateline.options import InputFiles, InputValues, LineName
from gateline.output import Json, print_text, unstyled
from gateline.session import signed_in_client


def submit(
    ctx: typer.Context,
    line: LineName,
    values: InputValues = None,
    file: InputFiles = None,
    title: Annotated[str, typer.Option("--title", "-t", help="Otherwise made from the inputs.")] = "",
    description: Annotated[str, typer.Option("--description", "-d", help="What is to be done.")] = "",
    priority: Annotated[str, typer.Option("--priority", help="low, medium or high.")] = "medium",
    label: Annotated[list[str] | None, typer.Option("--label", help="May be given several times.")] = None,
    after: Annotated[
        list[str] | None,
        typer.Option(
            "--after",
            help="Start when this task is completed.",
            metavar="WI-…",
            autocompletion=completion.complete_task,
        ),
    ] = None,
    due: Annotated[str, typer.Option("--due", help="Such as 2026-12-31T17:00+01:00.", metavar="WHEN")] = "",
    follows: Annotated[
        str,
        typer.Option(
            "--follows",
            help="It is new work of this task, which has ended.",
            metavar="WI-…",
            autocompletion=completion.complete_task,
        ),
    ] = "",
    key: Annotated[
        str, typer.Option("--key", help="The same key within 24 hours starts no second task.", metavar="KEY")
    ] = "",
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Watch it to its end.")] = False,
    json: Json = False,
) -> None:
    """Start a task. The name of the task is the only line on standard output.

    Example: gateline submit fix-lint repository=https://git.example.com/app.git --file notes=@notes.md"""
    server = signed_in_client(ctx)
    place = lookup.find_line(server, line)
    inputs = typed_inputs(server, place, values or (), file or ())
    body: dict[str, Any] = {"inputs": inputs, "description": description, "priority": priority}
    more = {"title": title, "labels": label, "depends_on": after, "due_at": due, "follows": follows}
    body |= {name: value for name, value in more.items() if value}
    made = server.post(place.tasks_path, body, headers={"Idempotency-Key": key or str(uuid.uuid4())})
    task = TaskPlace.from_facts(made)
    if json and not watch:
        output.print_json(made)
        return
    if not json:
        print_text(unstyled(task.name))
        output.print_note(f"Started “{unstyled(made['title'])}”: {unstyled(task.page_url(server))}")
    if watch:
        watch_task_to_its_end(server, task, json)


def typed_inputs(
    server: Client, line: LinePlace, values: Iterable[str], files: Iterable[str]
) -> dict[str, Any]:
    """Return the inputs that are written as `key=value`, typed as the start form of the line has them, with the files
    uploaded. Raises UsageFailure."""
    input_pairs = [input_key_and_value(assignment) for assignment in values]
    file_pairs = [input_key_and_value(assignment) for assignment in files]
    fields = {field["key"]: field for field in server.get(line.api_path("start-form"))["fields"]}
    inputs = {name: parse_value(fields.get(name), name, text) for name, text in input_pairs}
    for name, text in file_pairs:
        inputs[name] = _upload_file_value(server, line, fields.get(name), name, text)
    return inputs


def _upload_file_value(
    server: Client, line: LinePlace, field: dict[str, Any] | None, key: str, text: str
) -> Any:
    """Raises UsageFailure, and what the server refuses."""
    if field is not None and field["type"] != "file":
        raise UsageFailure(f"{key} takes no file.", f"Write {key}=value.")
    source = Path(text.removeprefix("@"))
    try:
        stream = source.open("rb")
    except OSError as fault:
        raise UsageFailure(f"{source} cannot be read: {fault.strerror}.") from fault
    with stream:
        return server.post(
            url_path("owners", line.owner, "projects", line.project, "files"),
            files={"file": (source.name, stream)},
        )
