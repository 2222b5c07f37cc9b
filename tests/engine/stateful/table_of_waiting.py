"""State × command, of all that is waited for: escalations, deadlocks, times, handoffs, other tasks, agents."""

from __future__ import annotations

from collections.abc import Mapping

from tests.engine.stateful.entries import (
    ASKED,
    CHANGED,
    DECIDED,
    DUE,
    LEASED,
    LOCKED,
    MISSING,
    NO_DEADLOCK,
    NO_ESCALATION,
    NOT_DUE,
    OVER,
    RUNS_AGAIN,
    Entry,
    Row,
    impossible,
    moves,
    refused,
    row,
    stays,
)

HOLDS = ("held", "held_contradiction", "paused")
NO_STATION = refused("Invalid", "no station is to run again: it only holds what there is to do")
NO_TIME = impossible("no time is expected of it, it has not begun, or something holds it")


def told(answer: str, special: Mapping[tuple[str, ...], Entry]) -> Row:
    """Its task is told, and the token stays in its state; but for the special ones."""
    entries = stays(answer)
    for states, entry in special.items():
        entries |= dict.fromkeys(states, entry)
    return entries


ENDED = refused("Conflict", "its task has ended")
WAITS: dict[str, Row] = {
    "escalate": told("done", {OVER: ENDED}),
    "escalate_mute": row(refused("Invalid", "a reason is needed")),
    "resolve": row(
        NO_ESCALATION,
        {("held", "held_contradiction"): moves("done", *RUNS_AGAIN), "paused": NO_STATION},
    ),
    "resolve_go_on": row(
        NO_ESCALATION,
        {
            "held": refused("Conflict", "the same would be escalated again"),
            ("held_contradiction", "paused"): moves("done", *RUNS_AGAIN),
        },
    ),
    "resolve_choose": row(
        NO_ESCALATION,
        {
            "held_contradiction": moves("done", *RUNS_AGAIN),
            ("held", "paused"): refused("Invalid", "nothing is contradicted"),
        },
    ),
    "resolve_route": row(
        NO_ESCALATION,
        {
            "held": moves("done", *RUNS_AGAIN),
            "held_contradiction": impossible("no rule leads from here to a station"),
            "paused": NO_STATION,
        },
    ),
    "resolve_cancel": row(NO_ESCALATION, {HOLDS: moves("done", "cancelled")}),
    "resolve_mute": row(NO_ESCALATION, {HOLDS: refused("Invalid", "a reason is needed")}),
    "resolve_unasked": row(NO_ESCALATION, {HOLDS: refused("Forbidden")}),
    "resolve_stranger": row(NO_ESCALATION, {HOLDS: refused("NotFound")}),
    "deadlock_output": row(
        NO_DEADLOCK,
        {
            "deadlock_late": moves("done", *DECIDED),
            "deadlock_circle": refused("Invalid", "it is not for want of an output"),
        },
    ),
    "deadlock_context": row(NO_DEADLOCK, {LOCKED: moves("done", *RUNS_AGAIN)}),
    "deadlock_escalate": row(NO_DEADLOCK, {LOCKED: moves("done", "paused")}),
    "deadlock_cancel": row(NO_DEADLOCK, {LOCKED: moves("done", "cancelled")}),
    "deadlock_mute": row(NO_DEADLOCK, {LOCKED: refused("Invalid", "a reason is needed")}),
    "deadlock_unasked": row(NO_DEADLOCK, {LOCKED: refused("Forbidden")}),
    "deadlock_stranger": row(NO_DEADLOCK, {LOCKED: refused("NotFound")}),
    "hand_over": row(CHANGED, {"held_handoff": moves("done", *DECIDED)}),
    "hand_over_faulty": row(
        CHANGED, {"held_handoff": refused("Invalid", "with every fault of it, at its place")}
    ),
    "hand_over_stale": row(CHANGED),
    "supply": row(
        CHANGED,
        {
            "held_missing": moves("done", *DECIDED),
            "held_handoff": impossible("something else is missing"),
        },
    ),
    "supply_nothing": row(CHANGED, {MISSING: refused("Invalid", "something has to be filled in")}),
    "supply_stale": row(CHANGED),
    "reconsider": row(refused("nothing", "the same would come out again")),
    "answer_machine": row(
        impossible("no machine is asked here"), {("evaluating", *ASKED): moves("done", *DECIDED)}
    ),
    "fire_gone": row(refused("gone", "it came once")),
}

