"""The kinds of work, one file each: a handler takes (spec, sink) and returns an outcome (house §1).

`manual` has no handler: a person does the work, and the job runs without a lease until it is completed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from pipelines.handlers import command, noop
from pipelines.handlers.base import Outcome, Sink, Spec

HANDLERS: dict[str, Callable[[Spec, Sink], Awaitable[Outcome]]] = {
    "command": command.run,
    "noop": noop.run,
}
# Done by people: no worker ever takes such a job.
BY_PEOPLE = frozenset({"manual"})
# Code on a worker: publishing one needs `execute` (house §5), and what it leaves in the workspace is kept.
EXECUTING = frozenset({"command"})
