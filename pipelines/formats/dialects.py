"""Which other system a document seems to be from, by its shape; `foreign` reads it.

A document that says `gateline` is never one of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from pipelines.routing.basics.problems import Problem
from pipelines.routing.basics.wording import Wording as _

Sign = Callable[[Any], str | None]
"""Answers the path of the part that gives the document away."""

VIBE_FACTORY, ALP, CONTENOX, FLUX, FLUX_RECORD, AEEF = (
    *("vibe-factory", "alp", "contenox", "flux"),
    *("flux-record", "aeef"),
)
IMPORTED: Final = _(
    "Gateline's own format begins with “gateline: 1”. Import this one at Lines › New line › From a file."
)
UNREAD: Final = _("This tells of work that was done, and is no line. Import the playbook that it belongs to.")
READ: Final = (VIBE_FACTORY, ALP, CONTENOX, FLUX, AEEF)


def foreign(document: Any) -> Problem | None:
    """`document`: any JSON value."""
    if isinstance(document, Mapping) and "gateline" in document:
        return None
    for dialect, what, signs in KNOWN:
        for sign in signs:
            path = sign(document)
            if path is not None:
                hint = IMPORTED if dialect in READ else UNREAD
                return Problem(path, _("this seems to be %(what)s", what=what), hint)
    return None


def recognised(document: Any) -> str | None:
    """The dialect; None for a document of Gateline's own, and for what nobody knows."""
    if isinstance(document, Mapping) and "gateline" in document:
        return None
    return next(
        (dialect for dialect, _what, signs in KNOWN if any(sign(document) is not None for sign in signs)),
        None,
    )


def _has(*keys: str) -> Sign:
    """An object with all of these keys."""
    return lambda given: keys[0] if isinstance(given, Mapping) and all(key in given for key in keys) else None


def _among(part: str, *keys: str) -> Sign:
    """An object with a list `part` of which an object has any of these keys; with "" the list is the whole document."""

    def sign(given: Any) -> str | None:
        found = ((index, key) for index, member in _members(given, part) for key in keys if key in member)
        return next((f"{part}[{index}].{key}" for index, key in found), None)

    return sign


def _all_of(*keys: str) -> Sign:
    """A list with an object that has all of these keys."""

    def sign(given: Any) -> str | None:
        found = (index for index, member in _members(given, "") if all(key in member for key in keys))
        return next((f"[{index}].{keys[0]}" for index in found), None)

    return sign


def _listed(*signs: Sign) -> Sign:
    """A list with an object that has any of these signs."""

    def sign(given: Any) -> str | None:
        found = ((index, each(member)) for index, member in _members(given, "") for each in signs)
        return next((f"[{index}].{path}" for index, path in found if path is not None), None)

    return sign


def _members(given: Any, part: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    held = given.get(part) if part and isinstance(given, Mapping) else None if part else given
    if isinstance(held, list):
        yield from ((index, each) for index, each in enumerate(held) if isinstance(each, Mapping))


def _only(given: Any) -> str | None:
    """The head of a line whose stations lie in files of their own."""
    if not isinstance(given, Mapping) or not isinstance(given.get("version"), str) or "name" not in given:
        return None
    return "version" if given.keys() <= {"id", "name", "description", "version", "owner", "project"} else None


def _schema(start: str) -> Sign:
    """A JSON Schema with such an address."""

    def sign(given: Any) -> str | None:
        address = given.get("$id") if isinstance(given, Mapping) else None
        return "$id" if isinstance(address, str) and address.startswith(start) else None

    return sign


def _transition(given: Any) -> str | None:
    said = given.get("transition") if isinstance(given, Mapping) else None
    if not isinstance(said, Mapping) or "handler" in given:
        return None
    return (
        "transition" if {"from", "to"} <= said.keys() or {"from_state", "to_state"} <= said.keys() else None
    )


def _moves(given: Any) -> str | None:
    """Transitions without a condition, or a list of what holds one."""
    for index, member in _members(given, "transitions"):
        if {"from", "to"} <= member.keys() and "condition" not in member:
            return f"transitions[{index}].from"
        if _transition(member):
            return f"transitions[{index}].transition"
    found = (index for index, member in _members(given, "") if _transition(member))
    return next((f"[{index}].transition" for index in found), None)


KNOWN: Final[tuple[tuple[str, str, tuple[Sign, ...]], ...]] = (
    (
        VIBE_FACTORY,
        _("a workflow of Vibe Factory"),
        (
            _among("stations", "workflow_id", "station_prompt", "is_terminator"),
            _among("transitions", "source_station_id", "condition_type"),
            _among("station_transitions", "source_station_id", "condition_type"),
            _among("", "source_station_id"),
        ),
    ),
    (
        ALP,
        _("an assembly line of ALP (Agentics)"),
        (
            _has("transitionRules"),
            _among("stations", "trigger"),
            _among("columns", "trigger"),
            _among("transitions", "fromStationId", "fromColumnId"),
            _among("", "fromStationId", "fromColumnId", "requiresApproval"),
            _all_of("from", "to", "condition"),
            _has("trigger", "id", "name"),
            _only,
        ),
    ),
    (CONTENOX, "a task chain of contenox", (_among("tasks", "handler"), _has("handler", "transition"))),
    (
        FLUX,
        _("a playbook of Flux"),
        (
            _among("stages", "onPass", "onFail", "fallback", "skill"),
            _among("", "onPass", "onComplete", "onExhausted", "maxIterations"),
            _among("rules", "severity", "onFail"),
        ),
    ),
    (
        FLUX_RECORD,
        "a record of Flux",
        (_has("flux:signal"), _among("", "flux:signal"), _has("verdict", "run", "issue")),
    ),
    (
        AEEF,
        _("a document of AEEF"),
        (
            _has("agent_id", "contract_version"),
            _among("agents", "agent_id"),
            _has("handoff_id"),
            _has("gate_id", "criteria_results"),
            _has("work_item_id"),
            _among("transitions", "requires", "produces"),
            _transition,
            _moves,
            _has("stage_history"),
            _among("", "agent_id", "stage_history", "work_item_id"),
            _among("events", "work_item_id"),
            _among("work_items", "stage_history"),
            _listed(
                _among("agents", "agent_id"),
                _among("events", "work_item_id"),
                _among("work_items", "stage_history"),
            ),
            _schema("https://aeef.ai/"),
        ),
    ),
)
