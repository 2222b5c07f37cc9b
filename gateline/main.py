"""The program: `gateline COMMAND …`."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from gateline import __version__, completion, output
from gateline.commands import (
    backtest,
    checkout,
    doctor,
    events,
    export,
    import_,
    lines,
    lint,
    login,
    logs,
    migrate,
    plan,
    publish,
    rerun,
    review,
    runner,
    submit,
    test,
    watch,
)
from gateline.failures import CommandFailure, Exit


class CommandGroup(TyperGroup):
    """Says of a command that ends early why, and ends with the exit code of what it was."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except CommandFailure as failure:
            output.fail(failure)
            raise typer.Exit(failure.code) from None
        except KeyboardInterrupt:
            raise typer.Exit(Exit.INTERRUPTED) from None


app = typer.Typer(
    cls=CommandGroup,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    help="Lines, tasks and reviews of a Gateline server. Sign in first: gateline login https://your-server",
)
for room in (
    login,
    lines,
    lint,
    test,
    backtest,
    plan,
    publish,
    migrate,
    import_,
    export,
    submit,
    watch,
    logs,
    events,
    review,
    rerun,
    checkout,
    runner,
    doctor,
):
    room.install(app)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"gateline {__version__}")
        raise typer.Exit


@app.callback()
def options(
    ctx: typer.Context,
    profile: Annotated[
        str,
        typer.Option(
            "--profile",
            "-p",
            envvar="GATELINE_PROFILE",
            help="Which sign-in to use; otherwise the default one.",
            autocompletion=completion.profile,
        ),
    ] = "",
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Lines, tasks and reviews of a Gateline server. Sign in first: gateline login https://your-server"""
    ctx.obj = profile


def main() -> None:
    app(prog_name="gateline")
