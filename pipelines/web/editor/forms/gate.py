"""A gate: how it decides, its checks, who approves, what they may say, when it is due."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pipelines.routing.document.gates import (
    APPROVAL,
    CHANNELS,
    DUE,
    FIELD_TYPES,
    FLUX_OFFERS,
    GATE,
    MODES,
    OFFERS,
    SAMPLE,
    WORDS,
)
from pipelines.routing.document.line import Problem
from pipelines.routing.document.routes import ON_REJECT
from pipelines.web.editor.forms import checks, fragment_paths, inputs, tool
from pipelines.web.editor.forms.approval import approver_rows
from pipelines.web.editor.forms.declared_fields import declared_control, labelled_choices, remaining_fields
from pipelines.web.editor.forms.fields import ChoiceField, FormField, SeveralField
from pipelines.web.editor.forms.form import (
    FormSetting,
    Fragment,
    PlacedFragment,
    Rows,
    Section,
    other_skeletons,
    sections_with_uncovered_rest,
    skeleton_document,
)
from pipelines.web.editor.forms.option_lists import station_route_options


class GateForm:
    def sections(self, fragment: Fragment, setting: FormSetting) -> Sequence[Section]:
        sections = [
            Section(fields=_name_fields(fragment)),
            Section(title="Checks", fields=checks.check_fields(fragment), open=True),
            tool.tool_section(fragment),
            Section(title="People", fields=_people_fields(fragment, setting), open=True),
            Section(title="Their words", fields=_vote_fields(setting)),
            _fields_section(fragment),
            _sample_section(fragment),
            Section(title="Approve without the page", fields=remaining_fields(CHANNELS, ("channels",), ())),
            Section(title="Due, and who is told", fields=_due_fields(fragment)),
        ]
        placed = [field for section in sections for field in section.fields]
        sections[0] = replace(sections[0], fields=[*sections[0].fields, *remaining_fields(GATE, (), placed)])
        words = "What has no field of its own, as JSON."
        return sections_with_uncovered_rest(sections, fragment, "Everything else", words)

    def placed_fragment(self, fragment: Fragment, setting: FormSetting) -> PlacedFragment:
        rest = other_skeletons(setting.names.gates, setting.own)
        return PlacedFragment(
            skeleton_document(setting.names, gates=[*rest, fragment]), f"gates[{len(rest)}]"
        )

    def extra_problems(self, fragment: Fragment, setting: FormSetting) -> Sequence[Problem]:
        return ()


def _name_fields(fragment: Fragment) -> list[FormField | Rows]:
    usual = "checks, then people" if {"checks", "tool"} & set(fragment) else "people"
    return [
        declared_control(GATE, (), "name"),
        declared_control(GATE, (), "key", covers=("",)),
        declared_control(GATE, (), "description"),
        declared_control(
            GATE,
            (),
            "mode",
            ChoiceField,
            options=[("", f"As the gate is made: {usual}"), *labelled_choices(MODES)],
        ),
    ]


def _people_fields(fragment: Fragment, setting: FormSetting) -> list[FormField | Rows]:
    who = approver_rows(fragment, setting)
    known: list[FormField | Rows] = [declared_control(GATE, (), "requires_approval"), *who]
    return [*known, *remaining_fields(APPROVAL, ("approval",), who)]


def _vote_fields(setting: FormSetting) -> list[FormField | Rows]:
    known = labelled_choices(ON_REJECT)
    policy = setting.names.policy if type(setting.names.policy) is dict else {}
    line = policy.get("on_reject")
    label = dict(known).get(line, line) if type(line) is str else ""
    usual = ("", f"As the line says: {label}" if label else "As the line says")
    # Law §5: under `flux` a gate offers approve, rework and abort.
    offered = FLUX_OFFERS if setting.names.preset == "flux" else OFFERS
    return [
        declared_control(GATE, (), "offers", SeveralField, options=labelled_choices(WORDS), usual=offered),
        declared_control(
            GATE,
            (),
            "on_reject",
            ChoiceField,
            options=[usual, *known, *station_route_options(setting, "route")],
        ),
    ]


def _fields_section(fragment: Fragment) -> Section:
    """Fields as those of the line's form; their answers become variables."""
    fields = fragment_paths.value_at(fragment, ("fields",))
    add, empty = (
        "Add a field",
        "No fields. Required checkboxes make a checklist.",
    )
    rows = inputs.input_rows(("fields",), "Fields", add, empty, types=FIELD_TYPES)
    # A draft may hold anything here; what is no list is left to JSON.
    items = [rows] if type(fields) is list or fields is fragment_paths.MISSING else []
    help_text = "Filled in with an approval. Later stations read them as {{variables.key}}."
    return Section(title="Fields to fill in", fields=items, help=help_text, open="fields" in fragment)


def _sample_section(fragment: Fragment) -> Section:
    one_in = declared_control(SAMPLE, ("sample",), "one_in", whole=("sample",))
    there = "sample" in fragment
    always = checks.check_fields(fragment, ("sample", "always"), "Always ask if") if there else []
    return Section(title="Sampling", fields=[one_in, *always], open=there)


def _due_fields(fragment: Fragment) -> list[FormField | Rows]:
    controls: list[FormField | Rows] = [declared_control(DUE, ("due",), "after", whole=("due",))]
    if "due" in fragment:
        controls += remaining_fields(DUE, ("due",), controls)
    return [*controls, declared_control(GATE, (), "notify")]
