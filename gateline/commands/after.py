"""Command `after`, which lets tasks of a line start when a task of another line has ended."""

from __future__ import annotations

from typing import Annotated

import typer

from gateline import completion, lookup, output
from gateline.commands.submit import typed_inputs
from gateline.form_values import input_key_and_value
from gateline.options import InputFiles, InputValues, LineName
from gateline.output import Json, print_text, unstyled
from gateline.session import signed_in_client


def after(
    ctx: typer.Context,
    source: Annotated[
        str,
        typer.Argument(
            help="Key of the line of the same project that it waits for.",
            autocompletion=completion.complete_line,
        ),
    ],
    line: LineName,
    values: InputValues = None,
    when: Annotated[
        str,
        typer.Option("--when", help="How its task has to end.", metavar="completed|failed|cancelled|any"),
    ] = "completed",
    take: Annotated[
        list[str] | None,
        typer.Option(
            "--take", help="Take an input from that task: request=outputs.summary.", metavar="KEY=PATH"
        ),
    ] = None,
    title: Annotated[
        str, typer.Option("--title", "-t", help="Path of the title in that task.", metavar="PATH")
    ] = "",
    only_if: Annotated[
        str, typer.Option("--only-if", help="Path that has to find something.", metavar="PATH")
    ] = "",
    file: InputFiles = None,
    json: Json = False,
) -> None:
    """Start a task of a line whenever a task of another has ended. Its tasks start in your name.

    Example: gateline after build deploy --take request=outputs.summary"""
    server = signed_in_client(ctx)
    place = lookup.find_line(server, line)
    body = {
        "kind": "line_end",
        "options": {
            "line": source.rpartition("/")[2],
            "state": when,
            "inputs": dict(input_key_and_value(assignment) for assignment in take or ()),
            "title": title,
            "only_if": only_if,
        },
        "inputs": typed_inputs(server, place, values or (), file or ()),
    }
    made = server.post(place.api_path("triggers"), body)
    if json:
        output.print_json(made)
        return
    print_text(f"{made['id']}  {unstyled(made['words'])}")
