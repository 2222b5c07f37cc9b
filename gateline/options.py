"""Arguments and options that several commands have: a line, and the inputs of its start form."""

from __future__ import annotations

from typing import Annotated

import typer

from gateline import completion

LineName = Annotated[
    str,
    typer.Argument(help="line, project/line or owner/project/line.", autocompletion=completion.complete_line),
]
InputValues = Annotated[
    list[str] | None,
    typer.Argument(help="Inputs, as the start form has them: key=value.", metavar="KEY=VALUE…"),
]
InputFiles = Annotated[
    list[str] | None,
    typer.Option("--file", "-f", help="Upload a file for an input.", metavar="KEY=@PATH"),
]
