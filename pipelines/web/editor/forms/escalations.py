"""Form of whom a line notifies of an escalation, and whether it looks for deadlocks (docs/escalations.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pipelines.routing.basics.durations import format_duration
from pipelines.routing.document.escalations import ESCALATION, OF_THE_ENGINE, PRESETS
from pipelines.routing.document.policy import Policy
from pipelines.routing.sentences.escalations import trigger_words
from pipelines.web.editor.forms.declared import control, unplaced
from pipelines.web.editor.forms.fields import ChoiceField, FormField
from pipelines.web.editor.forms.form import Fragment, Rows, Section, Setting, first_free, values_at
from pipelines.web.editor.forms.limits import knob, roles
from pipelines.web.editor.forms.places import Place

TRIGGERS = (*OF_THE_ENGINE, "contract_violation")


def of_line(usual: Policy, preset: str, setting: Setting) -> Section:
    """`preset`: its name, known or not."""
    return Section(
        title="Escalations and deadlocks",
        fields=[knob("deadlocks", usual), _rules(preset, roles(setting))],
    )


def _rules(preset: str, role_options: list[tuple[str, str]]) -> Rows:
    return Rows(
        at=("escalations",),
        label="Who is told",
        row=lambda fragment, at: _rule(at, role_options),
        new=_new,
        title=_title,
        add="Add a rule",
        help="Everything else follows the preset, or goes to the administrators of the project.",
        empty=_of_preset(preset),
        ordered=False,
        folded=True,
    )


def _of_preset(preset: str) -> str:
    """Describe what applies where the line defines nothing."""
    by_role: dict[str, list[str]] = {}
    for rule in PRESETS.get(preset, ()):
        time = f" ({format_duration(rule.sla)})" if rule.sla is not None else ""
        by_role.setdefault(rule.role, []).append(f"{trigger_words(rule.trigger)}{time}")
    if not by_role:
        return "None: whatever is escalated, the administrators of the project answer, without a limit."
    recipients = "; ".join(f"{role}: {', '.join(words)}" for role, words in by_role.items())
    return f"None of its own. The preset tells {recipients}."


def _new(fragment: Fragment, kind: str) -> dict[str, Any]:
    used_triggers = values_at(fragment, ("escalations",), "trigger")
    return {"trigger": first_free(TRIGGERS, used_triggers), "role": "", "sla": "4h"}


def _title(member: Any, index: int) -> str:
    if type(member) is not dict:
        return str(index + 1)
    return f"{trigger_words(str(member.get('trigger', '')))} → {member.get('role') or '?'}"


def _rule(at: Place, role_options: list[tuple[str, str]]) -> Sequence[FormField | Rows]:
    triggers = [(trigger, trigger_words(trigger)) for trigger in TRIGGERS]
    controls = [
        control(ESCALATION, at, "trigger", ChoiceField, options=triggers, free=True, needed=True),
        control(ESCALATION, at, "role", ChoiceField, options=role_options, free=True, needed=True),
    ]
    return [*controls, *unplaced(ESCALATION, at, controls)]
