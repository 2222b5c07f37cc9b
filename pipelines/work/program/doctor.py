"""Command line of the doctor, `python -m pipelines.work.program.doctor [github|gitlab --repository owner/name]
[--json]`: from its arguments to lines for a person, or JSON for a program, and an exit code."""

from __future__ import annotations

import argparse
import asyncio
import getpass
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from pipelines.routing.document.agents import PRESETS, Preset
from pipelines.work import images
from pipelines.work.agents.installed import describe_agents, installed_agents_on_path
from pipelines.work.agents.sign_in import NotSignedIn, sign_in_folders
from pipelines.work.hosts.checkup import CheckupLine, CheckupScope, host_check_lines, untried_lines
from pipelines.work.hosts.errors import HostError
from pipelines.work.hosts.page import parsed_host_page
from pipelines.work.hosts.table import open_host
from pipelines.work.outgoing.authorities import WrongBundle, configured_authorities, set_trusted_authorities
from pipelines.work.outgoing.guard import Guard
from pipelines.work.processes.installation import installation_places
from pipelines.work.processes.isolation import Isolation
from pipelines.work.processes.isolation_choice import choose_isolation
from pipelines.work.results.text import escaped_for_storage
from pipelines.work.spec.hosting import HostAccess
from pipelines.work.workspace_folder.choice import server_choice
from pipelines.work.workspace_folder.outer_config import find_config_file_above

OK, FAILED, WRONG = 0, 1, 2
SERVERS = {"github": "https://github.com", "gitlab": "https://gitlab.com", "gitea": ""}
"""{host: its public server}. Of Gitea and Forgejo there is none that everybody means."""
VARIABLES = {"github": "GITHUB_TOKEN", "gitlab": "GITLAB_TOKEN", "gitea": "GITEA_TOKEN"}
WORDS = {"ok": "ok     ", "failed": "FAILED ", "unknown": "unknown", "untried": "to try "}


def main(words: Sequence[str]) -> int:
    """The exit code: 0 nothing failed, 1 something did, 2 it cannot be asked like this."""
    arguments = _parser().parse_args(words)
    try:
        lines = (
            machine_check_lines(os.environ) if arguments.what is None else _host_lines(arguments, os.environ)
        )
        return asyncio.run(_report_lines(lines, arguments.json))
    except (ValueError, HostError, WrongBundle) as error:
        print(f"gateline doctor: {error}", file=sys.stderr)
        return WRONG


async def _report_lines(lines: AsyncIterator[CheckupLine], as_json: bool) -> int:
    results = []
    async for line in lines:
        results.append(line)
        if not as_json:
            _print_line(line)
    if as_json:
        print(json.dumps([asdict(line) for line in results], indent=2))
    failed = sum(line.state == "failed" for line in results)
    if failed and not as_json:
        print(f"{failed} of {len(results)} failed.", file=sys.stderr)
    return FAILED if failed else OK


def _print_line(line: CheckupLine) -> None:
    print(f"{WORDS[line.state]}  {line.check}: {escaped_for_storage(line.said)}", flush=True)
    if line.remedy:
        print(f"         {line.remedy}", flush=True)


async def _host_lines(
    arguments: argparse.Namespace, environment: Mapping[str, str]
) -> AsyncIterator[CheckupLine]:
    """:raises ValueError: what was typed cannot be meant; HostError"""
    page = parsed_host_page(f"{arguments.server or SERVERS[arguments.what]}/{arguments.repository}")
    token = _token_from_environment_or_prompt(
        arguments.token_variable or VARIABLES[arguments.what], environment
    )
    set_trusted_authorities(configured_authorities(environment))
    # Whoever names a server here may reach it anyway.
    guard = Guard((page.server,))
    host = await open_host(HostAccess(arguments.what, str(page), token), guard)
    scope, can_be_read = CheckupScope(arguments.branch, arguments.issue, arguments.commit), True
    async for line in host_check_lines(host, scope):
        can_be_read = can_be_read and (line.check, line.state) != ("repository", "failed")
        yield line
    if can_be_read:
        for line in untried_lines(host, scope):
            yield line


def _token_from_environment_or_prompt(name: str, environment: Mapping[str, str]) -> str:
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
        description="What this machine offers to stations, or what a token may do at GitHub, GitLab, Gitea or Forgejo.",
        epilog="Ends with 1 where something failed.",
    )
    parser.add_argument("--json", action="store_true", help="Print JSON, for programs.")
    hosts = parser.add_subparsers(dest="what", metavar="|".join(SERVERS))
    for key in SERVERS:
        one = hosts.add_parser(key, prog=f"gateline doctor {key}")
        add = one.add_argument
        add("--repository", required=True, metavar="OWNER/NAME", help="The repository, as in its address.")
        public = SERVERS[key]
        where = f"Where it is, if not at {public}." if public else "Where it is."
        add("--server", default="", required=not public, metavar="URL", help=where)
        add("--branch", default="", help="Whose rules are read. Default: the default branch.")
        add("--token-variable", default="", metavar="NAME", help=f"That holds the token ({VARIABLES[key]}).")
        add("--issue", type=int, default=0, metavar="N", help="Also write a comment on this issue.")
        add("--commit", default="", help="Also set the status gateline of this commit, all 40 letters.")
        # A default here would undo a --json that stands before the host
        add("--json", action="store_true", default=argparse.SUPPRESS, help="Print JSON, for programs.")
    return parser


# Checks of what this machine offers to stations: programs, coding agents, and what is enforced.


CHECKOUT = Path(__file__).resolve().parents[4]
SECONDS = 10.0
OFF = ("0", "false", "no", "off")
BUBBLEWRAP = "Allow user namespaces, or run apt-get install bubblewrap."


