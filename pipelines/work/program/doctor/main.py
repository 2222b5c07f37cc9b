"""Command line of the doctor: from its arguments to lines for a person, or JSON for a program, and an exit
code."""

from __future__ import annotations

import argparse
import asyncio
import getpass
import json
import os
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import asdict

from pipelines.work.hosts.checkup import CheckupLine, CheckupScope, check_host
from pipelines.work.hosts.errors import HostError
from pipelines.work.hosts.page import page_at
from pipelines.work.hosts.table import host_at
from pipelines.work.outgoing.authorities import WrongBundle, of_environment, trust
from pipelines.work.outgoing.guard import Guard
from pipelines.work.program.doctor.machine import check_machine
from pipelines.work.results.text import escaped
from pipelines.work.spec.hosting import HostAccess

OK, FAILED, WRONG = 0, 1, 2
SERVERS = {"github": "https://github.com", "gitlab": "https://gitlab.com"}
VARIABLES = {"github": "GITHUB_TOKEN", "gitlab": "GITLAB_TOKEN"}
WORDS = {"ok": "ok     ", "failed": "FAILED ", "unknown": "unknown"}


def main(words: Sequence[str]) -> int:
    """The exit code: 0 nothing failed, 1 something did, 2 it cannot be asked like this."""
    arguments = _parser().parse_args(words)
    try:
        lines = check_machine(os.environ) if arguments.what is None else _of_host(arguments, os.environ)
        return asyncio.run(_report_lines(lines, arguments.json))
    except (ValueError, HostError, WrongBundle) as error:
        print(f"gateline doctor: {error}", file=sys.stderr)
        return WRONG


async def _report_lines(lines: AsyncIterator[CheckupLine], as_json: bool) -> int:
    results = []
    async for line in lines:
        results.append(line)
        if not as_json:
            _print(line)
    if as_json:
        print(json.dumps([asdict(line) for line in results], indent=2))
    failed = sum(line.state == "failed" for line in results)
    if failed and not as_json:
        print(f"{failed} of {len(results)} failed.", file=sys.stderr)
    return FAILED if failed else OK


def _print(line: CheckupLine) -> None:
    print(f"{WORDS[line.state]}  {line.check}: {escaped(line.said)}", flush=True)
    if line.remedy:
        print(f"         {line.remedy}", flush=True)


async def _of_host(
    arguments: argparse.Namespace, environment: Mapping[str, str]
) -> AsyncIterator[CheckupLine]:
    """:raises ValueError: what was typed cannot be meant; HostError"""
    page = page_at(f"{arguments.server or SERVERS[arguments.what]}/{arguments.repository}")
    token = _token(arguments.token_variable or VARIABLES[arguments.what], environment)
    trust(of_environment(environment))
    # Whoever names a server here may reach it anyway.
    guard = Guard((page.server,))
    host = await host_at(HostAccess(arguments.what, str(page), token), guard)
    async for line in check_host(host, CheckupScope(arguments.branch, arguments.issue, arguments.commit)):
        yield line


def _token(name: str, environment: Mapping[str, str]) -> str:
    """Never from the command line, which others see. :raises ValueError"""
    token = environment.get(name, "").strip()
    if not token and sys.stdin.isatty():
        token = getpass.getpass(f"Token ({name}): ").strip()
    if not token:
        raise ValueError(
            f"There is no token. Put it into the variable {name}, or name another with --token-variable."
        )
    return token


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="gateline doctor",
        description="What this machine offers to stations, or what a token may do at GitHub or GitLab.",
        epilog="Ends with 1 where something failed.",
    )
    parser.add_argument("--json", action="store_true", help="Print JSON, for programs.")
    hosts = parser.add_subparsers(dest="what", metavar="github|gitlab")
    for key in SERVERS:
        one = hosts.add_parser(key, prog=f"gateline doctor {key}")
        add = one.add_argument
        add("--repository", required=True, metavar="OWNER/NAME", help="The repository, as in its address.")
        add("--server", default="", metavar="URL", help=f"Where it is, if not at {SERVERS[key]}.")
        add("--branch", default="", help="Whose rules are read. Default: the default branch.")
        add("--token-variable", default="", metavar="NAME", help=f"That holds the token ({VARIABLES[key]}).")
        add("--issue", type=int, default=0, metavar="N", help="Also write a comment on this issue.")
        add("--commit", default="", help="Also set the status gateline of this commit, all 40 letters.")
        # A default here would undo a --json that stands before the host
        add("--json", action="store_true", default=argparse.SUPPRESS, help="Print JSON, for programs.")
    return parser
