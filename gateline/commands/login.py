"""Signing in to a server: `login`, `logout`, `profiles`."""

from __future__ import annotations

import secrets
import sys
import webbrowser
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Annotated
from urllib.parse import parse_qs, urlsplit

import typer

from gateline import output, profiles
from gateline.client import Client
from gateline.failures import SignInFailure, UsageFailure
from gateline.output import Json, print_text, unstyled
from gateline.profiles import Profile, checked_server_address


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
    Personal tokens; a machine's at Settings › Machine tokens.
    """
    address = checked_server_address(url)
    token = _ask_for_token(address, token_stdin)
    new_profile = Profile(name or ctx.obj or urlsplit(address).netloc, address, token, project)
    # Before it is saved: a token that the server refuses is not kept.
    with Client(new_profile) as server:
        projects = server.get("/projects")
    profiles.save_profiles(profiles.load_profiles().with_profile(new_profile, default=default))
    known = [f"{row['owner']}/{row['key']}" for row in projects]
    # A note, no refusal: whoever signs in may become a member later
    if project and project not in known:
        output.print_note(f"[yellow]Note:[/yellow] this token opens no project “{unstyled(project)}”.")
    if json:
        output.print_json({"profile": new_profile.name, "url": address, "projects": known})
        return
    print_text(
        f"Signed in to {unstyled(address)} as profile “{unstyled(new_profile.name)}”: "
        f"{unstyled(', '.join(known)) or 'no projects'}."
    )
    output.print_note(f"The token is kept in {unstyled(profiles.profiles_path())}, readable by you alone.")


def logout(
    name: Annotated[str, typer.Argument(help="The profile; otherwise the default one.")] = "",
    json: Json = False,
) -> None:
    """Forget a profile and its token. On the server the token stays in force: revoke it at Personal settings ›
    Personal tokens."""
    stored = profiles.load_profiles()
    gone = stored.get_profile(name)
    profiles.save_profiles(stored.without_profile(gone.name))
    if json:
        output.print_json({"profile": gone.name, "url": gone.url})
        return
    print_text(f"Forgot “{unstyled(gone.name)}”. To revoke its token: {unstyled(gone.url)}/account/")


def list_profiles(
    use: Annotated[
        str, typer.Option("--use", help="Make this profile the default one.", metavar="NAME")
    ] = "",
    json: Json = False,
) -> None:
    """List the servers that you are signed in to; choose the default one."""
    stored = profiles.load_profiles()
    if use:
        stored = stored.with_profile(stored.get_profile(use), default=True)
        profiles.save_profiles(stored)
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
        output.print_json(rows)
        return
    if not rows:
        raise SignInFailure("You are not signed in to a server.", profiles.LOG_IN)
    output.print_table(
        ("", "Profile", "Server", "Project"),
        (
            ("*" if r["default"] else "", unstyled(r["name"]), unstyled(r["url"]), unstyled(r["project"]))
            for r in rows
        ),
    )


def _ask_for_token(address: str, from_stdin: bool) -> str:
    if from_stdin:
        token = sys.stdin.readline().strip()
    elif sys.stdin.isatty():
        token = token_from_browser_or_empty(address)
        if not token:
            output.print_note(
                f"Create a token at {unstyled(address)}/account/ and paste it here; it is not shown."
            )
            token = typer.prompt("Token", hide_input=True, err=True).strip()
    else:
        raise UsageFailure(
            "There is no terminal to ask for the token.", "Pipe it in: gateline login URL --token-stdin"
        )
    # It goes into a header, which can carry no other characters.
    if not token.startswith("gl_") or not token.isascii() or not token.isprintable():
        raise UsageFailure(
            "That is not a token of Gateline: they begin with gl_.", f"Create one at {address}/account/"
        )
    return token


# Signing in by one click: the browser has the session, and hands a token to this program at a port of this
# machine.


def token_from_browser_or_empty(address: str) -> str:
    """The token that the page of the server hands over; "" where no browser can be opened here."""
    state, tokens = secrets.token_urlsafe(24), list[str]()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            values = parse_qs(urlsplit(self.path).query)
            # Only the page opened here knows it: no other site can hand over its own token.
            if not secrets.compare_digest(values.get("state", [""])[0].encode(), state.encode()):
                self.send_error(404)
                return
            tokens.append(values.get("token", [""])[0])
            # Away from the address that has the token in it.
            self.send_response(303)
            self.send_header("Location", f"{address}/account/")
            self.end_headers()

        def log_message(self, *_words: object) -> None:
            # The default prints the address, which has the token in it.
            pass

    # Loopback alone and a port of the system's choice: no other machine can hand over a token
    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        page = f"{address}/account/command-line/{server.server_port}/{state}/"
        if not webbrowser.open(page):
            return ""
        output.print_note(f"Press “Sign in the command line” in the browser: {unstyled(page)}")
        output.print_note("To paste a token in its place: Ctrl-C, then gateline login --token-stdin.")
        while not tokens:
            server.handle_request()
    return tokens[0]
