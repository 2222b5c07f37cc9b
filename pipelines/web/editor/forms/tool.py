"""The tool of a gate: the program, how its run is judged, and what follows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from pipelines.web.editor.forms import places
from pipelines.web.editor.forms.fields import (
    AnythingField,
    ArgumentsField,
    ChoiceField,
    DurationField,
    FlagField,
    FormField,
    NumberField,
    PairsField,
    TextField,
)
from pipelines.web.editor.forms.form import Fragment, Rows, Section


@dataclass(frozen=True, kw_only=True)
class ProgramField(ArgumentsField):
    """Without a program there is no tool."""

    def written(self, fragment: Any, typed: Sequence[str]) -> Any:
        blank = not typed or not typed[0].strip()
        return places.put(fragment, ("tool",), places.MISSING) if blank else super().written(fragment, typed)


def section(fragment: Fragment) -> Section:
    program = ProgramField(
        at=("tool", "argv"),
        label=_("Program and arguments"),
        help=_("Runs after the station, on a copy of its workspace. No shell reads it."),
        placeholder="coverage json -o -",
        rows=2,
    )
    there = "tool" in fragment
    fields: list[FormField | Rows] = [program, *_judged(), *_run()] if there else [program]
    return Section(title=_("A tool that decides"), fields=fields, open=there)


def _judged() -> list[FormField | Rows]:
    said = _("A condition on the tool's own output, as JSON.")
    example = '{"output": {"path": "$.percent", "op": "gte", "value": 80}}'
    outcome = ("tool", "outcome")
    return [
        ChoiceField(
            at=(*outcome, "parse"),
            label=_("What it writes"),
            options=[
                ("", _("Nothing that counts: the exit code decides")),
                ("json", _("JSON")),
                ("text", _("Text")),
                ("exit_code", _("Only its exit code counts")),
            ],
        ),
        AnythingField(
            at=(*outcome, "success_on"), label=_("Exit codes of a run that counts"), placeholder="[0]"
        ),
        AnythingField(at=(*outcome, "fail_if"), label=_("Fails if"), help=said, rows=2),
        AnythingField(at=(*outcome, "pass_if"), label=_("Passes if"), help=said, rows=2, placeholder=example),
        AnythingField(at=(*outcome, "warn_if"), label=_("Warns if"), help=said, rows=2),
        ChoiceField(
            at=("tool", "action"),
            label=_("When it fails"),
            options=[
                ("", _("Rework: the rules as after a failure")),
                ("hold", _("Hold: a person decides")),
                ("abort", _("Abort: the task fails")),
                ("rework", _("Rework, said here")),
            ],
        ),
        FlagField(at=("tool", "approve_warnings"), label=_("A warning needs no person")),
        FlagField(
            at=("tool", "enabled"),
            label=_("It runs"),
            help=_("Switched off it passes, and the trace says so."),
            usual=True,
        ),
    ]


def _run() -> list[FormField | Rows]:
    return [
        DurationField(at=("tool", "timeout"), label=_("Timeout"), placeholder="60s"),
        NumberField(at=("tool", "retries", "max"), label=_("Most repeats after trouble"), placeholder="0"),
        DurationField(at=("tool", "retries", "backoff"), label=_("Pause before a repeat"), placeholder="1s"),
        TextField(at=("tool", "cwd"), label=_("Folder"), placeholder=".", code=True),
        PairsField(at=("tool", "env"), label=_("Environment"), help=_("NAME=value, one per line."), rows=2),
        TextField(
            at=("tool", "stdin"),
            label=_("Standard input"),
            help=_("Without it the tool gets the outcome as JSON."),
            rows=2,
        ),
    ]