HELD_BACK = ("queued", "by_hand", "by_the_clock", "held_by_pause")
BLOCKED = {
    ("queued", "by_hand", "by_the_clock", *LEASED): moves("done", "paused"),
    ("held_by_pause",): impossible("its clocks stand still"),
    OVER: ENDED,
}
TOGETHER: dict[str, Row] = {
    "late": told(
        "fired",
        {
            (*LEASED, "by_hand"): moves("fired", "deadlock_late"),
            (
                "queued",
                "by_the_clock",
                "joining",
                "forked",
                "held_by_person",
                "held_by_pause",
                "held_contradiction",
                "held_dependency",
                "paused",
                *LOCKED,
                "ended_branch",
                *OVER,
            ): NO_TIME,
        },
    ),
    "gate_reminds": row(NOT_DUE, {state: moves("fired", state) for state in DUE}),
    "gate_escalates": row(NOT_DUE, {state: moves("fired", state) for state in DUE}),
    "gate_rejects": row(NOT_DUE, {DUE: moves("fired", *DECIDED)}),
    "facts": row(
        impossible("nothing that was missing may be there"), {"held_missing": moves("fired", *DECIDED)}
    ),
    "escalate_and_resolve": told("done, Conflict", {OVER: ENDED}),
    "breach": told("done", BLOCKED),
    "resolve_twice": row(
        NO_ESCALATION,
        {
            ("held", "held_contradiction"): moves("done, Conflict", *RUNS_AGAIN),
            "paused": refused("Invalid, Invalid", NO_STATION.why),
        },
    ),
    "deadlock_twice": row(NO_DEADLOCK, {LOCKED: moves("done, Conflict", *RUNS_AGAIN)}),
    "depend": told("done", {HELD_BACK: moves("done", "held_dependency"), OVER: ENDED}),
    "depend_itself": row(refused("Invalid", "no task waits for itself")),
    "depend_unknown": row(refused("Invalid", "there is no such task")),
    "depend_in_a_circle": told(
        "done",
        {
            HELD_BACK: moves("done", "held_dependency"),
            LEASED: moves("done", "deadlock_circle"),
            OVER: ENDED,
        },
    ),
    "dependency_met": row(
        impossible("it waits for no other task"), {"held_dependency": moves("fired", *RUNS_AGAIN)}
    ),
    "dependency_lost": row(
        impossible("it waits for no other task"), {"held_dependency": moves("fired", "held_dependency")}
    ),
    "follow_up": row(
        refused("Invalid", "it goes on: only what has ended is followed"),
        {state: moves("done", state) for state in OVER},
    ),
    "retry_ended": row(
        refused("Conflict", "it goes on: its station is retried in the task itself"),
        {state: moves("done", state) for state in OVER},
    ),
    "fork": told(
        "done",
        {
            ("forked",): refused("Invalid", "its branches are the positions of its task"),
            ("ended_branch",): refused("Invalid", "other branches are the positions of its task"),
        },
    ),
    "fork_from_nowhere": row(refused("Invalid", "says which moments there are")),
    "agent_returns": row(impossible("it waits for no agent"), {"held_missing": moves("fired", *DECIDED)}),
    "suspend": row(refused("done", "what it has begun goes on")),
    "start_suspended": row(
        impossible("no job waits here for an agent"),
        {"queued": refused("nothing to do", "its agent gets no new work")},
    ),
}
