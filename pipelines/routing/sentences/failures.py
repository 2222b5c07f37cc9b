"""What a failure type that Gateline sets means, in words that fit after “it failed:” (law §2, §13)."""

from __future__ import annotations

from collections.abc import Iterable

from pipelines.routing.basics.translation import gettext as _


def failure_words(types: Iterable[str]) -> tuple[str, tuple[str, ...]]:
    """The types joined by “or”, and those of them that a line made up: a page shows these as code."""
    listed = tuple(types)
    return _(" or ").join(failure_word(kind) for kind in listed), tuple(
        kind for kind in listed if kind not in WORDS
    )


def failure_word(kind: str) -> str:
    """“it changed nothing” for `nothing_done`; a type that a line or a program made up is said as it is."""
    return WORDS[kind]() if kind in WORDS else kind


WORDS = {
    "agent_failed": lambda: _("the agent failed"),
    "base_moved": lambda: _("the base branch moved"),
    "branch_changed": lambda: _("somebody changed the task's branch"),
    "budget_exceeded": lambda: _("it cost more than allowed"),
    "checks_failed": lambda: _("checks of the host failed"),
    "checks_timed_out": lambda: _("checks of the host did not come in time"),
    "command_not_started": lambda: _("the program did not start"),
    "content_filter": lambda: _("the model's filter refused"),
    "denied": lambda: _("a permission was denied"),
    "empty_answer": lambda: _("the answer is empty"),
    "host_away": lambda: _("the host did not answer"),
    "host_refused": lambda: _("the host refused"),
    "merge_conflict": lambda: _("a merge conflict"),
    "no_answer": lambda: _("no answer"),
    "no_final_event": lambda: _("it ended early"),
    "no_fixer": lambda: _("no fixer is set up"),
    "no_label": lambda: _("no label fits"),
    "no_space": lambda: _("no disk space"),
    "none_required": lambda: _("the host requires no checks"),
    "not_approved": lambda: _("not what was approved"),
    "not_pushed": lambda: _("nothing was pushed yet"),
    "not_stored": lambda: _("what the runner left was refused"),
    "nothing_done": lambda: _("it changed nothing"),
    "output_missing": lambda: _("output is missing"),
    "parse_error": lambda: _("the output cannot be read"),
    "prepare_failed": lambda: _("preparing failed"),
    "provider_unavailable": lambda: _("the model's provider did not answer"),
    "push_refused": lambda: _("the push was refused"),
    "refused": lambda: _("the model refused"),
    "resource_limit": lambda: _("it reached a resource limit"),
    "secret_in_file": lambda: _("a file holds a secret"),
    "supervisor_lost": lambda: _("its supervisor was lost"),
    "template_error": lambda: _("a template has no value"),
    "too_many_calls": lambda: _("too many calls of tools"),
    "unknown_work": lambda: _("an unknown kind of work"),
    "unreadable_output": lambda: _("the output cannot be read"),
    "workspace_too_large": lambda: _("the files are too large"),
}
