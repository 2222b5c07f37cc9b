"""Form of whom a line notifies of an escalation, and whether it looks for deadlocks (docs/escalations.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pipelines.routing.basics.durations import format_duration
from pipelines.routing.document.escalations import ESCALATION, OF_THE_ENGINE, PRESETS
from pipelines.routing.document.policy import Policy
from pipelines.routing.sentences.escalations import trigger_words
from pipelines.web.editor.forms.declared_fields import declared_control, remaining_fields
from pipelines.web.editor.forms.fields import ChoiceField, FormField
from pipelines.web.editor.forms.form import (
    FormSetting,
    Fragment,
    Rows,
    Section,
    first_free_or_empty,
    member_values,
)
from pipelines.web.editor.forms.fragment_paths import Place
from pipelines.web.editor.forms.limits import escalation_roles, policy_field

TRIGGERS = (*OF_THE_ENGINE, "contract_violation")


def escalation_section(usual: Policy, preset: str, setting: FormSetting) -> Section:
    """`preset`: its name, known or not."""
    return Section(
        title="Escalations and deadlocks",
        fields=[policy_field("deadlocks", usual), _escalation_rows(preset, escalation_roles(setting))],
    )


def _escalation_rows(preset: str, role_options: list[tuple[str, str]]) -> Rows:
    return Rows(
        at=("escalations",),
        label="Who is told",
        row=lambda fragment, at: _escalation_fields(at, role_options),
        new=_new_escalation,
        title=_escalation_title,
        add="Add a rule",
        help="Everything else follows the preset, or goes to the administrators of the project.",
        empty=_preset_text(preset),
        ordered=False,
        folded=True,
    )


def _preset_text(preset: str) -> str:
    """Describe what applies where the line defines nothing."""
    by_role: dict[str, list[str]] = {}
    for rule in PRESETS.get(preset, ()):
        time = f" ({format_duration(rule.sla)})" if rule.sla is not None else ""
        by_role.setdefault(rule.role, []).append(f"{trigger_words(rule.trigger)}{time}")
    if not by_role:
        return "None: whatever is escalated, the administrators of the project answer, without a limit."
    recipients = "; ".join(f"{role}: {', '.join(words)}" for role, words in by_role.items())
    return f"None of its own. The preset tells {recipients}."


def _new_escalation(fragment: Fragment, kind: str) -> dict[str, Any]:
    used_triggers = member_values(fragment, ("escalations",), "trigger")
    return {"trigger": first_free_or_empty(TRIGGERS, used_triggers), "role": "", "sla": "4h"}


def _escalation_title(member: Any, index: int) -> str:
    if type(member) is not dict:
        return str(index + 1)
    return f"{trigger_words(str(member.get('trigger', '')))} → {member.get('role') or '?'}"


def _escalation_fields(at: Place, role_options: list[tuple[str, str]]) -> Sequence[FormField | Rows]:
    triggers = [(trigger, trigger_words(trigger)) for trigger in TRIGGERS]
    controls = [
        declared_control(ESCALATION, at, "trigger", ChoiceField, options=triggers, free=True, needed=True),
        declared_control(ESCALATION, at, "role", ChoiceField, options=role_options, free=True, needed=True),
    ]
    return [*controls, *remaining_fields(ESCALATION, at, controls)]
