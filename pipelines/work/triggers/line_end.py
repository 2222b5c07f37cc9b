"""Kind of trigger: tasks that start when a task of another line of the project has ended."""

from __future__ import annotations

from typing import Any, Final

from pipelines.errors import Invalid
from pipelines.models import Status
from pipelines.work.triggers import mapping
from pipelines.work.triggers.kind import Options, TriggerFact, TriggerKind, refuse_unknown_options

ANY: Final = "any"
STATES: Final = {
    str(Status.COMPLETED): "completes",
    str(Status.FAILED): "fails",
    str(Status.CANCELLED): "is cancelled",
    ANY: "ends, however it does",
}
"""How a task has to end, and what is said of it."""
DEFAULTS: Final = {"line": "", "state": str(Status.COMPLETED), **mapping.DEFAULTS}


def awaited_statuses(options: Options) -> list[str]:
    """Return the statuses of a task that the trigger waits for."""
    return [state for state in STATES if state != ANY and options["state"] in (state, ANY)]


def _stored_options(options: Options) -> dict[str, Any]:
    refuse_unknown_options(options, DEFAULTS)
    line, state = options.get("line", ""), options.get("state", DEFAULTS["state"])
    if not isinstance(line, str) or not line:
        raise Invalid.at("line", "Choose the line whose tasks it waits for.")
    if not isinstance(state, str) or state not in STATES:
        raise Invalid.at("state", f"Choose one of: {', '.join(STATES)}.")
    if options.get("requester"):
        raise Invalid.at("requester", "The requesters of the task that ended count already. Leave it empty.")
    return {"line": line, "state": state, **mapping.checked_paths_to_store(options)}


def _trigger_words(options: Options) -> str:
    return f"After a task of {options['line_name']} {STATES[options['state']]}"


def _trigger_facts(options: Options) -> list[TriggerFact]:
    only_if = options["only_if"]
    return [TriggerFact("Only if", "The task has something at", only_if)] if only_if else []


LINE_END = TriggerKind(
    "line_end",
    "End of another line",
    "join",
    read=_stored_options,
    words=_trigger_words,
    detail=lambda options: str(options["line_name"]),
    facts=_trigger_facts,
    is_mapped=True,
    has_source=True,
)
