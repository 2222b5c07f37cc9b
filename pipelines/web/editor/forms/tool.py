"""The tool of a gate: the program, how its run is judged, and what follows."""

from __future__ import annotations

from pipelines.routing.document.gate_tools import JUDGING, RETRIES, TOOL
from pipelines.web.editor.forms.declared_fields import declared_control, remaining_fields
from pipelines.web.editor.forms.fields import ArgumentsField, FormField
from pipelines.web.editor.forms.form import Fragment, Rows, Section


def tool_section(fragment: Fragment) -> Section:
    program = declared_control(TOOL, ("tool",), "argv", ArgumentsField, whole=("tool",))
    there = "tool" in fragment
    fields: list[FormField | Rows] = [program, *_judging_fields(), *_run_fields()] if there else [program]
    return Section(title="A tool that decides", fields=fields, open=there)


def _judging_fields() -> list[FormField | Rows]:
    judging_keys = ("parse", "success_on", "fail_if", "pass_if", "warn_if")
    judging = [declared_control(JUDGING, ("tool", "outcome"), key) for key in judging_keys]
    return [
        *judging,
        *(declared_control(TOOL, ("tool",), key) for key in ("action", "approve_warnings", "enabled")),
    ]


def _run_fields() -> list[FormField | Rows]:
    retries = remaining_fields(RETRIES, ("tool", "retries"), ())
    rest = (declared_control(TOOL, ("tool",), key) for key in ("cwd", "env", "stdin"))
    return [declared_control(TOOL, ("tool",), "timeout"), *retries, *rest]
