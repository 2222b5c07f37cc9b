"""Options of a runner at its start, and the environment for what must not appear in a list of processes."""

from __future__ import annotations

import argparse
import ipaddress
import os
import platform
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from pipelines.work.agents.sign_in import NotSignedIn, sign_in_folders
from pipelines.work.outgoing.authorities import Authorities, WrongBundle, configured_authorities

SECRET: Final = "GATELINE_SECRET_"


class WrongOptions(Exception):
    """The runner cannot start like this; the message says what to change."""


@dataclass(frozen=True)
class Options:
    """`isolation`: auto, none, a name or the words of a prefix. `state`: where it keeps its id and its folders."""

    server: str
    token: str = field(repr=False)
    name: str
    state: Path
    labels: tuple[str, ...] = ()
    concurrency: int = 4
    once: bool = False
    wait: float = 60.0
    drain: float = 60.0
    isolation: str = "auto"
    readable: tuple[str, ...] = ()
    path: tuple[str, ...] = ()
    private_hosts: tuple[str, ...] = ()
    roots: tuple[str, ...] | None = None
    model: tuple[str, str, str] = field(default=("", "", ""), repr=False)
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    signed_in: Mapping[str, Path] = field(default_factory=dict)
    # The command that answers questions of rules, where its token has the label for it.
    evaluator: tuple[str, ...] = ()
    authorities: Authorities = field(default_factory=Authorities)


def parsed_options(words: Sequence[str], environment: Mapping[str, str]) -> Options:
    """:raises WrongOptions; SystemExit: --help, or a word that is not known"""
    arguments = _parser().parse_args(words)
    server = (arguments.server or environment.get("GATELINE_URL", "")).rstrip("/")
    if not server:
        raise WrongOptions("Name the server: gateline runner --server https://gateline.example.com")
    _check_address(server, arguments.plain_http)
    name = arguments.name or platform.node() or "runner"
    state = Path(arguments.state).expanduser() if arguments.state else _usual_state_folder(environment, name)
    return Options(
        server=server,
        token=_read_token(arguments.token_file, environment),
        name=name[:200],
        state=state.resolve(),
        labels=tuple(arguments.label),
        concurrency=1 if arguments.once else arguments.concurrency,
        once=arguments.once,
        wait=arguments.wait,
        drain=arguments.drain,
        isolation=arguments.isolation,
        readable=tuple(arguments.readable),
        path=tuple(
            environment.get("GATELINE_STATION_PATH", os.pathsep.join(os.get_exec_path())).split(os.pathsep)
        ),
        roots=_repository_roots_or_none_for_no_bound(environment.get("GATELINE_REPOSITORY_ROOTS", "")),
        private_hosts=_split_words(environment.get("GATELINE_PRIVATE_HOSTS", "")),
        model=(
            environment.get("GATELINE_MODEL_URL", ""),
            environment.get("GATELINE_MODEL", ""),
            environment.get("GATELINE_MODEL_KEY", ""),
        ),
        secrets={
            key.removeprefix(SECRET): value
            for key, value in environment.items()
            if key.startswith(SECRET) and value
        },
        signed_in=_checked_sign_ins(arguments.signed_in, environment),
        evaluator=tuple(shlex.split(environment.get("GATELINE_EVALUATOR_COMMAND", ""))),
        authorities=_checked_authorities(environment),
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="gateline runner",
        description="Do the work of a project's stations on this machine. Ctrl-C stops in order, a second one at once.",
        epilog="The token comes from the environment, GATELINE_TOKEN, or from a file. See docs/runners.md.",
    )
    add = parser.add_argument
    add("--server", default="", metavar="URL", help="The server's address (GATELINE_URL).")
    add(
        "--token-file",
        default="",
        metavar="FILE",
        help="A file that holds the token; otherwise GATELINE_TOKEN.",
    )
    add("--name", default="", help="As pages show it. Default: the name of this machine.")
    add(
        "--label",
        action="append",
        default=[],
        help="One of its token’s labels; repeat. Default: all of them.",
    )
    add("--concurrency", type=_positive_number, default=4, metavar="N", help="Stations at once (4).")
    add("--once", action="store_true", help="Do one job, and end with an exit code that says how it ended.")
    add(
        "--wait",
        type=float,
        default=60.0,
        metavar="SECONDS",
        help="With --once: how long to wait for a job (60).",
    )
    add(
        "--drain",
        type=float,
        default=60.0,
        metavar="SECONDS",
        help="To end by itself when it is told to stop (60).",
    )
    add("--state", default="", metavar="FOLDER", help="Where it keeps its id and the folders of stations.")
    add(
        "--isolation",
        default="auto",
        help="auto, none, bubblewrap, landlock, or the words before every command.",
    )
    add(
        "--readable",
        action="append",
        default=[],
        metavar="FOLDER",
        help="What stations may read besides; repeat.",
    )
    add(
        "--signed-in",
        action="append",
        default=[],
        metavar="AGENT",
        help="An agent that this user is signed in with, such as claude, or claude=FOLDER; repeat.",
    )
    add("--plain-http", action="store_true", help="Take an address without https that is not this machine.")
    return parser


def _checked_authorities(environment: Mapping[str, str]) -> Authorities:
    try:
        return configured_authorities(environment)
    except WrongBundle as error:
        raise WrongOptions(f"{error} Name a file with certificates in PEM.") from error


def _checked_sign_ins(words: Sequence[str], environment: Mapping[str, str]) -> Mapping[str, Path]:
    try:
        return sign_in_folders(words, environment)
    except NotSignedIn as error:
        raise WrongOptions(str(error)) from error


def _positive_number(word: str) -> int:
    number = int(word)
    if number < 1:
        raise argparse.ArgumentTypeError("a number from 1 on")
    return number


def _check_address(server: str, plain: bool) -> None:
    parts = urlsplit(server)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise WrongOptions(f"“{server}” is no address of a server. Use https://…")
    if parts.scheme == "http" and not plain and not _is_loopback(parts.hostname):
        raise WrongOptions(
            f"{server} has no https: the token and the secrets of stations could be read on the way. "
            "Use https, or --plain-http in a network of your own."
        )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _read_token(file: str, environment: Mapping[str, str]) -> str:
    if file:
        try:
            return Path(file).expanduser().read_text().strip()
        except OSError as error:
            raise WrongOptions(f"The token cannot be read: {error}") from error
    if not (token := environment.get("GATELINE_TOKEN", "").strip()):
        raise WrongOptions("Set GATELINE_TOKEN. Settings › Runners › Add a runner makes one.")
    return token


def _usual_state_folder(environment: Mapping[str, str], name: str) -> Path:
    base = environment.get("XDG_STATE_HOME") or "~/.local/state"
    plain = "".join(char if char.isalnum() or char in "-._" else "_" for char in name)
    # Neither a hidden folder nor `..`
    return Path(base).expanduser() / "gateline-runner" / (plain.lstrip(".") or "runner")


def _repository_roots_or_none_for_no_bound(text: str) -> tuple[str, ...] | None:
    """Folders below which repositories have to lie; none listed: no bound."""
    return tuple(folder for folder in text.split(os.pathsep) if folder) or None


def _split_words(text: str) -> tuple[str, ...]:
    return tuple(word for word in text.replace(",", " ").split() if word)
