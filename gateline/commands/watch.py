"""`watch`: a task while it moves, to its end."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from gateline import completion, lookup, output
from gateline.client import Client
from gateline.failures import CommandFailure, ExitCode, UnreachableFailure
from gateline.lookup import TaskPlace
from gateline.output import Json, print_text, unstyled
from gateline.session import signed_in_client

ENDS = {"completed": ExitCode.OK, "failed": ExitCode.NO, "cancelled": ExitCode.CANCELLED}
WAITING = ("awaiting_review", "waiting_for_input", "held", "blocked", "stuck")
WORDS = {
    "queued": "Queued",
    "running": "Running",
    "evaluating": "Evaluating",
    "awaiting_review": "Waiting for review",
    "waiting_for_input": "Waiting for input",
    "held": "On hold",
    "blocked": "Blocked",
    "stuck": "Stuck",
    "completed": "Completed",
    "failed": "Failed",
    "cancelled": "Cancelled",
}
"""The words of the pages for `display_status`."""
SIGNS = {"success": "[green]✓[/green]", "failure": "[red]✗[/red]", "blocked": "[yellow]![/yellow]"}
PAGE = 200
TAIL = 4
"""Lines of the log that are shown below the station that runs."""
PATIENCE = 60.0
"""Seconds in which a server that went away may come back."""


def watch(
    ctx: typer.Context,
    task: Annotated[
        str,
        typer.Argument(help="Such as WI-app-42.", metavar="WI-…", autocompletion=completion.complete_task),
    ],
    until_waiting: Annotated[
        bool, typer.Option("--until-waiting", help="End with 10, too, when it waits for a person.")
    ] = False,
    interval: Annotated[float, typer.Option("--interval", min=0.2, help="Seconds between two looks.")] = 1.0,
    json: Json = False,
) -> None:
    """Watch a task to its end. Ends with 0 if it was completed, 1 if it failed, 9 if it was cancelled.

    With --json, and without a terminal, each change is a line of its own."""
    server = signed_in_client(ctx)
    watch_task_to_its_end(
        server, lookup.find_task(server, task), json, until_waiting=until_waiting, interval=interval
    )


def watch_task_to_its_end(
    server: Client, task: TaskPlace, json: bool, *, until_waiting: bool = False, interval: float = 1.0
) -> None:
    """Watch a task to its end. Always raises typer.Exit with the exit code of how it ended."""
    watched = TaskWatch(server, task)
    drawn = output.console.is_terminal and not json
    with ExitStack() as stack:
        # Drawn once for each look: between two looks nothing can have changed
        live = stack.enter_context(Live(console=output.console, auto_refresh=False)) if drawn else None
        while True:
            changed = watched.news_since_last_look()
            if live is not None:
                live.update(watched.picture_of_task(), refresh=True)
            elif json:
                for event in changed:
                    output.print_json_line(event)
            else:
                for event in changed:
                    print_text(_event_text(event, watched.names))
            status = watched.status
            if status in ENDS or (until_waiting and status in WAITING):
                break
            time.sleep(interval)
    raise typer.Exit(ENDS.get(watched.status, ExitCode.WAITS))


@dataclass
class TaskWatch:
    """State of a watched task, and since when it changed."""

    server: Client
    place: TaskPlace
    task: dict[str, Any] = field(default_factory=dict)
    positions: list[dict[str, Any]] = field(default_factory=list)
    visits: dict[int, dict[str, Any]] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    tail: list[str] = field(default_factory=list)
    _log: tuple[int, int] = (0, 0)
    _told: tuple[str, str] = ("", "")

    @property
    def status(self) -> str:
        return str(self.task["display_status"])

    def news_since_last_look(self) -> list[dict[str, Any]]:
        """Return what is new since the last look, oldest first. Waits for a server that went away."""
        task = self._task_with_retries()
        news: list[dict[str, Any]] = []
        # Each change of the task counts one event: where there is none, positions and visits are as they were
        if task.get("events") != self.task.get("events") or task["display_status"] != self.task.get(
            "display_status"
        ):
            self.task = task
            # Once: what a migration renames is shown by its key then, and the way on stays readable
            self.names = self.names or station_names_or_empty(self.server, self.place, task["version"])
            self.positions = self.server.get(self.place.api_path("positions"))
            visits, status = list(self._news_of_visits()), list(self._news_if_status_changed())
            # An end is told last, after the visits that led to it.
            news = [*visits, *status] if self.status in ENDS else [*status, *visits]
        self._update_log_tail()
        return news

    def cost_of_all_runs_or_none(self) -> float | None:
        """Dollars that its runs report together; None where none has a price."""
        priced = [cost for visit in self.visits.values() if (cost := visit_cost_or_none(visit)) is not None]
        return sum(priced) if priced else None

    def picture_of_task(self) -> RenderableType:
        """Return the state of the task as a picture that is drawn anew."""
        table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
        for visit in self.visits.values():
            table.add_row(*self._visit_row(visit))
        status = _display_status_text(self.task)
        spent = self.cost_of_all_runs_or_none()
        head = [
            f"[bold]{unstyled(self.place.name)}[/bold]  {unstyled(self.task['title'])}",
            f"[bold]{status}[/bold]" + (f" · ${spent:.2f}" if spent is not None else ""),
        ]
        waits = [line for position in self.positions for line in self._wait_and_remedy_lines(position)]
        tail = [Text(f"    {line}", style="dim", overflow="ellipsis", no_wrap=True) for line in self.tail]
        return Group("  ".join(head), table, *tail, *waits)

    def _visit_row(self, visit: dict[str, Any]) -> tuple[str, ...]:
        name = self.names.get(visit["station"], visit["station"])
        run = f"run {visit['visit']}" if visit["visit"] > 1 else ""
        if visit["state"] == "done":
            sign = SIGNS.get(visit["result"] or "", "·")
        else:
            sign = "[cyan]▶[/cyan]" if visit["started"] else "[dim]…[/dim]"
        cost = visit_cost_or_none(visit)
        return (
            f"  {sign}",
            unstyled(name),
            run,
            output.duration_between(visit["started"], visit["ended"]),
            f"${cost:.2f}" if cost is not None else "",
            unstyled((visit["summary"] or "").partition("\n")[0][:100]),
        )

    def _wait_and_remedy_lines(self, position: dict[str, Any]) -> Iterator[str]:
        if position["waits_for"]:
            remedy = f" {unstyled(position['remedy'])}" if position["remedy"] else ""
            yield f"  [yellow]{unstyled(position['waits_for'])}[/yellow]{remedy}"

    def _news_of_visits(self) -> Iterator[dict[str, Any]]:
        # Those that had not ended at the last look, and all after them, are read anew.
        open_ids = [key for key, visit in self.visits.items() if visit["state"] != "done"]
        after = min(open_ids, default=max(self.visits, default=0) + 1) - 1
        while True:
            rows = self.server.get(self.place.api_path("visits"), after=after, limit=PAGE)
            for visit in rows:
                before, self.visits[visit["id"]] = self.visits.get(visit["id"]), visit
                if before is None or (before["state"], before["started"]) != (
                    visit["state"],
                    visit["started"],
                ):
                    yield {
                        "kind": "visit",
                        **{key: visit[key] for key in VISIT},
                        "cost_usd": visit_cost_or_none(visit),
                    }
            if len(rows) < PAGE:
                return
            after = rows[-1]["id"]

    def _news_if_status_changed(self) -> Iterator[dict[str, Any]]:
        waits = "; ".join(position["waits_for"] for position in self.positions if position["waits_for"])
        if (self.status, waits) != self._told:
            self._told = (self.status, waits)
            names = ("status", "display_status", "error", "reason", "end", "unmerged")
            facts = {name: self.task.get(name) for name in names}
            yield {
                "kind": "task",
                "task": self.place.name,
                **facts,
                "waits_for": waits,
                "cost_usd": self.cost_of_all_runs_or_none(),
            }

    def _update_log_tail(self) -> None:
        running = [visit for visit in self.visits.values() if visit["state"] != "done" and visit["started"]]
        # Without a terminal there is no picture below which it would stand
        if not running or not output.console.is_terminal:
            self.tail = []
            return
        # Of several branches the one that began last: there is room for one log
        visit = running[-1]["id"]
        # Another run begins with its first line: a place is one in the log of its own run
        at = self._log[1] if self._log[0] == visit else 0
        piece = self.server.get(self.place.api_path("visits", visit, "log"), from_=at)
        self.tail = [*(self.tail if at else []), *(log_line["text"] for log_line in piece["lines"])][-TAIL:]
        self._log = (visit, piece["next"])

    def _task_with_retries(self) -> dict[str, Any]:
        """Raises Unreachable: it did not come back."""
        until = time.monotonic() + PATIENCE
        while True:
            try:
                facts: dict[str, Any] = self.server.get(self.place.api_path())
                return facts
            except UnreachableFailure:
                # Before its first answer nothing is waited for: the address may be wrong.
                if not self.task or time.monotonic() > until:
                    raise
                time.sleep(2)


VISIT = ("id", "station", "visit", "state", "attempt", "result", "exit_code", "summary", "started", "ended")


def visit_cost_or_none(visit: dict[str, Any]) -> float | None:
    usage = ((visit["outcome"] or {}).get("facts") or {}).get("usage") or {}
    cost = usage.get("cost_usd")
    return None if cost is None else float(cost)


def station_names_or_empty(server: Client, task: TaskPlace, version: int) -> dict[str, str]:
    """Return the names of the stations of this version, by their keys."""
    line = lookup.LinePlace(task.owner, task.project, task.line, {})
    try:
        document = server.get(line.api_path("picture"), from_=version, to=version)["document"]
    except CommandFailure:
        return {}
    return {station["key"]: station.get("name") or station["key"] for station in document["stations"]}


def _display_status_text(task: dict[str, Any]) -> str:
    word = WORDS.get(task["display_status"], task["display_status"])
    return f"{word}, its change is not merged" if task.get("unmerged") else word


def _event_text(news: dict[str, Any], names: dict[str, str]) -> str:
    cost = f" · ${news['cost_usd']:.2f}" if news["cost_usd"] is not None else ""
    if news["kind"] == "task":
        why = news["waits_for"] or news["reason"] or news["error"] or ""
        status = _display_status_text(news)
        return f"[bold]{status}[/bold]" + (f": {unstyled(why)}" if why else "") + cost
    name = unstyled(names.get(news["station"], news["station"]))
    run = f", run {news['visit']}" if news["visit"] > 1 else ""
    if news["state"] != "done":
        return f"{name}{run}: {'started' if news['started'] else 'queued'}"
    summary = (news["summary"] or "").partition("\n")[0]
    took = output.duration_between(news["started"], news["ended"])
    summary_suffix = f": {unstyled(summary)}" if summary else ""
    return f"{SIGNS.get(news['result'] or '', '·')} {name}{run} ({took}){cost}{summary_suffix}"