async def machine_check_lines(environment: Mapping[str, str]) -> AsyncIterator[CheckupLine]:
    path = tuple(
        environment.get("GATELINE_STATION_PATH", os.pathsep.join(os.get_exec_path())).split(os.pathsep)
    )
    yield CheckupLine(
        "system", "ok", f"{platform.system()} {platform.release()}, Python {platform.python_version()}"
    )
    if environment.get("GATELINE_RUN_PROGRAMS", "").strip().lower() in OFF:
        detail = "a server that is started here runs none itself, and leaves them to runners"
        yield CheckupLine("programs", "ok", f"{detail} (GATELINE_RUN_PROGRAMS)")
    yield _certificates_line(environment)
    git = await asyncio.to_thread(_first_version_line_or_empty, "git")
    without = "not installed: Gateline reads repositories by itself, and stations cannot call it"
    yield CheckupLine(
        "git",
        "ok" if git else "unknown",
        git or without,
        "" if git else "Install git.",
    )
    agents = await asyncio.to_thread(lambda: describe_agents(installed_agents_on_path(path), path))
    for key, about in sorted(agents.items()):
        yield CheckupLine(f"agent {key}", "ok", f"{about['version'] or 'says no version'}, {about['path']}")
    for preset in PRESETS.values():
        if detail := await asyncio.to_thread(_sign_in_folder_text_or_empty, preset, environment):
            yield CheckupLine(f"signed in with {preset.key}", "ok", detail)
    if not agents:
        remedy = "Install one on the path of stations; lines without agents need none."
        yield CheckupLine("agents", "unknown", "none found", remedy)
    yield await asyncio.to_thread(_workspaces_line, environment)
    for line in await _isolation_lines(path):
        yield line
    for program in ("podman", "docker"):
        yield await asyncio.to_thread(image_program_line, program)


def image_program_line(program: str) -> CheckupLine:
    """Check whether the program provides images, as a runner tries it: docker without its daemon provides
    none."""
    version, place = _first_version_line_or_empty(program), shutil.which(program)
    if place is None or not version:
        return CheckupLine(program, "unknown", "not installed; Gateline does not need it")
    if not images.is_program_answering(place):
        remedy = f"Start it, or name its daemon in DOCKER_HOST; “{program} version” shows more."
        return CheckupLine(
            program, "unknown", f"{version}, which does not answer and brings no images", remedy
        )
    return CheckupLine(program, "ok", f"{version}; it brings the images of repositories")


def _certificates_line(environment: Mapping[str, str]) -> CheckupLine:
    try:
        authorities = configured_authorities(environment)
    except WrongBundle as error:
        return CheckupLine("certificates", "failed", str(error), "Name a file with certificates in PEM.")
    more = f"{len(authorities.own)} more of {authorities.source}" if authorities.own else "none besides"
    return CheckupLine("certificates", "ok", f"the public authorities, and {more}")


def _sign_in_folder_text_or_empty(preset: Preset, environment: Mapping[str, str]) -> str:
    """Return where somebody is signed in, and how a runner lends it; "" for an agent that nobody is signed in
    with."""
    try:
        [folder] = sign_in_folders([preset.key], environment).values()
    except NotSignedIn:
        return ""
    return f"{folder}; gateline runner --signed-in {preset.key} lends it to stations"


def _workspaces_line(environment: Mapping[str, str]) -> CheckupLine:
    """The folder of a server that is started from here."""
    state = environment.get("GATELINE_HOME")
    choice = server_choice(Path(state).expanduser() if state else CHECKOUT / ".gateline", environment)
    folder = choice.folder_in_use_or_planned()
    if path := find_config_file_above(folder):
        text = f"{path} lies above {folder}: tools of stations take it for their own configuration"
        return CheckupLine(
            "workspaces", "failed", text, "Move it away, or name another folder in GATELINE_WORKSPACES."
        )
    return CheckupLine("workspaces", "ok", f"in {folder}, with no file above it that tools look for")


async def _isolation_lines(path: tuple[str, ...]) -> list[CheckupLine]:
    with tempfile.TemporaryDirectory(prefix="gateline-doctor-") as folder:
        places = installation_places(CHECKOUT, path, (), hidden=())
        chosen = await choose_isolation("auto", places, Path(folder), None)
    return enforcement_lines(chosen.isolation)


def enforcement_lines(isolation: Isolation) -> list[CheckupLine]:
    """Return what is enforced for a station, by a try with one here."""
    if isolation.name == "none":
        detail = "nothing: stations can read what this user can read"
        return [
            CheckupLine("isolation", "failed", detail, BUBBLEWRAP),
            CheckupLine("network of a station", "failed", "nothing is enforced", BUBBLEWRAP),
            CheckupLine(
                "egress",
                "failed",
                "a list of hosts is not enforced: its stations do not start here",
                BUBBLEWRAP,
            ),
        ]
    network = (
        CheckupLine("network of a station", "ok", "cut off where the station says so")
        if isolation.cuts_network
        else CheckupLine("network of a station", "failed", "open: it cannot be cut off here", BUBBLEWRAP)
    )
    egress = (
        CheckupLine(
            "egress", "ok", "a station reaches the hosts of its list, through the proxy, and nothing else"
        )
        if isolation.limits_hosts
        else CheckupLine(
            "egress",
            "failed",
            "a list of hosts cannot be enforced: its stations do not start here",
            BUBBLEWRAP,
        )
    )
    return [CheckupLine("isolation", "ok", isolation.name), network, egress]


def _first_version_line_or_empty(program: str) -> str:
    """Its first line, "" where it is not there or does not say."""
    place = shutil.which(program)
    if place is None:
        return ""
    try:
        completed = subprocess.run(
            [place, "--version"], capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return completed.stdout.strip().partition("\n")[0][:100]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
