"""Lines: `lines` lists them, `lines LINE` draws one."""

from __future__ import annotations

from typing import Annotated

import typer

from gateline import completion, output, places
from gateline.client import Client
from gateline.commands.lint import counted
from gateline.drawing import TerminalDrawing
from gateline.failures import Usage
from gateline.output import Json, plain, say
from gateline.places import LinePlace
from gateline.session import client


def lines(
    ctx: typer.Context,
    line: Annotated[
        str,
        typer.Argument(
            help="Draw this line: line, project/line or owner/project/line.", autocompletion=completion.line
        ),
    ] = "",
    draft: Annotated[bool, typer.Option("--draft", help="Draw its draft, not what is live.")] = False,
    project: Annotated[
        str,
        typer.Option("--project", help="List only those of this project.", autocompletion=completion.project),
    ] = "",
    json: Json = False,
) -> None:
    """List lines, or draw one: its stations, its rules in order, and what was proved of each rule."""
    server = client(ctx)
    if line:
        _draw(server, places.line(server, line), draft, json)
        return
    visible_lines = places.lines(server, project)
    if json:
        output.as_json([line_place.facts for line_place in visible_lines])
        return
    output.table(
        ("Line", "Name", "Live", ""),
        (
            (
                plain(line_place),
                plain(line_place.facts["name"]),
                f"v{line_place.facts['live']}" if line_place.facts["live"] else "not published",
                "archived" if line_place.facts["archived"] else "",
            )
            for line_place in visible_lines
        ),
    )


def _draw(server: Client, line: LinePlace, draft: bool, json: bool) -> None:
    live = line.facts["live"]
    if not draft and not live:
        raise Usage(f"{line} has no published version.", f"Draw its draft: gateline lines {line} --draft")
    which = "draft" if draft else "live"
    picture = server.get(line.path("picture"), from_=which, to=which)
    lint = server.get(line.path("lint"), version=None if draft else live)
    if json:
        facts = {**line.facts, "drawn": which, "document": picture["document"]}
        output.as_json({**facts, "conditions": picture["conditions"], "lint": lint})
        return
    drawn = f"draft {line.facts['draft']}" if draft else f"v{live}"
    say(f"[bold]{plain(line.facts['name'])}[/bold]  [dim]{plain(line)} · {drawn}[/dim]")
    say()
    for row in TerminalDrawing(picture["document"], picture["conditions"], lint).rows():
        say(row)
    if lint["findings"]:
        say()
        say(f"  {counted(lint['counts'])}: gateline lint {plain(line)}{' --draft' if draft else ''}")
