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
from pipelines.web.editor.forms import checks, inputs, places, tool
from pipelines.web.editor.forms.approval import approvers
from pipelines.web.editor.forms.declared import control, unplaced, words_of
from pipelines.web.editor.forms.fields import ChoiceField, FormField, SeveralField
from pipelines.web.editor.forms.form import (
    Fragment,
    Placed,
    Rows,
    Section,
    Setting,
    others,
    skeleton,
    with_rest,
)
from pipelines.web.editor.forms.words import routes


class GateForm:
    def sections(self, fragment: Fragment, setting: Setting) -> Sequence[Section]:
        sections = [
            Section(fields=_names(fragment)),
            Section(title="Checks", fields=checks.fields(fragment), open=True),
            tool.section(fragment),
            Section(title="People", fields=_people(fragment, setting), open=True),
            Section(title="Their words", fields=_words(setting)),
            _filled(fragment),
            _sample(fragment),
            Section(title="Approve without the page", fields=unplaced(CHANNELS, ("channels",), ())),
            Section(title="Due, and who is told", fields=_due(fragment)),
        ]
        placed = [field for section in sections for field in section.fields]
        sections[0] = replace(sections[0], fields=[*sections[0].fields, *unplaced(GATE, (), placed)])
        words = "What has no field of its own, as JSON."
        return with_rest(sections, fragment, "Everything else", words)

    def place(self, fragment: Fragment, setting: Setting) -> Placed:
        rest = others(setting.names.gates, setting.own)
        return Placed(skeleton(setting.names, gates=[*rest, fragment]), f"gates[{len(rest)}]")

    def more(self, fragment: Fragment, setting: Setting) -> Sequence[Problem]:
        return ()


def _names(fragment: Fragment) -> list[FormField | Rows]:
    usual = "checks, then people" if {"checks", "tool"} & set(fragment) else "people"
    return [
        control(GATE, (), "name"),
        control(GATE, (), "key", covers=("",)),
        control(GATE, (), "description"),
        control(
            GATE,
            (),
            "mode",
            ChoiceField,
            options=[("", f"As the gate is made: {usual}"), *words_of(MODES)],
        ),
    ]


def _people(fragment: Fragment, setting: Setting) -> list[FormField | Rows]:
    who = approvers(fragment, setting)
    known: list[FormField | Rows] = [control(GATE, (), "requires_approval"), *who]
    return [*known, *unplaced(APPROVAL, ("approval",), who)]


def _words(setting: Setting) -> list[FormField | Rows]:
    known = words_of(ON_REJECT)
    policy = setting.names.policy if type(setting.names.policy) is dict else {}
    line = policy.get("on_reject")
    label = dict(known).get(line, line) if type(line) is str else ""
    usual = ("", f"As the line says: {label}" if label else "As the line says")
    # Law §5: under `flux` a gate offers approve, rework and abort.
    offered = FLUX_OFFERS if setting.names.preset == "flux" else OFFERS
    return [
        control(GATE, (), "offers", SeveralField, options=words_of(WORDS), usual=offered),
        control(GATE, (), "on_reject", ChoiceField, options=[usual, *known, *routes(setting, "route")]),
    ]


def _filled(fragment: Fragment) -> Section:
    """Fields as those of the line's form; their answers become variables."""
    fields = places.get(fragment, ("fields",))
    add, empty = (
        "Add a field",
        "No fields. Required checkboxes make a checklist.",
    )
    rows = inputs.rows(("fields",), "Fields", add, empty, types=FIELD_TYPES)
    # A draft may hold anything here; what is no list is left to JSON.
    items = [rows] if type(fields) is list or fields is places.MISSING else []
    help_text = "Filled in with an approval. Later stations read them as {{variables.key}}."
    return Section(title="Fields to fill in", fields=items, help=help_text, open="fields" in fragment)


def _sample(fragment: Fragment) -> Section:
    one_in = control(SAMPLE, ("sample",), "one_in", whole=("sample",))
    there = "sample" in fragment
    always = checks.fields(fragment, ("sample", "always"), "Always ask if") if there else []
    return Section(title="Sampling", fields=[one_in, *always], open=there)


def _due(fragment: Fragment) -> list[FormField | Rows]:
    controls: list[FormField | Rows] = [control(DUE, ("due",), "after", whole=("due",))]
    if "due" in fragment:
        controls += unplaced(DUE, ("due",), controls)
    return [*controls, control(GATE, (), "notify")]
