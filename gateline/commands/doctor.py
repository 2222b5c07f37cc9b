"""`doctor`: what this machine, or an account at GitHub or GitLab, offers to Gateline."""

from __future__ import annotations

import typer

from gateline.commands import runner

DOCTOR = "pipelines.work.program.doctor"


def doctor(ctx: typer.Context) -> None:
    """Say what this machine offers to stations, or what a token may do at GitHub or GitLab.

    It asks as the server's own workers do, and only reads: gateline doctor github --repository owner/name"""
    runner.replace_process_with_module(DOCTOR, ctx.args)
