"""Table of the handlers by kind of work."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from pipelines.work.handlers import (
    agent,
    chat,
    command,
    deliver,
    error,
    hook,
    http,
    noop,
    route,
    tools,
    wait_for_checks,
)
from pipelines.work.spec.handler_io import Outcome, Sink, Spec

HANDLERS: dict[str, Callable[[Spec, Sink], Awaitable[Outcome]]] = {
    "agent": agent.run,
    "command": command.run,
    "hook": hook.run,
    "tools": tools.run,
    "chat": chat.run,
    "route": route.run,
    "http": http.run,
    "deliver": deliver.run,
    "error": error.run,
    "noop": noop.run,
    "wait_for_checks": wait_for_checks.run,
}
