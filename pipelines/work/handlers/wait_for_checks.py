"""Work of kind `wait_for_checks`: one look at what the host says of the pushed commit; while nothing is decided the job
is put off, and no worker waits with it (law §13)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from pipelines.work.handlers.deliver import refused_outcome
from pipelines.work.hosts.errors import HostAway, HostError
from pipelines.work.hosts.host import Host, HostCheck
from pipelines.work.hosts.table import open_host
from pipelines.work.spec.handler_io import LookAgain, Outcome, Sink, Spec
from pipelines.work.spec.repository import ChecksOrder

SOONEST, LATEST = 10.0, 120.0
"""Seconds between two looks: a quarter of the time that has passed, within these."""
MAX_NAMES = 5


async def run(spec: Spec, sink: Sink) -> Outcome:
    """:raises LookAgain: not all of them are through"""
    order = spec.checks
    if order is None:
        return refused_outcome("prepare_failed", "This line works in no repository.")
    access, state = order.access, order.access.state
    if not state.shown:
        why = "Nothing of this task is on the host yet, so there are no checks. Deliver it first."
        return refused_outcome("not_pushed", why)
    if state.tree and state.tree != state.shown_tree:
        why = f"The host has {state.shown[:7]}, and the files changed since. Deliver them before their checks are read."
        return refused_outcome("not_pushed", why)
    if access.host is None or not access.host.credential:
        why = "Checks need a token of the host. Choose a secret under Settings › Repositories."
        return refused_outcome("host_refused", why)
    left = order.begun + order.timeout - time.time()
    try:
        host = await open_host(access.host, access.guard)
        required = order.contexts or tuple(await host.required_checks(state.base_branch))
        if not required:
            return refused_outcome(
                "none_required",
                f"{host.name} requires no checks for {state.base_branch}. Name those to wait for.",
            )
        checks = await host.checks_of_commit(state.shown)
        if order.rerun and (
            failed := [check.name for check in checks if check.name in required and check.state == "failed"]
        ):
            return await _rerun_failed_checks(order, host, failed, sink)
    except HostAway as error:
        await sink.note(f"[gateline] {error}")
        # Whoever clicked to run them again is told at once that the host is away
        if left <= 0 or order.rerun:
            return refused_outcome(error.failure_type, str(error))
        raise LookAgain(max(error.wait, _seconds_until_next_look(order, left))) from error
    except HostError as error:
        await sink.note(f"[gateline] {error}")
        return refused_outcome(error.failure_type, str(error))
    return await _judge_checks(order, host, required, checks, left, sink)


async def _rerun_failed_checks(order: ChecksOrder, host: Host, failed: Sequence[str], sink: Sink) -> Outcome:
    """:raises LookAgain: the host runs them again; HostError: it does not"""
    if not await host.rerun_failed_checks_and_count(order.access.state.shown):
        return refused_outcome(
            "host_refused",
            f"{host.name} cannot run {_some_names(failed)} again: another service reports it. Run it again there.",
        )
    await sink.note(f"[gateline] {host.name} runs again what failed: {_some_names(failed)}")
    raise LookAgain(SOONEST)


async def _judge_checks(
    order: ChecksOrder,
    host: Host,
    required: Sequence[str],
    checks: Sequence[HostCheck],
    left: float,
    sink: Sink,
) -> Outcome:
    state, known = order.access.state, {check.name: check for check in checks}
    missing = [name for name in required if name not in known]
    by_state = {
        word: [name for name in required if name in known and known[name].state == word]
        for word in ("passed", "failed", "pending")
    }
    passed, failed, pending = by_state["passed"], by_state["failed"], by_state["pending"]
    on = f"{host.name} on {state.shown[:7]}"
    await sink.note(
        f"[gateline] {on}: {len(passed)} passed, {len(failed)} failed, {len(pending)} pending, {len(missing)} missing"
    )
    # Law §13: `pending` counts the checks, too, that the host does not know.
    facts = {"passed": len(passed), "failed": len(failed), "pending": len(pending) + len(missing)}
    more = {
        "output": {
            "commit": state.shown,
            "checks": [asdict(check) for check in checks if check.name in required],
            "failed": failed,
            "missing": missing,
        },
        "facts": {"git": _git_fields(order), "ci": facts},
    }
    # One that failed decides, whatever is still to come.
    if failed:
        return {**refused_outcome("checks_failed", f"{_some_names(failed)} failed: {on}."), **more}
    if not pending and not missing:
        summary = f"{len(passed)} checks passed: {on}." if len(passed) > 1 else f"{passed[0]} passed: {on}."
        return {"result": "success", "eval": "checks_passed", "summary": summary, **more}
    if left <= 0:
        late = f"{_some_names([*pending, *missing])} did not come in time: {on}."
        return {**refused_outcome("checks_timed_out", late), **more}
    raise LookAgain(_seconds_until_next_look(order, left))


def _git_fields(order: ChecksOrder) -> dict[str, Any]:
    state = order.access.state
    return {"base": state.base, "head": state.shown, "tree": state.shown_tree}


def _seconds_until_next_look(order: ChecksOrder, left: float) -> float:
    return max(1.0, min(max(SOONEST, (time.time() - order.begun) / 4), LATEST, left))


def _some_names(names: Sequence[str]) -> str:
    more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    return ", ".join(names[:MAX_NAMES]) + more
