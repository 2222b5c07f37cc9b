"""`test`: runs the scenarios of a line, and says which rules they take."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from gateline import completion, lookup, output
from gateline.failures import ExitCode, InvalidFailure
from gateline.output import Json, print_text, unstyled
from gateline.session import signed_in_client


def test(
    ctx: typer.Context,
    line: Annotated[
        str,
        typer.Argument(
            help="line, project/line or owner/project/line.", autocompletion=completion.complete_line
        ),
    ],
    draft: Annotated[bool, typer.Option("--draft", help="Against the draft, not what is live.")] = False,
    version: Annotated[int, typer.Option("--version", help="Against this version.")] = 0,
    min_coverage: Annotated[
        float, typer.Option("--min-coverage", help="End with 1 if fewer rules are taken.", metavar="PERCENT")
    ] = 0,
    json: Json = False,
) -> None:
    """Run the scenarios of a line. Ends with 1 if one does not hold. No task is touched.

    Scenarios in a file: python -m pipelines.routing simulate. With --json each step has its trace."""
    server = signed_in_client(ctx)
    against = "draft" if draft else version or None
    report = server.post(
        lookup.find_line(server, line).api_path("run-scenarios"), {"against": against, "traces": json}
    )
    if not report["scenarios"]:
        raise InvalidFailure("There are no scenarios.", "Make some on the page Tests of the line.")
    covered = report["coverage"]["percent"]
    if json:
        output.print_json(report)
    else:
        _print_report(report)
    if covered < min_coverage:
        output.print_note(f"{covered:.1f}% of the rules are taken, fewer than {min_coverage:g}%.")
    if not report["holds"] or covered < min_coverage:
        raise typer.Exit(ExitCode.NO)


def _print_report(report: dict[str, Any]) -> None:
    for scenario in report["scenarios"]:
        word = "[green]ok[/green]  " if scenario["holds"] else "[red]FAIL[/red]"
        print_text(f"{word}  {unstyled(scenario['name'])}")
        for failure in scenario["failures"]:
            step = f"step {failure['step']}: " if failure["step"] else ""
            why = f" ({failure['why']})" if failure["why"] else ""
            print_text(f"      {unstyled(step + failure['message'] + why)}")
    holding = sum(scenario["holds"] for scenario in report["scenarios"])
    rules = report["coverage"]["rules"]
    total = output.counted(len(report["scenarios"]), "scenario", "scenarios")
    print_text(f"{holding} of {total} passed.")
    print_text(f"Rules taken: {len(rules['taken'])} of {rules['all']} ({report['coverage']['percent']}%)")
    if rules["never_taken"]:
        print_text(f"Never taken: {unstyled(', '.join(rules['never_taken']))}")
