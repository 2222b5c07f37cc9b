"""Lines: `lines` lists them, `lines LINE` draws one."""

from __future__ import annotations

from typing import Annotated

import typer

from gateline import completion, lookup, output
from gateline.client import Client
from gateline.commands.lint import counts_text
from gateline.drawing import TerminalDrawing
from gateline.failures import UsageFailure
from gateline.lookup import LinePlace
from gateline.output import Json, escaped, say
from gateline.session import client


def lines(
    ctx: typer.Context,
    line: Annotated[
        str,
        typer.Argument(
            help="Draw this line: line, project/line or owner/project/line.",
            autocompletion=completion.complete_line,
        ),
    ] = "",
    draft: Annotated[bool, typer.Option("--draft", help="Draw its draft, not what is live.")] = False,
    project: Annotated[
        str,
        typer.Option(
            "--project", help="List only those of this project.", autocompletion=completion.complete_project
        ),
    ] = "",
    json: Json = False,
) -> None:
    """List lines, or draw one: its stations, its rules in order, and what was proved of each rule."""
    server = client(ctx)
    if line:
        _print_drawing(server, lookup.find_line(server, line), draft, json)
        return
    visible_lines = lookup.find_lines(server, project)
    if json:
        output.print_json([line_place.facts for line_place in visible_lines])
        return
    output.print_table(
        ("Line", "Name", "Live", ""),
        (
            (
                escaped(line_place),
                escaped(line_place.facts["name"]),
                f"v{line_place.facts['live']}" if line_place.facts["live"] else "not published",
                "archived" if line_place.facts["archived"] else "",
            )
            for line_place in visible_lines
        ),
    )


def _print_drawing(server: Client, line: LinePlace, draft: bool, json: bool) -> None:
    live = line.facts["live"]
    if not draft and not live:
        raise UsageFailure(
            f"{line} has no published version.", f"Draw its draft: gateline lines {line} --draft"
        )
    which = "draft" if draft else "live"
    picture = server.get(line.api_path("picture"), from_=which, to=which)
    lint = server.get(line.api_path("lint"), version=None if draft else live)
    if json:
        facts = {**line.facts, "drawn": which, "document": picture["document"]}
        output.print_json({**facts, "conditions": picture["conditions"], "lint": lint})
        return
    drawn = f"draft {line.facts['draft']}" if draft else f"v{live}"
    say(f"[bold]{escaped(line.facts['name'])}[/bold]  [dim]{escaped(line)} · {drawn}[/dim]")
    say()
    for row in TerminalDrawing(picture["document"], picture["conditions"], lint).rows():
        say(row)
    if lint["findings"]:
        say()
        say(f"  {counts_text(lint['counts'])}: gateline lint {escaped(line)}{' --draft' if draft else ''}")
