"""`migrate`: shows what another version does to the running tasks of a line, asks, and migrates them."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from gateline import completion, lookup, output
from gateline.client import Client
from gateline.form_values import input_key_and_value
from gateline.lookup import LinePlace
from gateline.output import Json, print_text, unstyled
from gateline.session import signed_in_client

# The worst first: `_print_impact` sorts by this order.
EFFECTS = {
    "stuck": "would get stuck",
    "approve_again": "must be approved again",
    "moves": "moves",
    "stays": "stays",
}


def migrate(
    ctx: typer.Context,
    line: Annotated[
        str,
        typer.Argument(
            help="line, project/line or owner/project/line.", autocompletion=completion.complete_line
        ),
    ],
    to: Annotated[str, typer.Option("--to", help="The number of a version; draft only shows.")] = "draft",
    mapping: Annotated[
        list[str] | None,
        typer.Option("--map", help="A station that is gone, and its heir.", metavar="OLD=NEW"),
    ] = None,
    task: Annotated[list[str] | None, typer.Option("--task", help="Only this one.", metavar="WI-…")] = None,
    reason: Annotated[str, typer.Option("--reason", "-r", help="Why; kept with the migration.")] = "",
    undo: Annotated[str, typer.Option("--undo", help="Put back what this migration did.", metavar="ID")] = "",
    go_on: Annotated[
        str, typer.Option("--continue", help="Finish one that was cut short.", metavar="ID")
    ] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would happen, no more.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    json: Json = False,
) -> None:
    """Bring running tasks of a line to another of its versions, or undo that. Shows the effect on each, and asks."""
    server = signed_in_client(ctx)
    place = lookup.find_line(server, line)
    if undo:
        _print_migration(server.post(place.api_path("migrations", undo, "undo"), {"reason": reason}), json)
        return
    if go_on:
        _print_migration(server.post(place.api_path("migrations", go_on, "continue")), json)
        return
    stations = dict(input_key_and_value(text) for text in mapping or ())
    # Shown with the same mapping and tasks that are sent then: the digest binds both
    tried = {"map": [f"{old}:{new}" for old, new in stations.items()], "task": task or []}
    impact = server.get(place.api_path("impact"), to=to, **tried)
    is_trial = dry_run or to == "draft"
    if not json:
        _print_impact(impact)
    elif is_trial:
        output.print_json(impact)
    if is_trial:
        return
    if not yes:
        output.confirm_or_exit(
            f"Migrate {output.counted(len(impact['tasks']), 'task', 'tasks')}?",
            "migrate",
            "Nothing was migrated.",
        )
    _print_migration(_post_migration(server, place, impact, stations, task, reason), json)


def _post_migration(
    server: Client,
    line_place: LinePlace,
    impact: dict[str, Any],
    stations: dict[str, str],
    task: list[str] | None,
    reason: str,
) -> dict[str, Any]:
    """Migrate as shown and return the migration. The server refuses (409) if anything changed since."""
    # With the digest of what was shown, so that nothing else is done
    body = {"to": impact["to"], "digest": impact["digest"], "reason": reason, "mapping": stations}
    migration: dict[str, Any] = server.post(line_place.api_path("migrations"), {**body, "tasks": task})
    return migration


def _print_impact(impact: dict[str, Any]) -> None:
    """Print one line a position, the worst first; then the sums."""
    order = list(EFFECTS)
    for task in sorted(impact["tasks"], key=lambda row: order.index(row["effect"])):
        for position in task["positions"]:
            effect = EFFECTS[position["effect"]]
            print_text(f"{task['task']:14} v{task['version']:<4} {effect:22} {unstyled(position['words'])}")
    name = "the draft" if impact["to"] == "draft" else f"v{impact['to']}"
    sums = ", ".join(f"{count} {EFFECTS[key]}" for key, count in impact["counts"].items() if count)
    print_text(f"{len(impact['tasks'])} running tasks are not on {name}{': ' + sums if sums else ''}.")
    print_text(f"Decided under revision {impact['revision']} of the law.")
    for words, stations in (
        ("Needs a mapping", impact["needs_mapping"]),
        ("May need one, too", impact["may_need_mapping"]),
    ):
        if stations:
            print_text(f"{words}: {unstyled(', '.join(f'--map {key}=…' for key in stations))}")


def _print_migration(migration: dict[str, Any], json: bool) -> None:
    if json:
        output.print_json(migration)
        return
    counts = ", ".join(f"{count} {word}" for word, count in sorted(migration["counts"].items()))
    print_text(f"{migration['id']}: {counts or 'nothing'}")
    for entry in migration["tasks"]:
        # What went as shown is in the sums; a line each is for what did not
        if entry["result"] not in ("migrated", "restored"):
            print_text(f"{entry['task']}: {entry['result']}. {unstyled(entry['detail'])}")
