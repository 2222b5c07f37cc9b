"""`export`: a line as its own document, or as one of another system with what that cannot say."""

from __future__ import annotations

import sys
from json import dumps
from pathlib import Path
from typing import Annotated, Any

import typer

from gateline import completion, lookup, output
from gateline.failures import UsageFailure
from gateline.output import Json, unstyled
from gateline.session import signed_in_client


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
            help="gateline (its own document), alp, contenox, vibe-factory, flux or aeef; else that of its preset. "
            "svg or geometry: its drawing.",
        ),
    ] = "",
    narrow: Annotated[
        bool, typer.Option("--narrow", help="Of its drawing the one from above to below, for a phone.")
    ] = False,
    version: Annotated[str, typer.Option("--version", help="A number, or draft; else what is live.")] = "",
    file: Annotated[Path | None, typer.Option("--output", "-o", help="Write it there.")] = None,
    json: Json = False,
) -> None:
    """Write a line as its own document, as one of another system, or its drawing. What is lost is listed on standard
    error."""
    server = signed_in_client(ctx)
    place = lookup.find_line(server, line)
    if to in ("svg", "geometry"):
        drawing = server.get(place.api_path("drawing"), version=version)["narrow" if narrow else "wide"]
        text = drawing["svg"] if to == "svg" else dumps(drawing["geometry"]) + "\n"
        made: dict[str, Any] = {"text": text, "losses": []}
    else:
        made = server.get(place.api_path("export"), dialect=to, version=version)
    if json:
        output.print_json(made)
        return
    for loss in made["losses"]:
        output.print_note(f"[yellow]loss[/yellow] {unstyled(loss['path'])}: {unstyled(loss['message'])}")
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
