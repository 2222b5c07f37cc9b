"""The tools of coding agents, by the names that their programs give them: what each of them does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pipelines.work.agents.json_values import dict_or_empty, list_or_empty, one_line_json, text_or_empty
from pipelines.work.agents.steps import MOST_CHANGES, StepKind, TextChange, Verb

Called = tuple[StepKind, Verb, str, tuple[TextChange, ...]]
TOOLS: Final[Mapping[str, tuple[StepKind, Verb]]] = {
    "bash": (StepKind.COMMAND, Verb.RUN),
    "shell": (StepKind.COMMAND, Verb.RUN),
    "run_shell_command": (StepKind.COMMAND, Verb.RUN),
    "edit": (StepKind.EDIT, Verb.EDIT),
    "multiedit": (StepKind.EDIT, Verb.EDIT),
    "notebookedit": (StepKind.EDIT, Verb.EDIT),
    "patch": (StepKind.EDIT, Verb.EDIT),
    "apply_patch": (StepKind.EDIT, Verb.EDIT),
    "replace": (StepKind.EDIT, Verb.EDIT),
    "write": (StepKind.EDIT, Verb.WRITE),
    "write_file": (StepKind.EDIT, Verb.WRITE),
    "read": (StepKind.TOOL, Verb.READ),
    "read_file": (StepKind.TOOL, Verb.READ),
    "read_many_files": (StepKind.TOOL, Verb.READ),
    "ls": (StepKind.TOOL, Verb.LIST),
    "list": (StepKind.TOOL, Verb.LIST),
    "list_directory": (StepKind.TOOL, Verb.LIST),
    "glob": (StepKind.TOOL, Verb.LIST),
    "grep": (StepKind.TOOL, Verb.SEARCH),
    "search_file_content": (StepKind.TOOL, Verb.SEARCH),
    "websearch": (StepKind.TOOL, Verb.SEARCH),
    "google_web_search": (StepKind.TOOL, Verb.SEARCH),
    "webfetch": (StepKind.TOOL, Verb.FETCH),
    "web_fetch": (StepKind.TOOL, Verb.FETCH),
    "todowrite": (StepKind.TOOL, Verb.PLAN),
    "write_todos": (StepKind.TOOL, Verb.PLAN),
    "task": (StepKind.TOOL, Verb.DELEGATE),
    "agent": (StepKind.TOOL, Verb.DELEGATE),
}
OBJECTS: Final = (
    *("command", "cmd", "file_path", "filePath", "path", "absolute_path", "dir_path", "notebook_path"),
    *("pattern", "query", "url", "description", "prompt"),
)
"""Where a call says what it is about, the plainest first."""
BEFORE: Final = ("old_string", "oldString", "old_str")
AFTER: Final = ("new_string", "newString", "new_str", "content", "new_source")


def describe_call(name: str, raw_arguments: Any) -> Called:
    """Return what a call of this tool with these arguments does. An unknown tool keeps its name."""
    arguments = dict_or_empty(raw_arguments)
    kind, verb = TOOLS.get(name.lower(), (StepKind.TOOL, Verb.TOOL))
    what = _first_text(arguments, OBJECTS)
    if verb == Verb.TOOL:
        return kind, verb, what or one_line_json(arguments), ()
    # OBJECTS has the path first; what is searched for says more.
    if verb == Verb.SEARCH and _first_text(arguments, ("pattern", "query")):
        what = _first_text(arguments, ("pattern", "query"))
    if verb == Verb.PLAN:
        plan = list_or_empty(arguments.get("todos"))
        what = "; ".join(text_or_empty(dict_or_empty(entry).get("content")) for entry in plan[:MOST_CHANGES])
    return kind, verb, what, _text_changes(what, arguments) if kind == StepKind.EDIT else ()


def _text_changes(path: str, arguments: dict[str, Any]) -> tuple[TextChange, ...]:
    # A single edit stands in the arguments themselves.
    edits = list_or_empty(arguments.get("edits"))[:MOST_CHANGES] or [arguments]
    changes = (
        TextChange(path, _first_text(dict_or_empty(edit), BEFORE), _first_text(dict_or_empty(edit), AFTER))
        for edit in edits
    )
    return tuple(change for change in changes if change.before or change.after)


def _first_text(arguments: dict[str, Any], names: tuple[str, ...]) -> str:
    return next((value for name in names if (value := text_or_empty(arguments.get(name)))), "")
