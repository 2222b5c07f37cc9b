"""`export`: a line as its own document, or as one of another system with what that cannot say."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from gateline import completion, lookup, output
from gateline.failures import UsageFailure
from gateline.output import Json, escaped
from gateline.session import client


def export(
    ctx: typer.Context,
    line: Annotated[
        str,
        typer.Argument(
            help="line, project/line or owner/project/line.", autocompletion=completion.complete_line
        ),
    ],
    to: Annotated[
        str,
        typer.Option(
            "--to",
            help="gateline (its own document), alp, contenox, vibe-factory, flux or aeef; else that of its preset.",
        ),
    ] = "",
    version: Annotated[str, typer.Option("--version", help="A number, or draft; else what is live.")] = "",
    file: Annotated[Path | None, typer.Option("--output", "-o", help="Write it there.")] = None,
    json: Json = False,
) -> None:
    """Write a line as its own document, or as one of another system. What is lost is listed on standard error."""
    server = client(ctx)
    made = server.get(lookup.find_line(server, line).api_path("export"), dialect=to, version=version)
    if json:
        output.print_json(made)
        return
    for loss in made["losses"]:
        output.note(f"[yellow]loss[/yellow] {escaped(loss['path'])}: {escaped(loss['message'])}")
    # A terminal would follow control characters of a document; a pipe gets it as it is
    if file is None and sys.stdout.isatty():
        output.print_raw(made["text"].removesuffix("\n"))
        return
    if file is None:
        sys.stdout.write(made["text"])
        return
    try:
        file.write_text(made["text"], "utf-8")
    except OSError as fault:
        raise UsageFailure(f"{file} cannot be written: {fault}") from fault
