"""`plan`: what publishing a file would do, for a person and for a check on a merge request."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from gateline import lookup, output
from gateline.client import url_path
from gateline.commands.lint import counts_by_severity_text, document_text_or_none
from gateline.commands.lint import print_report as show_findings
from gateline.failures import ExitCode, UsageFailure
from gateline.output import Json, print_text, unstyled
from gateline.plan_markdown import BACKTEST, IMPACT, plan_markdown
from gateline.session import signed_in_client

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
        raise UsageFailure("Choose --json or --markdown.")
    server = signed_in_client(ctx)
    text = document_text_or_none(file)
    if text is None:
        raise UsageFailure(f"There is no file {file}.")
    owner, key = lookup.find_owner_and_key_of_project(server, project)
    report: dict[str, Any] = server.post(
        url_path("owners", owner, "projects", key, "plan"),
        content=text.encode(),
        headers={"Content-Type": "application/yaml"},
    )
    if json:
        output.print_json(report)
    elif as_markdown:
        typer.echo(plan_markdown(report, file), nl=False)
    else:
        _print_plan(report, file)
    # After everything was printed: a pipeline reads the code, and a person why
    if report["verdict"] == "refused" or (strict and report["verdict"] == "acknowledge"):
        raise typer.Exit(ExitCode.NO)


def _print_plan(report: dict[str, Any], name: str) -> None:
    against = f"against v{report['live']}" if report["live"] else "not published yet"
    print_text(f"[bold]{unstyled(report['line'] or name)}[/bold]  [dim]{against}[/dim]")
    if report["counts"].get("error") or report["counts"].get("warning"):
        show_findings(report, name)
    else:
        print_text(f"{counts_by_severity_text(report['counts'])}.")
    _print_guarantees(report)
    _print_cost(report["cost"])
    _print_changes(report)
    _print_backtest_and_impact(report)
    print_text(VERDICTS[report["verdict"]])


def _print_guarantees(report: dict[str, Any]) -> None:
    for guarantee in report["guarantees"]:
        print_text(f"  {ANSWERS[guarantee['answer']]}  {unstyled(guarantee['sentence'])}")
        if guarantee["path"]:
            print_text(f"      {unstyled(guarantee['path'])}")


def _print_cost(cost: dict[str, Any]) -> None:
    if cost["now"] is None:
        return
    now, before = (f"${amount}" if amount else "without a limit" for amount in (cost["now"], cost["before"]))
    changed = f" [dim](now {before})[/dim]" if cost["before"] is not None and before != now else ""
    print_text(
        f"A task costs at most {now}{changed}."
        if cost["now"]
        else f"Nothing limits what a task costs{changed}."
    )


def _print_changes(report: dict[str, Any]) -> None:
    for change in report["changes"] or ():
        print_text(f"  ~ {unstyled(change['sentence'])}")
    difference = report["difference"] or {"structure": [], "changes": [], "unknown": []}
    for change in (*difference["structure"], *difference["changes"], *difference["unknown"]):
        print_text(f"  → {unstyled(change['sentence'])}")
        if change.get("sample"):
            outcome = change["sample"]["situation"].get("outcome", {})
            print_text(f"      [dim]for example {unstyled(str(outcome))}[/dim]")


def _print_backtest_and_impact(report: dict[str, Any]) -> None:
    tried = report["backtest"]
    if tried and tried["decisions"].get("total"):
        counts = ", ".join(
            f"{tried['decisions'][key]:,} {words}"
            for key, words in BACKTEST.items()
            if tried["decisions"].get(key)
        )
        print_text(f"Of {tried['decisions']['total']:,} recorded decisions: {counts}.")
    impact = report["impact"]
    if impact and impact["total"]:
        counts = ", ".join(
            f"{n} {IMPACT.get(key, key.replace('_', ' '))}" for key, n in impact["counts"].items() if n
        )
        print_text(f"Of {impact['total']:,} running tasks, migrated now: {counts}.")
