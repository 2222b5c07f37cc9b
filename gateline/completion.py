"""Names that a shell offers while a command is typed: asked of the server, for a moment only, and silent when it does
not answer or nobody is signed in."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

import httpx2
import typer

from gateline import profiles
from gateline.client import Client
from gateline.failures import CommandFailure

SECONDS: Final = httpx2.Timeout(1.5, connect=0.7)
"""Whoever presses Tab waits for this."""
Candidates = list[tuple[str, str]]


def complete_line(ctx: typer.Context, incomplete: str) -> Candidates:
    """Complete a line by its key if that is unique, else as owner/project/line; whole names once a slash was
    typed."""

    def line_candidates(server: Client) -> Iterable[tuple[str, str]]:
        known = server.get("/lines")
        keys = [row["key"] for row in known]
        for row in known:
            full_name = "/".join((row["owner"], row["project"], row["key"]))
            alone = keys.count(row["key"]) == 1 and "/" not in incomplete
            yield row["key"] if alone else full_name, row["name"]
            if "/" in incomplete:
                yield f"{row['project']}/{row['key']}", row["name"]

    return _candidates_or_none(ctx, incomplete, line_candidates)


def complete_task(ctx: typer.Context, incomplete: str) -> Candidates:
    def task_candidates(server: Client) -> Iterable[tuple[str, str]]:
        for row in server.get("/tasks", begins=incomplete or "WI-"):
            yield row["id"], row["title"]

    return _candidates_or_none(ctx, incomplete, task_candidates)


def complete_project(ctx: typer.Context, incomplete: str) -> Candidates:
    def project_candidates(server: Client) -> Iterable[tuple[str, str]]:
        for row in server.get("/projects"):
            if not row["archived"]:
                yield f"{row['owner']}/{row['key']}", row["name"]
                yield row["key"], row["name"]

    return _candidates_or_none(ctx, incomplete, project_candidates)


def complete_profile(ctx: typer.Context, incomplete: str) -> Candidates:
    """Complete a profile from the stored ones: no server is called."""
    try:
        known = profiles.load_profiles().by_name.values()
    except CommandFailure:
        return []
    return [(candidate.name, candidate.url) for candidate in known if candidate.name.startswith(incomplete)]


def _candidates_or_none(
    ctx: typer.Context, incomplete: str, ask: Callable[[Client], Iterable[tuple[str, str]]]
) -> Candidates:
    """Return the candidates without a word to the terminal, whatever goes wrong: somebody is typing there."""
    profile_name: Any = ctx.find_root().params.get("profile") or ""
    try:
        with Client(profiles.current_profile(str(profile_name)), SECONDS) as server:
            candidates = dict(ask(server))
    except (CommandFailure, KeyError, TypeError, AttributeError, httpx2.HTTPError):
        return []
    return [(name, about) for name, about in candidates.items() if name.startswith(incomplete)]
