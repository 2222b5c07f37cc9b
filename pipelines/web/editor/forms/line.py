"""The line itself: what it is called, promises and may cost, then its policy, each option with what the preset says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from pipelines.routing.document.expected_results import TASK_LIMITS
from pipelines.routing.document.line import PRESETS, Policy, Problem
from pipelines.routing.document.model import FLAGS, LINE
from pipelines.routing.document.policy import DEFAULT_PRESET, POLICY
from pipelines.web.editor.forms import escalations, guarantees, limits, workspace
from pipelines.web.editor.forms.declared_fields import declared_control, remaining_fields
from pipelines.web.editor.forms.fields import ChoiceField, FormField, Reading
from pipelines.web.editor.forms.form import (
    FormSetting,
    Fragment,
    PlacedFragment,
    Rows,
    Section,
    sections_with_uncovered_rest,
    skeleton_document,
)
from pipelines.web.editor.forms.fragment_paths import Place
from pipelines.web.editor.forms.limits import policy_field
from pipelines.web.editor.forms.option_lists import station_route_options


@dataclass(frozen=True, kw_only=True)
class LineYesNoField(ChoiceField):
    """Tools of YAML 1.1 make true and false of them."""

    def to_text(self, value: Any) -> str:
        return ("yes" if value else "no") if type(value) is bool else super().to_text(value)


@dataclass(frozen=True, kw_only=True)
class LoopsField(ChoiceField):
    """A whole number, or `none`."""

    reading: ClassVar[Reading] = Reading(numbers="[0-9]+")


class LineForm:
    """The fragment is the document without what stands in forms of its own."""

    def sections(self, fragment: Fragment, setting: FormSetting) -> Sequence[Section]:
        preset = fragment.get("preset", DEFAULT_PRESET)
        # A preset that does not exist is shown with the options of a new line.
        usual = PRESETS[preset] if type(preset) is str and preset in PRESETS else PRESETS[DEFAULT_PRESET]
        starts = [("", "The first station"), *setting.names.options("stations")]
        names: list[FormField | Rows] = [
            *(declared_control(LINE, (), key) for key in ("name", "description")),
            declared_control(LINE, (), "start", options=starts),
        ]
        sections = [
            Section(fields=names),
            workspace.workspace_section(fragment, setting),
            guarantees.guarantees_section(setting),
            Section(title="Jumps", fields=[declared_control(LINE, (), "jumps")]),
            Section(
                title="Cost and sensitive files",
                fields=[
                    *remaining_fields(TASK_LIMITS, ("limits",), ()),
                    declared_control(LINE, (), "sensitive"),
                ],
            ),
            Section(title="When no rule matches or a station fails", fields=_policy_fields(usual, setting)),
            Section(title="Loops and limits", fields=_limit_fields(usual)),
            *limits.limit_sections(usual, setting),
            Section(title="In parallel", fields=[_forbidden_pair_rows(setting)]),
            escalations.escalation_section(usual, str(preset), setting),
            Section(title="Data of conditions", fields=_condition_data_fields(usual)),
        ]
        words = "What has no field of its own, as JSON: extra."
        return sections_with_uncovered_rest(sections, fragment, "Everything else", words)

    def placed_fragment(self, fragment: Fragment, setting: FormSetting) -> PlacedFragment:
        document = skeleton_document(setting.names)
        # What budgets name: in the form the rules of all stations stand at the first one.
        if document["stations"]:
            document["stations"][0]["rules"] = [
                {"id": rule, "to": "completed"} for rule in dict.fromkeys(setting.names.rules)
            ]
        # Of inputs the form knows the keys alone: whether one is a repository the readers of the whole line say.
        for line_input in document["inputs"]:
            line_input["type"] = "repository"
        other_parts = {key: value for key, value in document.items() if key not in ("preset", "policy")}
        return PlacedFragment({**other_parts, **fragment, **other_parts}, beside=frozenset(other_parts))

    def extra_problems(self, fragment: Fragment, setting: FormSetting) -> Sequence[Problem]:
        return ()


def _forbidden_pair_rows(setting: FormSetting) -> Rows:
    """Pairs of stations that must never run in parallel."""
    stations = setting.names.options("stations")
    known = dict(stations)

    def pair_fields(fragment: Fragment, at: Place) -> list[FormField | Rows]:
        labels = ("While this station runs", "this one cannot run")
        return [
            ChoiceField(at=(*at, place), label=label, options=stations, needed=True)
            for place, label in enumerate(labels)
        ]

    def pair_title(member: Any, index: int) -> str:
        pair = type(member) is list and len(member) == 2
        # A station that is gone is shown by its key: there is no name left
        names = (str(known.get(str(key), key)) for key in member) if pair else ()
        return " ∥ ".join(names) or f"Pair {index + 1}"

    declared = LINE.fields["forbidden_parallel"]
    return Rows(
        at=("forbidden_parallel",),
        label=declared.label,
        row=pair_fields,
        new=lambda fragment, kind: [key for key, _label in stations[:2]],
        title=pair_title,
        add="Add a pair",
        empty="Branches of a fork may be anywhere at the same time.",
        help=declared.help,
        ordered=False,
        rest=False,
    )


def _policy_fields(usual: Policy, setting: FormSetting) -> list[FormField | Rows]:
    return [
        declared_control(LINE, (), "preset"),
        *(policy_field(name, usual) for name in ("no_rules", "no_match")),
        policy_field("on_failure", usual, station_route_options(setting, "station")),
        policy_field("failure_rules", usual, make=LineYesNoField),
        policy_field("on_reject", usual, station_route_options(setting, "route")),
    ]


def _limit_fields(usual: Policy) -> list[FormField | Rows]:
    again = [(f"limit:{n}", f"At most {n} times again") for n in (*range(1, 11), 15, 20)]
    loops = [(str(n), f"At most {n} times") for n in (*range(11), 15, 20, 50)]
    return [
        policy_field("revisit", usual, again),
        policy_field("self_loop_limit", usual, loops, LoopsField),
        policy_field("on_exhausted", usual),
        declared_control(POLICY, ("policy",), "visit_cap", placeholder=str(usual.visit_cap)),
    ]


def _condition_data_fields(usual: Policy) -> list[FormField | Rows]:
    return [
        *(policy_field(name, usual) for name in ("condition_scope", "contradiction")),
        *remaining_fields(FLAGS, ("flags",), ()),
    ]
