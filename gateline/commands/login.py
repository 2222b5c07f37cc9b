"""Signing in to a server: `login`, `logout`, `profiles`."""

from __future__ import annotations

import sys
from typing import Annotated
from urllib.parse import urlsplit

import typer

from gateline import browser, output, profiles
from gateline.client import Client
from gateline.failures import SignInFailure, Usage
from gateline.output import Json, plain, say
from gateline.profiles import Profile, address_of


def login(
    ctx: typer.Context,
    url: Annotated[str, typer.Argument(help="Address of the server, such as https://gateline.example.com.")],
    name: Annotated[
        str, typer.Option("--name", help="Name of the profile; otherwise the server's host.")
    ] = "",
    project: Annotated[
        str,
        typer.Option(
            "--project",
            help="Look for lines here first: owner/project.",
            metavar="OWNER/PROJECT",
        ),
    ] = "",
    token_stdin: Annotated[
        bool, typer.Option("--token-stdin", help="Read the token from standard input, for scripts.")
    ] = False,
    default: Annotated[
        bool, typer.Option("--default/--no-default", help="Use this profile where none is named.")
    ] = True,
    json: Json = False,
) -> None:
    """Sign in to a server and store the token in a profile.

    The browser opens, and one click there makes a token. Without a browser it is asked for, or read from standard
    input: never from the command line, where history and other users would see it. Create one at Personal settings ›
    Personal tokens; a machine's at Project settings › Tokens.
    """
    address = address_of(url)
    token = _token(address, token_stdin)
    new_profile = Profile(name or ctx.obj or urlsplit(address).netloc, address, token, project)
    # Before it is saved: a token that the server refuses is not kept.
    with Client(new_profile) as server:
        projects = server.get("/projects")
    profiles.save(profiles.load().with_profile(new_profile, default=default))
    known = [f"{row['owner']}/{row['key']}" for row in projects]
    if project and project not in known:
        output.note(f"[yellow]Note:[/yellow] this token opens no project “{plain(project)}”.")
    if json:
        output.as_json({"profile": new_profile.name, "url": address, "projects": known})
        return
    say(
        f"Signed in to {plain(address)} as profile “{plain(new_profile.name)}”: "
        f"{plain(', '.join(known)) or 'no projects'}."
    )
    output.note(f"The token is kept in {plain(profiles.file())}, readable by you alone.")


def logout(
    name: Annotated[str, typer.Argument(help="The profile; otherwise the default one.")] = "",
    json: Json = False,
) -> None:
    """Forget a profile and its token. On the server the token stays in force: revoke it at Personal settings ›
    Personal tokens."""
    stored = profiles.load()
    gone = stored.named(name)
    profiles.save(stored.without(gone.name))
    if json:
        output.as_json({"profile": gone.name, "url": gone.url})
        return
    say(f"Forgot “{plain(gone.name)}”. To revoke its token: {plain(gone.url)}/account/")


def show(
    use: Annotated[
        str, typer.Option("--use", help="Make this profile the default one.", metavar="NAME")
    ] = "",
    json: Json = False,
) -> None:
    """List the servers that you are signed in to; choose the default one."""
    stored = profiles.load()
    if use:
        stored = stored.with_profile(stored.named(use), default=True)
        profiles.save(stored)
    rows = [
        {
            "name": profile.name,
            "url": profile.url,
            "project": profile.project,
            "default": profile.name == stored.default,
        }
        for profile in stored.by_name.values()
    ]
    if json:
        output.as_json(rows)
        return
    if not rows:
        raise SignInFailure("You are not signed in to a server.", profiles.LOG_IN)
    output.table(
        ("", "Profile", "Server", "Project"),
        (("*" if r["default"] else "", plain(r["name"]), plain(r["url"]), plain(r["project"])) for r in rows),
    )


def _token(address: str, from_stdin: bool) -> str:
    if from_stdin:
        token = sys.stdin.readline().strip()
    elif sys.stdin.isatty():
        token = browser.token(address)
        if not token:
            output.note(f"Create a token at {plain(address)}/account/ and paste it here; it is not shown.")
            token = typer.prompt("Token", hide_input=True, err=True).strip()
    else:
        raise Usage(
            "There is no terminal to ask for the token.", "Pipe it in: gateline login URL --token-stdin"
        )
    # It goes into a header, which can carry no other characters.
    if not token.startswith("gl_") or not token.isascii() or not token.isprintable():
        raise Usage(
            "That is not a token of Gateline: they begin with gl_.", f"Create one at {address}/account/"
        )
    return token
