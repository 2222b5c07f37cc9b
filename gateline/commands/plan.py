"""`plan`: what publishing a file would do, for a person and for a check on a merge request."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from gateline import output, places
from gateline.client import path
from gateline.commands.lint import counted, read
from gateline.commands.lint import show as show_findings
from gateline.failures import Exit, Usage
from gateline.output import Json, plain, say
from gateline.plan_markdown import BACKTEST, IMPACT, markdown
from gateline.session import client

VERDICTS = {
    "ready": "[green]Can be published.[/green]",
    "same": "Nothing changes: that is what is live.",
    "acknowledge": "[yellow]Can be published after its warnings are acknowledged.[/yellow]",
    "refused": "[red]Cannot be published.[/red]",
}
ANSWERS = {
    "proved": "[green]Proved[/green]",
    "refuted": "[red]Refuted[/red]",
    "unknown": "[yellow]Unknown[/yellow]",
}


def plan(
    ctx: typer.Context,
    file: Annotated[str, typer.Argument(help="A file, or - for standard input.", metavar="FILE")],
    project: Annotated[str, typer.Option("--project", help="The project of the line: owner/project.")] = "",
    as_markdown: Annotated[
        bool, typer.Option("--markdown", help="Print a comment for a merge request.")
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="End with 1 on warnings to acknowledge, too.")
    ] = False,
    json: Json = False,
) -> None:
    """Show what publishing a file would do. Nothing is stored.

    Findings, guarantees, what a task may cost, routing changes with an example of each, recorded outcomes under the new
    rules, and running tasks. Ends with 0 if it can be published, with 1 if not."""
    if as_markdown and json:
        raise Usage("Choose --json or --markdown.")
    server = client(ctx)
    text = read(file)
    if text is None:
        raise Usage(f"There is no file {file}.")
    owner, key = places.project_of(server, project)
    report: dict[str, Any] = server.post(
        path("owners", owner, "projects", key, "plan"),
        content=text.encode(),
        headers={"Content-Type": "application/yaml"},
    )
    if json:
        output.as_json(report)
    elif as_markdown:
        typer.echo(markdown(report, file), nl=False)
    else:
        _show(report, file)
    if report["verdict"] == "refused" or (strict and report["verdict"] == "acknowledge"):
        raise typer.Exit(Exit.NO)


def _show(report: dict[str, Any], name: str) -> None:
    against = f"against v{report['live']}" if report["live"] else "not published yet"
    say(f"[bold]{plain(report['line'] or name)}[/bold]  [dim]{against}[/dim]")
    if report["counts"].get("error") or report["counts"].get("warning"):
        show_findings(report, name)
    else:
        say(f"{counted(report['counts'])}.")
    _guarantees(report)
    _cost(report["cost"])
    _changes(report)
    _recorded(report)
    say(VERDICTS[report["verdict"]])


def _guarantees(report: dict[str, Any]) -> None:
    for guarantee in report["guarantees"]:
        say(f"  {ANSWERS[guarantee['answer']]}  {plain(guarantee['sentence'])}")
        if guarantee["path"]:
            say(f"      {plain(guarantee['path'])}")


def _cost(cost: dict[str, Any]) -> None:
    if cost["now"] is None:
        return
    now, before = (f"${amount}" if amount else "without a limit" for amount in (cost["now"], cost["before"]))
    changed = f" [dim](now {before})[/dim]" if cost["before"] is not None and before != now else ""
    say(
        f"A task costs at most {now}{changed}."
        if cost["now"]
        else f"Nothing limits what a task costs{changed}."
    )


def _changes(report: dict[str, Any]) -> None:
    for change in report["changes"] or ():
        say(f"  ~ {plain(change['sentence'])}")
    difference = report["difference"] or {"structure": [], "changes": [], "unknown": []}
    for change in (*difference["structure"], *difference["changes"], *difference["unknown"]):
        say(f"  → {plain(change['sentence'])}")
        if change.get("sample"):
            outcome = change["sample"]["situation"].get("outcome", {})
            say(f"      [dim]for example {plain(str(outcome))}[/dim]")


def _recorded(report: dict[str, Any]) -> None:
    tried = report["backtest"]
    if tried and tried["decisions"].get("total"):
        counts = ", ".join(
            f"{tried['decisions'][key]:,} {words}"
            for key, words in BACKTEST.items()
            if tried["decisions"].get(key)
        )
        say(f"Of {tried['decisions']['total']:,} recorded decisions: {counts}.")
    impact = report["impact"]
    if impact and impact["total"]:
        counts = ", ".join(
            f"{n} {IMPACT.get(key, key.replace('_', ' '))}" for key, n in impact["counts"].items() if n
        )
        say(f"Of {impact['total']:,} running tasks, migrated now: {counts}.")
