"""`runner`: the worker of a copy of the repository, which lies beside this package or is installed with it."""

from __future__ import annotations

import importlib.util
import os
import sys

import typer

from gateline.failures import Usage

WORKER = "pipelines.runner"


def install(app: typer.Typer) -> None:
    app.command(
        context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []},
        add_help_option=False,
    )(runner)


def runner(ctx: typer.Context) -> None:
    """Do the work of a project's stations on this machine, for a server elsewhere.

    It is the server's own worker, in a process of its own: this program has none of it, and only starts it."""
    if not _is_there():
        raise Usage(
            "The worker is not installed here.",
            'In a copy of the repository, at the version of the server, run: make runner ARGS="--help"',
        )
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, "-m", WORKER, *ctx.args])


def _is_there() -> bool:
    try:
        return importlib.util.find_spec(WORKER) is not None
    except ModuleNotFoundError:
        return False
