"""The kinds of work, one file each: a handler takes (spec, sink) and returns an outcome (house §1).

`table` has the handlers themselves; only workers load it, since some bring large libraries along."""

from __future__ import annotations

# Done by people: a person does the work, and the job runs without a lease until it is completed.
BY_PEOPLE = frozenset({"manual"})
# Done by the clock: the job runs without a lease until its time has come, and holds no worker.
BY_THE_CLOCK = frozenset({"wait"})
# Done by workers, each by the handler of its name.
BY_WORKERS = frozenset({"command", "hook", "tools", "chat", "route", "http", "error", "noop"})
# Code on a worker: publishing one needs `execute` (house §5), and what it leaves in the workspace is kept.
EXECUTING = frozenset({"command", "hook", "tools"})
# What calls somebody and has a log to tell of it, but no folder.
CALLING = frozenset({"chat", "route", "http"})
