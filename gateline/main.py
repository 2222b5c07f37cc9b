"""The program: `gateline COMMAND …`."""

from __future__ import annotations

import atexit
import gc
from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from gateline import __version__, completion, output
from gateline.commands import (
    after,
    backtest,
    bulk,
    checkout,
    doctor,
    events,
    export,
    fork,
    import_,
    lines,
    lint,
    login,
    logs,
    mcp,
    migrate,
    move,
    pause,
    plan,
    publish,
    quotas,
    rerun,
    review,
    runner,
    schedule,
    submit,
    test,
    triggers,
    verify,
    watch,
    webhook,
)
from gateline.failures import CommandFailure, ExitCode


class CommandGroup(TyperGroup):
    """Says of a command that ends early why, and ends with the exit code of what it was."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except CommandFailure as failure:
            output.print_failure(failure)
            raise typer.Exit(failure.code) from None
        except KeyboardInterrupt:
            raise typer.Exit(ExitCode.INTERRUPTED) from None


app = typer.Typer(
    cls=CommandGroup,
    no_args_is_help=True,
    rich_markup_mode="rich",
    # They would print the values of variables, the token among them
    pretty_exceptions_enable=False,
    help="Lines, tasks and reviews of a Gateline server. Sign in first: gateline login https://your-server",
)
COMMANDS: dict[str, Callable[..., None]] = {
    "login": login.login,
    "logout": login.logout,
    "profiles": login.list_profiles,
    "lines": lines.lines,
    "quotas": quotas.quotas,
    "lint": lint.lint,
    "test": test.test,
    "backtest": backtest.backtest,
    "plan": plan.plan,
    "publish": publish.publish,
    "migrate": migrate.migrate,
    "move": move.move,
    "bulk": bulk.bulk,
    "fork": fork.fork,
    "pause": pause.pause,
    "resume": pause.resume,
    "import": import_.import_,
    "export": export.export,
    "submit": submit.submit,
    "schedule": schedule.schedule,
    "webhook": webhook.webhook,
    "after": after.after,
    "triggers": triggers.triggers,
    "watch": watch.watch,
    "logs": logs.logs,
    "events": events.events,
    "review": review.review,
    "rerun": rerun.rerun,
    "checkout": checkout.checkout,
    "verify": verify.verify,
    "mcp": mcp.mcp,
}
for name, command in COMMANDS.items():
    app.command(name)(command)
# What follows these is for the program that they start, --help too.
for program in (runner.runner, doctor.doctor):
    app.command(
        context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []},
        add_help_option=False,
    )(program)


def _print_version(requested: bool) -> None:
    if requested:
        typer.echo(f"gateline {__version__}")
        raise typer.Exit


@app.callback()
def set_global_options(
    ctx: typer.Context,
    profile: Annotated[
        str,
        typer.Option(
            "--profile",
            "-p",
            envvar="GATELINE_PROFILE",
            help="Which sign-in to use; otherwise the default one.",
            autocompletion=completion.complete_profile,
        ),
    ] = "",
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Lines, tasks and reviews of a Gateline server. Sign in first: gateline login https://your-server"""
    ctx.obj = profile


def main() -> None:
    # Garbage is looked for seldom, and not at all at the end: both take a quarter of the time that a command takes.
    gc.set_threshold(20_000, 20, 50)
    atexit.register(gc.freeze)
    app(prog_name="gateline")
