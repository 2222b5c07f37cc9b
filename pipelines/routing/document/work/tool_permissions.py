"""Policy for the calls of a coding agent's tools: made freely, put before a person first, or denied."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

ALLOW, ASK, DENY = "allow", "ask", "deny"
TOOL: Final = "tool:"
"""Before the name of a tool in a list of commands."""
MINUTES: Final = 30
EDITS: Final = frozenset(
    {"Edit", "MultiEdit", "NotebookEdit", "Write", "edit", "write", "read", "search", "think"}
)
"""Tools that work on the files of the task, which is what an agent is for: only a list that names them stops them."""
# Whatever may begin another command, or put other text into this one
_SHELL: Final = re.compile(r"[;&|`<>(){}$\\\r\n]")
# `A=1 rm -r /` runs rm
_VARIABLES: Final = re.compile(r"^(?:\w+=\S*\s+)+")


@dataclass(frozen=True)
class ToolPolicy:
    """Entries are how a command begins, or `tool:Name`. `unlisted`: what happens with calls that no entry matches;
    `minutes`: after which a call that nobody answered is denied."""

    allow: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    unlisted: str = DENY
    minutes: int = MINUTES

    def verdict(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """Return `allow`, `ask` or `deny`. The strictest list that matches counts."""
        command = command_text_or_none(arguments)
        for entries, verdict in ((self.deny, DENY), (self.ask, ASK)):
            if any(_may_match(entry, tool, command) for entry in entries):
                return verdict
        if tool in EDITS or any(_surely_matches(entry, tool, command) for entry in self.allow):
            return ALLOW
        return self.unlisted


def tool_policy_or_none(work: Mapping[str, Any]) -> ToolPolicy | None:
    """Return the policy of an agent's station; None where its lists only say what is allowed."""
    allow, ask, deny = (tuple(work.get(key) or ()) for key in (ALLOW, ASK, DENY))
    unlisted = work.get("unlisted")
    if not ask and not deny and unlisted != ASK:
        return None
    # To list what is allowed has always meant that the rest is not
    usual = DENY if allow else ALLOW
    return ToolPolicy(allow, ask, deny, str(unlisted or usual), int(work.get("ask_minutes") or MINUTES))


def command_text_or_none(arguments: Mapping[str, Any]) -> str | None:
    """Return the command that a call runs; None of a call that runs none."""
    # Programs do not agree on its name
    command = arguments.get("command", arguments.get("cmd"))
    if isinstance(command, str):
        return command
    if isinstance(command, list) and command and all(isinstance(part, str) for part in command):
        return shlex.join(command)
    return None


def _named_tool_or_none(entry: str) -> str | None:
    return entry.removeprefix(TOOL).strip() if entry.startswith(TOOL) else None


def _may_match(entry: str, tool: str, command: str | None) -> bool:
    """Return whether any part of a command may be meant: a shell runs each."""
    if (tool_name := _named_tool_or_none(entry)) is not None:
        return tool == tool_name
    parts = _SHELL.split(command or "")
    return any(_begins_with(_VARIABLES.sub("", " ".join(part.split())), entry) for part in parts)


def _surely_matches(entry: str, tool: str, command: str | None) -> bool:
    """Return whether all of a command is meant: none in which a shell may find a second one."""
    if (tool_name := _named_tool_or_none(entry)) is not None:
        return tool == tool_name
    return command is not None and not _SHELL.search(command) and _begins_with(command.strip(), entry)


def _begins_with(command: str, entry: str) -> bool:
    entry = entry.strip()
    # With the blank: `git push` allows no `git pushall`
    return command == entry or command.startswith(f"{entry} ")
