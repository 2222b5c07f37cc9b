"""The table says something about every pair, and the page says what the table says."""

from __future__ import annotations

from inspect import isfunction
from pathlib import Path

import pytest

from pipelines import engine
from pipelines.engine import deadlines
from tests.engine.stateful.commands import COMMANDS
from tests.engine.stateful.page import page
from tests.engine.stateful.routes import ROUTES, WAYS
from tests.engine.stateful.states import STATES
from tests.engine.stateful.table import PAIRS, TABLE

PAGE = Path(__file__).resolve().parents[3] / "docs" / "commands.md"


def test_every_pair_has_an_entry() -> None:
    assert set(TABLE) == set(COMMANDS)
    assert set(PAIRS) == {(state, command) for state in STATES for command in COMMANDS}


@pytest.mark.parametrize("command", list(TABLE))
def test_an_entry_says_what_it_has_to(command: str) -> None:
    for entry in TABLE[command].values():
        match entry.verdict:
            case "moves":
                assert entry.to <= set(STATES)
                assert entry.to
                assert entry.answer
            case "refused":
                assert entry.answer
                assert not entry.to
            case "impossible":
                assert entry.why


def test_only_states_in_which_nothing_is_possible_cannot_be_reached() -> None:
    dead = {state for state in STATES if all(row[state].verdict == "impossible" for row in TABLE.values())}
    assert set(STATES) - set(ROUTES) == dead


def test_the_page_is_the_table() -> None:
    says = {key: command.says for key, command in COMMANDS.items()}
    assert PAGE.read_text("utf-8") == page(STATES, says), "python -m tests.engine.stateful > docs/commands.md"


# By which commands each function of the engine is reached, and each kind of time that comes.
DOES: dict[str, tuple[str, ...]] = {
    "answer_blocked_token": ("answer", "answer_wrong", "answer_stale", "answer_machine"),
    "answer_tool_permission": (),  # Of a call of a running agent: see tests/work/agents/test_tool_permissions
    "ask_tool_permission": (),
    "purge_files": (),  # Of tasks that ended long ago: see tests/engine/test_purge
    "purge_records": (),
    "cancel": ("cancel",),
    "change_agent": ("agent_returns",),
    "complete_manual_job": (
        "complete",
        "complete_stale",
        "complete_unfilled",
        "complete_repeat",
        "complete_other",
    ),
    "wait_for_tasks": ("depend", "depend_itself", "depend_unknown", "depend_in_a_circle"),
    "escalate": ("escalate", "escalate_mute", "escalate_and_resolve", "breach"),
    "fire_due_time_and_return_result": (
        "come",
        "breach",
        "late",
        "facts",
        "gate_reminds",
        "dependency_met",
        "fire_gone",
    ),
    "start_follow_up_task": (),  # Of a task that has ended: see test_follow_ups
    "fork": ("fork", "fork_from_nowhere"),
    "store_handoff_and_decide_again": ("hand_over", "hand_over_faulty", "hand_over_stale"),
    "hold": ("hold", "hold_stale"),
    "expire_lease": ("lose_early", "lose_late", "sweep"),
    "migrate": ("migrate", "migrate_unseen", "migrate_cut"),
    "move_or_retry_by_hand": ("move", "move_stale", "retry", "retry_stale", "skip", "skip_stale"),
    "plan_fork": (),  # The fork, taken back: see test_fork
    "plan_move": ("skip", "skip_stale"),
    "preview_report": (),  # The report, taken back: see test_preview
    "pause": tuple(key for key in COMMANDS if key.startswith("pause_")),
    "resume": tuple(key for key in COMMANDS if key.startswith("resume_")),
    "override_gate_as_administrator": (),  # In the place of those whom a gate asks: see test_override
    "undo_migration_of_tasks": ("migrate_and_undo", "undo_late"),
    "decide_gates_all_have_approved": (),  # After somebody left: see tests/engine/test_unanimous
    "decide_gates_all_have_approved_on_commit": (),
    "decide_held_tokens_again": ("reconsider", "resolve_go_on"),
    "raise_trust_level": (),  # Of an agent, while no task moves: see tests/pages/test_trust
    "register_agent": (),  # Of a project, before any task: see people
    "release": ("release", "release_stale"),
    "report": tuple(key for key in COMMANDS if key.startswith("report")),
    "requeue_job_and_return_result": ("requeue", "requeue_late"),
    "rerun_checks": (),  # Of checks of a host: see tests/work/hosts/test_rerun
    "resolve_escalation": tuple(key for key in COMMANDS if key.startswith("resolve")),
    "resolve_deadlock": tuple(key for key in COMMANDS if key.startswith("deadlock")),
    "restore_agent": ("suspend", "agent_returns"),
    "start_retry_task": ("retry_ended",),
    "start_claimed_job_or_none": ("start", "start_unfit", "start_suspended"),
    "start_claimed_jobs": ("start", "start_unfit", "start_suspended"),  # Which is what starts one
    "submit": ("follow_up",),
    "supply_metadata_and_decide_again": ("supply", "supply_nothing", "supply_stale"),
    "suspend_agent": ("suspend", "start_suspended"),
    "record_push_visit_and_return_result": (),  # By a push to the branch of a task: see tests/work/test_task_branches
    "ask_about_every_task_after_revert": (),  # Of no task: see tests/work/test_sampling_fallback_after_revert
    "task_moment": ("fork", "fork_from_nowhere"),
    "vote": ("approve", "send_back", "reject", "rework", "abort"),
}
COMES: dict[str, tuple[str, ...]] = {
    "gate": ("gate_reminds", "gate_escalates", "gate_rejects"),
    "escalation": ("breach",),
    "wait": ("come",),
    "facts": ("facts", "agent_returns"),
    "deadlock": ("late",),
    "dependency": ("dependency_met", "dependency_lost"),
    # Of another task, which is part of the same deadlock or is asked something: see test_deadlocks
    "resume": (),
    "pause": ("pause_task", "pause_station", "pause_line", "pause_project"),
    "unpause": ("resume_task", "resume_station", "resume_line", "resume_project"),
    "circle": (),
    "task": (),  # Somebody is told and nothing else happens: see tests/reviews/test_asked_at_once
    "evaluation": (),  # No machine can answer any more: see test_evaluations
}


def test_nothing_that_the_engine_does_is_left_out() -> None:
    assert set(DOES) == {name for name in engine.__all__ if isfunction(getattr(engine, name))}
    assert set(COMES) == set(deadlines.KINDS)
    assert {key for keys in (*DOES.values(), *COMES.values()) for key in keys} <= set(COMMANDS)


def test_a_way_of_its_own_leads_only_where_its_command_is_possible() -> None:
    assert all(TABLE[command][state].verdict != "impossible" for state, command in WAYS)
