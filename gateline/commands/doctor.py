"""`doctor`: what this machine, or an account at a code host, offers to Gateline."""

from __future__ import annotations

import typer

from gateline.commands import runner

DOCTOR = "pipelines.work.program.doctor"


def doctor(ctx: typer.Context) -> None:
    """Say what this machine offers to stations, or what a token may do at GitHub, GitLab, Gitea or Forgejo.

    It asks as the server's own workers do, and only reads: gateline doctor github --repository owner/name"""
    runner.replace_process_with_module(DOCTOR, ctx.args)
