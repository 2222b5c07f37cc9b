"""The ways of AEEF's state machine, one by one: out of its transitions, and out of records of what went (E1…E30)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

from pipelines.formats.foreign.import_notes import (
    ImportNotes,
    Json,
    objects_in_list,
    shortened_json,
    text_or_none,
    unread_parts,
)
from pipelines.routing.basics.wording import Wording as _

REWORK, ROLLBACK = "REWORK_", "ROLLBACK"
PASSES: Final = {"pass": True, "fail": False}
"""The result of an entry of a history; of a transition, where its target says another one."""
READ_OF_TRANSITION: Final = (
    "from",
    "to",
    "requires",
    "id",
    "failure_type",
    "max",
    "agent",
    "target_agent",
    "result",
)


@dataclass
class StateTransition:
    """Transition, declared or seen in a record. `passed`: None where its target says it."""

    place: str
    source: str
    target: str
    requires: Mapping[str, Any] = field(default_factory=dict)
    passed: bool | None = None
    failure: str = ""
    most: int | None = None
    name: str = ""
    extra: Json = field(default_factory=dict)

    @property
    def is_forward(self) -> bool:
        back = self.target.startswith(REWORK) or self.target == ROLLBACK or bool(self.failure)
        return not back if self.passed is None else self.passed


def state_transitions(
    part: Mapping[str, Any], place: str, import_notes: ImportNotes, owners: dict[str, str]
) -> Iterator[StateTransition]:
    """Yield the transitions of one document at `place`; who works in a state is noted in `owners`, the first
    that is named."""
    dot = f"{place}." if place else ""
    if "stage_history" in part:
        yield from _history_transitions(part, dot, import_notes, owners)
    elif isinstance(part.get("transition"), Mapping):
        if "event_id" in part or "from_state" in part["transition"]:
            yield from _event_transition(part, dot, import_notes, owners)
        else:
            yield from _declared_transition(part["transition"], f"{dot}transition", import_notes, owners)
    for name, read_one in (("work_items", _history_transitions), ("events", _event_transition)):
        for at, member in objects_in_list(import_notes, part.get(name), f"{dot}{name}"):
            yield from read_one(member, f"{at}.", import_notes, owners)
    for at, member in objects_in_list(import_notes, part.get("transitions"), f"{dot}transitions"):
        inner = member.get("transition")
        transition = inner if isinstance(inner, Mapping) else member
        yield from _declared_transition(
            transition, f"{at}.transition" if transition is inner else at, import_notes, owners
        )


def _declared_transition(
    transition: Mapping[str, Any], at: str, import_notes: ImportNotes, owners: dict[str, str]
) -> Iterator[StateTransition]:
    source = _read_state_or_empty(transition.get("from"), f"{at}.from", import_notes)
    target = _read_state_or_empty(transition.get("to"), f"{at}.to", import_notes)
    if not source or not target:
        return
    for state, field_of in ((source, "agent"), (target, "target_agent")):
        if agent := text_or_none(transition.get(field_of)):
            owners.setdefault(state, agent)
    failure = transition.get("failure_type") or ""
    if not isinstance(failure, str):
        # Without it the transition would be that of every failure
        import_notes.note_fault(
            f"{at}.failure_type", _("%(value)s is no text", value=shortened_json(failure))
        )
        return
    yield StateTransition(
        at,
        source,
        target,
        _requirements_by_name(transition.get("requires"), f"{at}.requires", import_notes),
        failure=failure,
        most=import_notes.whole_number_or_loss(transition.get("max"), f"{at}.max", least=0),
        # As text: a list or an object cannot be looked up.
        passed=PASSES.get(str(transition.get("result"))),
        name=text_or_none(transition.get("id")) or "",
        extra=unread_parts(transition, READ_OF_TRANSITION).get("extra", {}),
    )


def _requirements_by_name(requires: Any, at: str, import_notes: ImportNotes) -> Json:
    """`{name: what}`, or a list of names and of such objects."""
    if requires is None:
        return {}
    if isinstance(requires, Mapping):
        return dict(requires)
    required: Json = {}
    for requirement in requires if isinstance(requires, list) else [requires]:
        if isinstance(requirement, Mapping):
            required |= requirement
        elif isinstance(requirement, str) and requirement:
            required[requirement] = True
        else:
            import_notes.note_fault(at, "has to name what is required")
    return required


def _event_transition(
    event: Mapping[str, Any], dot: str, import_notes: ImportNotes, owners: dict[str, str]
) -> Iterator[StateTransition]:
    moved = event.get("transition")
    moved = moved if isinstance(moved, Mapping) else {}
    source = _read_state_or_empty(moved.get("from_state"), f"{dot}transition.from_state", import_notes)
    target = _read_state_or_empty(moved.get("to_state"), f"{dot}transition.to_state", import_notes)
    if not source or not target:
        return
    agents = event.get("agent")
    for state, side in ((source, "source"), (target, "target")):
        agent = agents.get(side) if isinstance(agents, Mapping) else None
        if isinstance(agent, str) and agent:
            owners.setdefault(state, agent)
    trigger, results = text_or_none(moved.get("trigger")) or "", event.get("gate_results")
    # A trigger like gate_2_passed names the gate that the move needed.
    required: Json = {trigger: True} if trigger.startswith("gate_") and trigger.endswith("_passed") else {}
    for check, result in results.items() if isinstance(results, Mapping) else ():
        if result in ("pass", "fail"):
            # Failed or passed then, it is a check that has to pass before a task goes this way.
            required[str(check)] = "pass"
    _report_record(dot, import_notes)
    yield StateTransition(dot.rstrip("."), source, target, required)


def _history_transitions(
    work_item: Mapping[str, Any], dot: str, import_notes: ImportNotes, owners: dict[str, str]
) -> Iterator[StateTransition]:
    """Yield the transitions from each entry of the work item's history to the next, and from the last to
    where it stands."""
    entries = []
    for at, stage_entry in objects_in_list(
        import_notes, work_item.get("stage_history"), f"{dot}stage_history"
    ):
        if state := _read_state_or_empty(stage_entry.get("stage"), f"{at}.stage", import_notes):
            entries.append((at, state, stage_entry.get("result")))
            if isinstance(agent := stage_entry.get("agent"), str) and agent:
                owners.setdefault(state, agent)
    now = work_item.get("current_state")
    if now is not None and (state := _read_state_or_empty(now, f"{dot}current_state", import_notes)):
        # A history whose last entry is the current state has no further way to it.
        if not entries or entries[-1][1] != state:
            entries.append((f"{dot}current_state", state, None))
        if isinstance(agent := work_item.get("current_agent"), str) and agent:
            owners.setdefault(state, agent)
    _report_record(dot, import_notes)
    # A result is that of the stage that was left, so the last one leads nowhere.
    for (at, source, result), (_next, target, _result) in pairwise(entries):
        yield StateTransition(at, source, target, passed=PASSES.get(str(result)))


def _report_record(dot: str, import_notes: ImportNotes) -> None:
    import_notes.note_loss(
        dot.rstrip("."),
        "this is a record of work: the line has the ways that it took, and no task is made of it",
    )


def _read_state_or_empty(value: Any, at: str, import_notes: ImportNotes) -> str:
    if isinstance(value, str) and value.strip():
        return value.strip()
    import_notes.note_fault(
        at, _("%(given)s is no state", given=shortened_json(value)), "name one, like TESTING"
    )
    return ""
