"""Meanings of the failure types that Gateline sets, in words that fit after “it failed:” (law §2, §13)."""

from __future__ import annotations

from collections.abc import Iterable


def failure_words_and_own_types(types: Iterable[str]) -> tuple[str, tuple[str, ...]]:
    """The types joined by “or”, and those of them that a line made up: a page shows these as code."""
    listed = tuple(types)
    return " or ".join(failure_word(kind) for kind in listed), tuple(
        kind for kind in listed if kind not in WORDS
    )


def failure_word(kind: str) -> str:
    """“it changed nothing” for `nothing_done`; a type that a line or a program made up is said as it is."""
    return WORDS.get(kind, kind)


WORDS = {
    "agent_failed": "the agent failed",
    "base_moved": "the base branch moved",
    "branch_changed": "somebody changed the task's branch",
    "budget_exceeded": "it cost more than allowed",
    "checks_failed": "checks of the host failed",
    "checks_timed_out": "checks of the host did not come in time",
    "command_not_started": "the program did not start",
    "content_filter": "the model's filter refused",
    "denied": "a permission was denied",
    "empty_answer": "the answer is empty",
    "host_away": "the host did not answer",
    "host_refused": "the host refused",
    "merge_conflict": "a merge conflict",
    "no_answer": "no answer",
    "no_final_event": "it ended early",
    "no_fixer": "no fixer is set up",
    "no_label": "no label fits",
    "no_space": "no disk space",
    "none_required": "the host requires no checks",
    "not_approved": "not what was approved",
    "not_pushed": "nothing was pushed yet",
    "not_stored": "what the runner left was refused",
    "nothing_done": "it changed nothing",
    "output_missing": "output is missing",
    "parse_error": "the output cannot be read",
    "prepare_failed": "preparing failed",
    "provider_unavailable": "the model's provider did not answer",
    "push_refused": "the push was refused",
    "refused": "the model refused",
    "resource_limit": "it reached a resource limit",
    "secret_in_file": "a file holds a secret",
    "submodule_changed": "a submodule was changed",
    "supervisor_lost": "its supervisor was lost",
    "template_error": "a template has no value",
    "too_many_calls": "too many calls of tools",
    "unknown_work": "an unknown kind of work",
    "unreadable_output": "the output cannot be read",
    "workspace_too_large": "the files are too large",
}
