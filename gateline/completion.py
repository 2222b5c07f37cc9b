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
Found = list[tuple[str, str]]


def line(ctx: typer.Context, incomplete: str) -> Found:
    """By its key where it is the only one, else as owner/project/line; whole names once a slash was typed."""

    def ask(server: Client) -> Iterable[tuple[str, str]]:
        known = server.get("/lines")
        keys = [each["key"] for each in known]
        for each in known:
            whole = "/".join((each["owner"], each["project"], each["key"]))
            alone = keys.count(each["key"]) == 1 and "/" not in incomplete
            yield each["key"] if alone else whole, each["name"]
            if "/" in incomplete:
                yield f"{each['project']}/{each['key']}", each["name"]

    return _offered(ctx, incomplete, ask)


def task(ctx: typer.Context, incomplete: str) -> Found:
    def ask(server: Client) -> Iterable[tuple[str, str]]:
        for each in server.get("/tasks", begins=incomplete or "WI-"):
            yield each["id"], each["title"]

    return _offered(ctx, incomplete, ask)


def project(ctx: typer.Context, incomplete: str) -> Found:
    def ask(server: Client) -> Iterable[tuple[str, str]]:
        for each in server.get("/projects"):
            if not each["archived"]:
                yield f"{each['owner']}/{each['key']}", each["name"]
                yield each["key"], each["name"]

    return _offered(ctx, incomplete, ask)


def profile(ctx: typer.Context, incomplete: str) -> Found:
    """Of those that are stored: no server is asked."""
    try:
        known = profiles.load().by_name.values()
    except CommandFailure:
        return []
    return [(each.name, each.url) for each in known if each.name.startswith(incomplete)]


def _offered(
    ctx: typer.Context, incomplete: str, ask: Callable[[Client], Iterable[tuple[str, str]]]
) -> Found:
    """Without a word to the terminal, whatever goes wrong: somebody is typing there."""
    named: Any = ctx.find_root().params.get("profile") or ""
    try:
        with Client(profiles.current(str(named)), SECONDS) as server:
            found = dict(ask(server))
    except (CommandFailure, KeyError, TypeError, AttributeError, httpx2.HTTPError):
        return []
    return [(name, about) for name, about in found.items() if name.startswith(incomplete)]
