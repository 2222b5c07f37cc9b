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
    found: dict[str, Any] = server.post(
        path("owners", owner, "projects", key, "plan"),
        content=text.encode(),
        headers={"Content-Type": "application/yaml"},
    )
    if json:
        output.as_json(found)
    elif as_markdown:
        typer.echo(markdown(found, file), nl=False)
    else:
        _show(found, file)
    if found["verdict"] == "refused" or (strict and found["verdict"] == "acknowledge"):
        raise typer.Exit(Exit.NO)


def _show(found: dict[str, Any], name: str) -> None:
    against = f"against v{found['live']}" if found["live"] else "not published yet"
    say(f"[bold]{plain(found['line'] or name)}[/bold]  [dim]{against}[/dim]")
    if found["counts"].get("error") or found["counts"].get("warning"):
        show_findings(found, name)
    else:
        say(f"{counted(found['counts'])}.")
    _guarantees(found)
    _cost(found["cost"])
    _changes(found)
    _recorded(found)
    say(VERDICTS[found["verdict"]])


def _guarantees(found: dict[str, Any]) -> None:
    for each in found["guarantees"]:
        say(f"  {ANSWERS[each['answer']]}  {plain(each['sentence'])}")
        if each["path"]:
            say(f"      {plain(each['path'])}")


def _cost(cost: dict[str, Any]) -> None:
    if cost["now"] is None:
        return
    now, before = (f"${each}" if each else "without a limit" for each in (cost["now"], cost["before"]))
    changed = f" [dim](now {before})[/dim]" if cost["before"] is not None and before != now else ""
    say(
        f"A task costs at most {now}{changed}."
        if cost["now"]
        else f"Nothing limits what a task costs{changed}."
    )


def _changes(found: dict[str, Any]) -> None:
    for each in found["changes"] or ():
        say(f"  ~ {plain(each['sentence'])}")
    difference = found["difference"] or {"structure": [], "changes": [], "unknown": []}
    for each in (*difference["structure"], *difference["changes"], *difference["unknown"]):
        say(f"  → {plain(each['sentence'])}")
        if each.get("sample"):
            outcome = each["sample"]["situation"].get("outcome", {})
            say(f"      [dim]for example {plain(str(outcome))}[/dim]")


def _recorded(found: dict[str, Any]) -> None:
    tried = found["backtest"]
    if tried and tried["decisions"].get("total"):
        counts = ", ".join(
            f"{tried['decisions'][key]:,} {words}"
            for key, words in BACKTEST.items()
            if tried["decisions"].get(key)
        )
        say(f"Of {tried['decisions']['total']:,} recorded decisions: {counts}.")
    impact = found["impact"]
    if impact and impact["total"]:
        counts = ", ".join(
            f"{n} {IMPACT.get(key, key.replace('_', ' '))}" for key, n in impact["counts"].items() if n
        )
        say(f"Of {impact['total']:,} running tasks, migrated now: {counts}.")
