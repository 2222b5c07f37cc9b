"""Call of an agent by a station of kind `agent`, with every template rendered."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from pipelines.routing.document.agents import Preset
from pipelines.routing.document.work.tool_permissions import ToolPolicy


class LentFiles(Protocol):
    """A sign-in for one visit (`agents.lent_sign_in`)."""

    def lend(self) -> None: ...

    def tokens(self) -> tuple[str, ...]: ...

    def remove_lent_sign_in(self) -> str: ...


class AnswerRefused(Exception):
    """A question of an agent about its task that is not answered; the message is for the agent."""


@dataclass(frozen=True)
class PermissionRequest:
    """Request of an agent to call a tool. `key`: a new one for each call; `digest`: of the tool with its exact
    arguments, whatever of `arguments` is hidden on the way."""

    key: uuid.UUID
    tool: str
    arguments: Mapping[str, Any]
    digest: str


@dataclass(frozen=True)
class PermissionAnswer:
    """`state`: open, allowed or denied."""

    state: str
    reason: str = ""


class TaskPort(Protocol):
    """The server, for questions of an agent about its own task."""

    async def answer(self, question: str, outcome: Mapping[str, Any] | None) -> dict[str, Any]:
        """`outcome`: with which it would end, of a question about that; what it left in its folder is added.
        :raises AnswerRefused"""

    async def ask_permission(self, request: PermissionRequest) -> PermissionAnswer:
        """Return the answer of people to one call, open as long as nobody gave one.
        :raises AnswerRefused: nobody can be asked"""


@dataclass(frozen=True)
class AgentReport:
    """Report of an agent about its own work, by a tool: its claim. `output` is None where it named none."""

    outcome: str
    summary: str
    output: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class AgentCall:
    """`allow` is empty where nothing is limited. `cost`: US dollars that this visit may cost, None for any;
    `limit`: whether the run's, the task's or the month's limit says so. `session`:
    of the visit before, "" where it begins afresh; then `remark` is all that is said."""

    preset: Preset
    model: str = ""
    allow: tuple[str, ...] = ()
    cost: float | None = None
    # US dollars of a million tokens in, and out; None where the program says its price itself, or nobody knows.
    price: tuple[float, float] | None = None
    limit: str = ""
    session: str = ""
    # The sign-in of this machine that it is lent; None: keys sign it in.
    signed_in: LentFiles | None = None
    # {path below its HOME: a stored secret that the program reads from there}
    files: Mapping[str, str] = field(default_factory=dict, repr=False)
    remark: str | None = None
    # Which of its calls people are asked about; None: none.
    policy: ToolPolicy | None = None
    # Whom its tools ask about its task; None: it has none.
    port: TaskPort | None = None
