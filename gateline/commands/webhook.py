"""`webhook`: lets tasks of a line start when another program calls an address."""

from __future__ import annotations

from typing import Annotated

import typer

from gateline import lookup, output
from gateline.commands.submit import typed_inputs
from gateline.form_values import input_key_and_value
from gateline.options import InputFiles, InputValues, LineName
from gateline.output import Json, print_text, unstyled
from gateline.session import signed_in_client


def webhook(
    ctx: typer.Context,
    line: LineName,
    values: InputValues = None,
    name: Annotated[str, typer.Option("--name", help="Of what calls it.", metavar="NAME")] = "Webhook",
    take: Annotated[
        list[str] | None,
        typer.Option("--take", help="Take an input from the body: request=issue.title.", metavar="KEY=PATH"),
    ] = None,
    title: Annotated[
        str, typer.Option("--title", "-t", help="Path of the title in the body.", metavar="PATH")
    ] = "",
    requester: Annotated[
        str, typer.Option("--requester", help="Path of who asked: they cannot approve.", metavar="PATH")
    ] = "",
    only_if: Annotated[
        str, typer.Option("--only-if", help="Path that has to find something.", metavar="PATH")
    ] = "",
    signature: Annotated[
        str,
        typer.Option("--signature", help="How it is signed.", metavar="standard|github|gitlab|gitea"),
    ] = "standard",
    file: InputFiles = None,
    json: Json = False,
) -> None:
    """Start a task whenever another program calls an address. Prints it with its signing secret, this once.

    Example: gateline webhook triage --name "Support desk" --take request=ticket.text"""
    server = signed_in_client(ctx)
    place = lookup.find_line(server, line)
    body = {
        "kind": "webhook",
        "options": {
            "name": name,
            "signature": signature,
            "inputs": dict(input_key_and_value(assignment) for assignment in take or ()),
            "title": title,
            "requester": requester,
            "only_if": only_if,
        },
        "inputs": typed_inputs(server, place, values or (), file or ()),
    }
    made = server.post(place.api_path("triggers"), body)
    if json:
        output.print_json(made)
        return
    print_text(f"{made['id']}  {unstyled(made['words'])}, {unstyled(made['detail'])}")
    print_text(f"  {unstyled(made['address'])}")
    print_text(f"  {unstyled(made['secret'])}")
