"""Forms of the limits of a line and of what its stations need to go forward: named budgets, agents,
preconditions (docs/rules.md)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from pipelines.models import Group, Role
from pipelines.routing.basics.keys import first_unused_key
from pipelines.routing.document.budgets import BUDGET, KINDS, WORDS, CountedTexts, standard_budgets
from pipelines.routing.document.policy import POLICY, Policy
from pipelines.routing.document.stations import STATION
from pipelines.web.editor.forms import fragment_paths
from pipelines.web.editor.forms.declared_fields import declared_control, labelled_choices, remaining_fields
from pipelines.web.editor.forms.fields import ChoiceField, FormField, ListedField, Options, Reading
from pipelines.web.editor.forms.form import FormSetting, Fragment, Rows, Section, member_values
from pipelines.web.editor.forms.fragment_paths import Place
from pipelines.web.editor.forms.option_lists import exhaustion_options
from pipelines.web.editor.forms.rule import ExhaustedField


@dataclass(frozen=True, kw_only=True)
class RequirementsField(ListedField):
    """An empty list says something: that nothing is needed, whatever the policy says."""

    between: str = ","

    @property
    def reading(self) -> Reading:
        return replace(super().reading, none=[])

    def to_text(self, value: Any) -> str:
        return "[]" if value == [] else super().to_text(value)


def station_section(setting: FormSetting) -> Section:
    stages = [option for option in setting.names.options("stations") if option[0] != setting.own]
    agents = [(key, key) for key in setting.agents]
    return Section(
        title="Agent and preconditions",
        fields=[
            declared_control(STATION, (), "agent", ChoiceField, options=agents, free=True),
            declared_control(STATION, (), "second_agent", ChoiceField, options=agents, free=True),
            declared_control(STATION, (), "requires", RequirementsField),
            declared_control(STATION, (), "stage", options=[("", "none: a stage of its own"), *stages]),
            handoff_field("Leave empty for that of the line, else that of AEEF."),
        ],
    )


def escalation_roles(setting: FormSetting) -> list[tuple[str, str]]:
    """Return the roles that an escalation may name: groups of the project, and Gateline's own roles."""
    names = Group.objects.filter(project=setting.project).order_by("name").values_list("name", flat=True)
    return [(name, name) for name in names] + [(role.value, str(role.label)) for role in Role]


def handoff_field(default_help: str) -> FormField:
    """The JSON Schema of the documents that are handed on from here."""
    declared = STATION.fields["handoff"]
    return declared_control(STATION, (), "handoff", help=declared.help + " " + default_help)


def limit_sections(usual: Policy, setting: FormSetting) -> list[Section]:
    fields: list[FormField | Rows] = [
        policy_field(name, usual) for name in ("standard_budgets", "preconditions")
    ]
    schema = handoff_field("Leave empty for that of AEEF. A station can have its own.")
    return [Section(title="Limits and preconditions", fields=[*fields, schema, _budget_rows(usual, setting)])]


def policy_field(
    name: str, usual: Policy, more: Options = (), make: type[ChoiceField] = ChoiceField
) -> ChoiceField:
    """A knob of the policy; left out it is as the preset says, which the first option spells out."""
    choices = [*labelled_choices(POLICY.fields[name].choices), *more]  # type: ignore[attr-defined]
    value = str(POLICY.write(usual).get(name, "no"))
    label = dict(choices).get(value, value)
    preset = ("", f"Preset: {label}")
    field = declared_control(POLICY, ("policy",), name, make, options=[preset, *choices])
    assert isinstance(field, ChoiceField)
    return field


def budget_kinds() -> list[tuple[str, str]]:
    return labelled_choices(WORDS)


def _budget_rows(usual: Policy, setting: FormSetting) -> Rows:
    role_options = escalation_roles(setting)
    return Rows(
        at=("budgets",),
        label="Named limits",
        row=lambda fragment, at: _budget_fields(fragment, at, setting, role_options),
        new=_new_budget,
        title=_budget_title,
        add="Add a limit for",
        kinds=budget_kinds(),
        help="Moves beyond the limit are refused. If several apply, the strictest counts.",
        empty=_preset_text(usual),
        ordered=False,
        folded=True,
    )


def _preset_text(usual: Policy) -> str:
    """The standard ones, where the line declares none."""
    if not usual.standard_budgets:
        return "None: only the limits of rules and stations bind."
    standard_limits = ", ".join(f"{budget.name} {budget.most}" for budget in standard_budgets(()))
    return f"None of its own. The preset brings {standard_limits}."


def _new_budget(fragment: Fragment, kind: str) -> dict[str, Any]:
    key = first_unused_key(kind.replace("_", "-"), member_values(fragment, ("budgets",), "key"))
    needed: dict[str, list[str]] = {
        name: [] for name in KINDS[kind][:1] if kind not in ("same_stage", "restart")
    }
    return {"key": key, "kind": kind, **needed, "most": 3}


def _budget_title(member: Any, index: int) -> str:
    if type(member) is not dict:
        return str(index + 1)
    words = dict(budget_kinds()).get(str(member.get("kind")), str(member.get("kind", "")))
    return f"{member.get('label') or member.get('key') or index + 1}: {words}, {member.get('most', '?')}"


LISTS = tuple(key for key, field in BUDGET.fields.items() if isinstance(field, CountedTexts))


def _budget_fields(
    fragment: Fragment, at: Place, setting: FormSetting, role_options: list[tuple[str, str]]
) -> Sequence[FormField | Rows]:
    kind = fragment_paths.value_at(fragment, (*at, "kind"))
    # A draft may hold a list there, by which nothing can be looked up.
    lists = KINDS.get(kind, ()) if type(kind) is str else ()
    controls: list[FormField | Rows] = [
        *(declared_control(BUDGET, at, key) for key in ("label", "key")),
        declared_control(BUDGET, at, "kind"),
        declared_control(BUDGET, at, "most"),
        *(
            declared_control(
                BUDGET, at, key, needed=key == lists[0] and kind not in ("same_stage", "restart")
            )
            for key in lists
        ),
        declared_control(
            BUDGET,
            at,
            "on_exhausted",
            ExhaustedField,
            options=exhaustion_options((*setting.names.options("stations"), *setting.names.options("ends"))),
            covers=(f"{fragment_paths.path_name((*at, 'on_exhausted'))}.to",),
        ),
        declared_control(BUDGET, at, "role", ChoiceField, options=role_options, free=True),
    ]
    return [*controls, *remaining_fields(BUDGET, at, controls, excluded_keys=LISTS)]
