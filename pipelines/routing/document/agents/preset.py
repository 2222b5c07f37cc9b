"""A coding agent as data: how its program is called, what it is given, and what its stream ends with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class Preset:
    """Arguments may hold {model}, {prompt}, {file}, {folder}, {session}, {cost}, {command} and {tool}; each is filled
    in as one argument, and no shell reads it. `name` is a product's name, and not translated."""

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
    permissions: str = ""
    """The variable that says in OpenCode's JSON what is allowed."""

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
    secrets: tuple[str, ...] = ()
    """Stored secrets that it gets where they are stored: one of them is usually needed."""
    hosts: tuple[str, ...] = ()
    """Where its models are; none: it needs no network."""
    fixed: bool = False
    """A program of ours without a model: it takes no instructions, and may be told commands to run."""

    versions: tuple[str, ...] = ()
    """With which it was seen."""
    tried: bool = True
    """False: written from its documentation only."""

    @property
    def limits_commands(self) -> bool:
        return bool(self.allow_command or self.permissions)
