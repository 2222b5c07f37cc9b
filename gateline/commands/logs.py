"""`logs`: what the stations of a task wrote."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from gateline import completion, lookup, output
from gateline.client import Client
from gateline.commands.watch import ENDS, PAGE, station_names_or_empty
from gateline.failures import NotFoundFailure
from gateline.lookup import TaskPlace
from gateline.output import Json, unstyled
from gateline.session import signed_in_client


def logs(
    ctx: typer.Context,
    task: Annotated[
        str,
        typer.Argument(help="Such as WI-app-42.", metavar="WI-…", autocompletion=completion.complete_task),
    ],
    station: Annotated[str, typer.Option("--station", "-s", help="Only of this station: key or name.")] = "",
    run: Annotated[int, typer.Option("--run", help="Only of this run of the station; otherwise of all.")] = 0,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on while the task runs.")] = False,
    times: Annotated[
        bool, typer.Option("--times", help="Seconds since the run began, before each line.")
    ] = False,
    json: Json = False,
) -> None:
    """Print the logs of a task: of all its stations in the order in which they ran, or of one.

    With --json each line is an object."""
    server = signed_in_client(ctx)
    place = lookup.find_task(server, task)
    names = station_names_or_empty(server, place, place.facts["version"])
    station_key = next((key for key, name in names.items() if station in (key, name)), station)
    known: set[int] = set()
    while True:
        # Asked before the visits: what comes after this look is printed in the next round.
        ended = not follow or server.get(place.api_path())["status"] in ENDS
        for visit in _all_visits(server, place):
            # One that has not begun has no log yet. At the end it never gets one, and its head says so
            fits = (not station_key or visit["station"] == station_key) and run in (0, visit["visit"])
            if fits and visit["id"] not in known and (visit["started"] or ended):
                known.add(visit["id"])
                _print_log(server, place, visit, names, follow=follow, times=times, json=json)
        if ended:
            break
        time.sleep(1)
    if station_key and not known:
        stations = ", ".join(
            sorted(
                {names.get(run_row["station"], run_row["station"]) for run_row in _all_visits(server, place)}
            )
        )
        raise NotFoundFailure(
            f"{place.name} has no such run of “{station}”.", f"Stations that ran: {stations or 'none'}."
        )


def _all_visits(server: Client, task_place: TaskPlace) -> Iterator[dict[str, Any]]:
    after = 0
    while True:
        rows = server.get(task_place.api_path("visits"), after=after, limit=PAGE)
        yield from rows
        if len(rows) < PAGE:
            return
        after = rows[-1]["id"]


def _print_log(
    server: Client,
    task_place: TaskPlace,
    visit: dict[str, Any],
    names: dict[str, str],
    *,
    follow: bool,
    times: bool,
    json: bool,
) -> None:
    name = names.get(visit["station"], visit["station"])
    if not json:
        output.print_note(f"[bold]{unstyled(name)}[/bold], run {visit['visit']}")
    at = 0
    while True:
        piece = server.get(task_place.api_path("visits", visit["id"], "log"), from_=at)
        for log_line in piece["lines"]:
            if json:
                output.print_json_line({"station": visit["station"], "run": visit["visit"], **log_line})
            else:
                output.print_raw(
                    f"{log_line['seconds']:8.1f}  {log_line['text']}" if times else log_line["text"]
                )
        # A log that is still written ends here without --follow: nobody waits for the rest
        if piece["complete"] or (piece["next"] == at and not follow):
            return
        # Nothing new: asked again without a pause it would only load the server
        if piece["next"] == at:
            time.sleep(1)
        at = piece["next"]
