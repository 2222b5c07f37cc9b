"""`backtest`: recorded outcomes of a line, decided again under its draft, a version or a file."""

from __future__ import annotations

import json as texts
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from gateline import completion, lookup, output
from gateline.client import Client
from gateline.commands.lint import document_text_or_none
from gateline.failures import CommandFailure, UsageFailure
from gateline.output import Json, print_text, unstyled
from gateline.session import signed_in_client

WORDS = {
    "same": "same",
    "different": "different",
    "gate_newly_required": "gate newly required",
    "gate_newly_skipped": "gate newly skipped",
    "undecidable": "undecidable",
}


def backtest(
    ctx: typer.Context,
    line: Annotated[
        str,
        typer.Argument(
            help="line, project/line or owner/project/line.", autocompletion=completion.complete_line
        ),
    ],
    to: Annotated[str, typer.Option("--to", help="draft, live or the number of a version.")] = "draft",
    file: Annotated[str, typer.Option("--file", help="Try this document. It is stored nowhere.")] = "",
    versions: Annotated[str, typer.Option("--versions", help="Decided by these only.", metavar="N,N")] = "",
    since: Annotated[str, typer.Option("--since", help="Decided from then on.", metavar="WHEN")] = "",
    until: Annotated[str, typer.Option("--until", help="Decided before.", metavar="WHEN")] = "",
    last: Annotated[str, typer.Option("--last", help="Of the newest N tasks.", metavar="N")] = "",
    tasks: Annotated[str, typer.Option("--tasks", help="all, running or ended.")] = "all",
    limit: Annotated[str, typer.Option("--limit", help="At most N decisions.", metavar="N")] = "",
    divergences: Annotated[
        bool, typer.Option("--each-task", help="Print each task that comes out otherwise.")
    ] = False,
    json: Json = False,
) -> None:
    """Decide the recorded outcomes of a line again. Nothing is changed.

    With --json each line is an object, the result last."""
    server = signed_in_client(ctx)
    text = document_text_or_none(file) if file else None
    if file and text is None:
        raise UsageFailure(f"There is no file {file}.")
    chosen = {"versions": versions, "since": since, "until": until, "last": last, "limit": limit}
    query = {**chosen, "tasks": tasks, "to": to, "each_task": divergences}
    event: dict[str, Any] = {"type": "nothing"}
    for event in _stream_events(server, lookup.find_line(server, line).api_path("backtest"), query, text):
        if event["type"] == "problem":
            raise CommandFailure(event["detail"])
        if event["type"] == "progress":
            output.print_note(f"{event['done']:,} of {event['total']:,} decisions")
        elif json:
            output.print_json_line(event)
        elif event["type"] == "task":
            print_text(f"{event['task']}  {event['verdict']}  first at {unstyled(event['first']['station'])}")
        else:
            _print_result(event)
    if event["type"] != "result":
        raise CommandFailure("The server's answer ended before the result came.", "Run the back-test again.")


def _stream_events(
    server: Client, path: str, query: dict[str, Any], text: str | None
) -> Iterator[dict[str, Any]]:
    """Yield the server's messages while it decides, one object a line."""
    body = {} if text is None else {"content": text.encode()}
    with server.stream("GET" if text is None else "POST", path, params=query, **body) as response:
        yield from map(texts.loads, response.iter_lines())


def _print_result(result: dict[str, Any]) -> None:
    decisions, tasks, against = result["decisions"], result["tasks"], result["against"]
    name = f"version {against}" if against.isdigit() else f"the {against}"
    if not decisions["total"]:
        print_text(f"No recorded decisions to try on {name}.")
        return
    tried = output.counted(decisions["total"], "decision", "decisions")
    print_text(f"Tried on {name}: {tried} of {output.counted(tasks['total'], 'task', 'tasks')}.")
    earlier = result["of_earlier_revisions"]
    recorded = f"{earlier:,} were recorded under an earlier one" if earlier else "all were recorded under it"
    print_text(f"Decided under revision {result['revision']} of the law; {recorded}.")
    if result["limited"]:
        print_text("There are older ones, which the limit left out.")
    output.print_table(
        ("", "decisions", "tasks"),
        ((words, f"{decisions[key]:,}", f"{tasks[key]:,}") for key, words in WORDS.items()),
    )
    if result["after_divergence"]:
        print_text(f"{result['after_divergence']:,} decisions come after their task had gone elsewhere.")
    for cell in result["cells"]:
        effects = f"{_effect_text(cell['then'])} → {_effect_text(cell['now'])}"
        print_text(
            f"\n{WORDS[cell['verdict']]}, {cell['count']:,} at {unstyled(cell['station'])}: {unstyled(effects)}"
        )
        if cell["message"]:
            print_text(f"  {unstyled(cell['message'])}")
        print_text(f"  for example {', '.join(sample['task'] for sample in cell['samples'])}")
    if result["more_cells"]:
        print_text(f"\n{result['more_cells']:,} more decisions of other kinds.")


def _effect_text(effect: dict[str, Any] | None) -> str:
    if effect is None:
        return "unknown"
    rule = f" by {effect['rule']}" if effect["rule"] else ""
    where = " + ".join(effect["to"]) or {"ask": "an evaluation"}.get(effect["kind"], effect["kind"])
    rests = effect["kind"] in ("stuck", "finish", "held") and effect["detail"]
    return f"{where}{f' ({rests})' if rests else ''}{rule}"
