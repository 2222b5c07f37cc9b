"""`quotas`: what of the quotas of a project is used, and the limits of its lines."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from gateline import completion, lookup, output
from gateline.client import url_path
from gateline.output import Json, print_text, unstyled
from gateline.session import signed_in_client

LABELS = {
    "day_tasks": "Tasks a day",
    "month_tasks": "Tasks a month",
    "day_cost_usd": "Cost a day",
    "month_cost_usd": "Cost a month",
}


def quotas(
    ctx: typer.Context,
    project: Annotated[
        str, typer.Option("--project", help="Of this project.", autocompletion=completion.complete_project)
    ] = "",
    json: Json = False,
) -> None:
    """Show what of the quotas of a project is used, and how many tasks its lines may have open at once."""
    server = signed_in_client(ctx)
    owner, key = lookup.find_owner_and_key_of_project(server, project)
    rows = server.get(url_path("owners", owner, "projects", key, "quotas"))
    lines = [row for row in server.get(url_path("owners", owner, "projects", key, "lines")) if row["limit"]]
    if json:
        output.print_json({"quotas": rows, "lines": [{"line": row["key"], **row["limit"]} for row in lines]})
        return
    output.print_table(("Quota", "Used", "Limit", ""), map(_quota_row, rows))
    for row in lines:
        print_text(unstyled(_limit_sentence(row["name"], row["limit"])))


def _quota_row(row: dict[str, Any]) -> tuple[object, ...]:
    is_money = row["quota"].endswith("_usd")
    used, limit = (
        "" if amount is None else f"${amount:,.2f}" if is_money else f"{amount:,.0f}"
        for amount in (row["used"], row["limit"])
    )
    return LABELS.get(row["quota"], row["quota"]), used, limit or "none", "used up" if row["used_up"] else ""


def _limit_sentence(name: str, limit: dict[str, Any]) -> str:
    noun = "task" if limit["tasks"] == 1 else "tasks"
    counted = f" with the same {limit['key']}" if limit["key"] else ""
    more = "waits" if limit["over"] == "queue" else "replaces the oldest"
    return f"{name}: at most {limit['tasks']} {noun}{counted} open at once; one more {more}."
