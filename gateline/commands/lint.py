"""`lint`: what the rules of a line can and cannot do, of a file or of a line on the server."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from gateline import completion, lookup, output
from gateline.client import Client, url_path
from gateline.failures import ExitCode, FaultPlace, UsageFailure
from gateline.output import Json, print_text, unstyled
from gateline.session import signed_in_client

SEVERITIES = {
    "error": ("error", "errors", "red"),
    "warning": ("warning", "warnings", "yellow"),
    "info": ("hint", "hints", "dim"),
}


def lint(
    ctx: typer.Context,
    what: Annotated[
        str,
        typer.Argument(help="A file, - for standard input, or a line of the server.", metavar="FILE|LINE"),
    ],
    project: Annotated[
        str,
        typer.Option(
            "--project",
            help="As a line of this project would be checked.",
            autocompletion=completion.complete_project,
        ),
    ] = "",
    draft: Annotated[bool, typer.Option("--draft", help="Of a line: its draft, not what is live.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="End with 1 on warnings, too.")] = False,
    json: Json = False,
) -> None:
    """Check a line before it is published. Ends with 1 if there are errors.

    A file is sent to the server and not stored there. Each finding says its line and column in the file."""
    server = signed_in_client(ctx)
    text = document_text_or_none(what)
    # Decided by whether there is such a file: a name without an ending may be a line of the server
    if text is not None:
        report, name = (
            lint_document(server, lookup.find_owner_and_key_of_project(server, project), text),
            what,
        )
    else:
        line = lookup.find_line(server, what)
        live = None if draft else line.facts["live"]
        report, name = server.get(line.api_path("lint"), version=live), str(line)
    if json:
        output.print_json(report)
    else:
        print_report(report, name)
    # The exit code is what a pipeline reads
    if report["counts"].get("error") or (strict and report["counts"].get("warning")):
        raise typer.Exit(ExitCode.NO)


def document_text_or_none(what: str) -> str | None:
    """The text of a file, or None where it is meant as a line. Raises Usage."""
    if what == "-":
        return sys.stdin.read()
    file = Path(what)
    if not file.is_file():
        # Named so, a file was meant, and no line.
        if file.suffix in (".yaml", ".yml", ".json"):
            raise UsageFailure(f"There is no file {what}.")
        return None
    try:
        return file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as fault:
        raise UsageFailure(f"{what} cannot be read: {fault}") from fault


def lint_document(server: Client, project: tuple[str, str], text: str) -> dict[str, Any]:
    """Return the server's lint report on a document that it does not store."""
    report: dict[str, Any] = server.post(
        url_path("owners", project[0], "projects", project[1], "lint"),
        content=text.encode(),
        headers={"Content-Type": "application/yaml"},
    )
    return report


def print_report(report: dict[str, Any], name: str) -> None:
    for finding in report["findings"]:
        place = f":{finding['line']}:{finding['column'] or 1}" if finding["line"] else ""
        word, _plural, colour = SEVERITIES[finding["severity"]]
        head = f"{unstyled(name)}{place}: [{colour}]{word}[/{colour}] {unstyled(finding['message'])}"
        print_text(f"{head} [dim]({unstyled(finding['check'])})[/dim]")
        if finding["hint"]:
            print_text(f"    {unstyled(finding['hint'])}")
    print_text(
        f"{counts_by_severity_text(report['counts'])}."
        if report["findings"]
        else f"{unstyled(name)}: no problems."
    )


def counts_by_severity_text(counts: dict[str, int]) -> str:
    """“1 error · 2 warnings”"""
    words = {"error": ("error", "errors"), "warning": ("warning", "warnings"), "info": ("hint", "hints")}
    return (
        " · ".join(f"{n} {words[key][n != 1]}" for key, n in counts.items() if n and key in words)
        or "no problems"
    )


def error_places(report: dict[str, Any]) -> list[FaultPlace]:
    """Return the findings that prevent a line from being published."""
    return [
        FaultPlace(finding["message"], finding["path"], finding["hint"], finding["line"], finding["column"])
        for finding in report["findings"]
        if finding["severity"] == "error"
    ]
