"""Lines: `lines` lists them."""

from __future__ import annotations

from typing import Annotated

import typer

from gateline import output, places
from gateline.output import Json, plain
from gateline.session import client


def install(app: typer.Typer) -> None:
    app.command()(lines)


def lines(
    ctx: typer.Context,
    project: Annotated[str, typer.Option("--project", help="Only those of this project.")] = "",
    json: Json = False,
) -> None:
    """List lines."""
    found = places.lines(client(ctx), project)
    if json:
        output.as_json([{"owner": e.owner, "project": e.project, **e.facts} for e in found])
        return
    output.table(
        ("Line", "Name", "Live", ""),
        (
            (
                plain(each),
                plain(each.facts["name"]),
                f"v{each.facts['live']}" if each.facts["live"] else "not published",
                "archived" if each.facts["archived"] else "",
            )
            for each in found
        ),
    )
