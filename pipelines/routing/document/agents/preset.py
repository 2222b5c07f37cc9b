"""A coding agent as data: how its program is called, what it is given, and what its stream ends with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

OFF = ("", "0", "false")
"""Values of a variable that turn nothing on."""
GOOGLE_KEY = ("GOOGLE_CREDENTIALS_JSON", ".config/gcloud/application_default_credentials.json")
"""A service account's key, and where Google's libraries look for it."""


@dataclass(frozen=True, kw_only=True)
class AgentSignIn:
    """Sign-in of a person with a program: by files of their own, which a runner lends to a station."""

    folder: str
    """Below their HOME, and below that of a station."""
    files: tuple[str, ...]
    """In that folder: the first holds the sign-in, the others go along where they are."""
    variable: str = ""
    """What names another folder to the program."""
    hosts: tuple[str, ...] = ()
    """Where the sign-in is renewed and its models are, besides those of the program."""
    settings: tuple[tuple[str, str], ...] = ()
    """Variables that are set then."""


@dataclass(frozen=True, kw_only=True)
class ToolServerOptions:
    """Way in which a program is told, for one call, of the server with the tools of its task (Model Context
    Protocol)."""

    argv: tuple[str, ...] = ()
    """Arguments: {servers} is a file with `mcpServers`, {program} and {arguments} what starts the server, as JSON."""
    variable: str = ""
    """The variable that names that file."""
    entry: tuple[tuple[str, bool], ...] = ()
    """More members of the server in that file."""
    in_permissions: bool = False
    """Whether it stands in the document of `permissions`."""


@dataclass(frozen=True, kw_only=True)
class OutputSchemaOption:
    """Way in which a program is told the form of its last answer, for one call."""

    argv: tuple[str, ...]
    """Arguments: {schema} is it as JSON, {schemafile} the file that holds it."""
    strict: bool = False
    """Whether its model takes no value whose type is left open."""


@dataclass(frozen=True, kw_only=True)
class Preset:
    """Arguments may hold {model}, {prompt}, {file}, {folder}, {session}, {cost}, {command} and {tool}; each is filled
    in as one argument, and no shell reads it."""

    key: str
    name: str
    argv: tuple[str, ...]
    resume: tuple[str, ...] = ()
    """What is called in place of `argv` to go on with a session; () where the program cannot."""
    prompt: Literal["stdin", "argument", "file"] = "stdin"
    """How it is told what to do: on standard input, as the argument {prompt}, or in the file {file}."""
    model: tuple[str, ...] = ()
    """Added where the station names a model; () where it cannot be chosen."""
    needs_model: bool = False
    cap: tuple[str, ...] = ()
    """Added where a visit may cost at most {cost} US dollars; () where the program knows no such cap."""

    isolated: tuple[str, ...] = ()
    """Added behind an isolation of ours: there its own may be off."""
    exposed: tuple[str, ...] = ()
    """Added where nothing of ours isolates it."""
    allow_all: tuple[str, ...] = ()
    """Added where the station limits nothing."""
    allow_some: tuple[str, ...] = ()
    """Added once where it does."""
    allow_command: tuple[str, ...] = ()
    """Added for each command that is allowed; () where the program cannot be limited, unless by `permissions`."""
    allow_tool: tuple[str, ...] = ()
    deny_command: tuple[str, ...] = ()
    """Added for each command that is denied, whatever is allowed."""
    deny_tool: tuple[str, ...] = ()
    unattended: tuple[str, ...] = ()
    """Those of its arguments that are left out where it asks before a call."""
    asking: tuple[str, ...] = ()
    """Added where the program asks the tool `permission` of its task; () where it cannot."""
    acp_sign_in: str = ""
    """The way to sign in that is chosen where it speaks the Agent Client Protocol, and offers that."""
    permissions: str = ""
    """The variable that says in OpenCode's JSON what is allowed."""

    tools: ToolServerOptions | None = None
    """None where the program has no tools for its task."""
    output_schema: OutputSchemaOption | None = None
    """How it is held to the output keys of its station where it has no tool to report them by; None where it cannot
    be."""

    dialect: str
    """Which reader of `pipelines/work/agents/streams` understands what it writes."""
    final_event: str = ""
    """What ends its stream; "" where nothing does."""
    priced: bool = False
    """Whether it says what it cost."""

    settings: tuple[tuple[str, str], ...] = ()
    """Variables that are always set."""
    environment: tuple[str, ...] = ()
    """Stored variables that it gets where they are stored; it inherits nothing else."""
    addresses: tuple[str, ...] = ()
    """Those of them that say where its model is: a gateway. It is reached in place of `hosts`."""
    elsewhere: tuple[tuple[str, str], ...] = ()
    """(a variable that sends it to a cloud, the host there with {VARIABLE} filled in)."""
    secrets: tuple[str, ...] = ()
    """Stored secrets that it gets where they are stored: one of them is usually needed."""
    secret_files: tuple[tuple[str, str], ...] = ()
    """(one of them, the file below HOME in which the program looks for it): it gets no variable of that name."""
    sign_in: AgentSignIn | None = None
    """None where only keys sign it in."""
    hosts: tuple[str, ...] = ()
    """Where its models are; none: it needs no network."""
    fixed: bool = False
    """A program of ours without a model: it takes no instructions, and may be told commands to run."""

    versions: tuple[str, ...] = ()
    """With which it was seen."""
    tried: bool = True
    """False: written from its documentation only."""

    def model_hosts(self, variables: Mapping[str, str]) -> tuple[str, ...]:
        """`host` or `host:port` of its model, as these stored variables say."""
        gateways = [
            host for name in self.addresses if (host := _https_host_or_empty(variables.get(name, "")))
        ]
        clouds = [
            _host_with_variables(host, variables)
            for name, host in self.elsewhere
            if variables.get(name, "").lower() not in OFF
        ]
        return tuple(dict.fromkeys([*gateways, *clouds])) or self.hosts

    @property
    def asks_first(self) -> bool:
        """Return whether a person can be asked before it calls a tool."""
        return bool(self.asking) or self.speaks_acp

    @property
    def speaks_acp(self) -> bool:
        """Return whether it is prompted, and asks, by the Agent Client Protocol."""
        return self.dialect == "acp"

    @property
    def limits_commands(self) -> bool:
        return bool(self.allow_command or self.permissions) or self.speaks_acp


def _https_host_or_empty(address: str) -> str:
    """ "" for what is no address over https."""
    try:
        parts = urlsplit(address)
        # A port that is none raises only when it is read.
        port = parts.port
    except ValueError:
        return ""
    if parts.scheme != "https" or not parts.hostname:
        return ""
    return f"{parts.hostname}:{port}" if port else parts.hostname


def _host_with_variables(host: str, variables: Mapping[str, str]) -> str:
    for name, value in variables.items():
        host = host.replace(f"{{{name}}}", value)
    return host
