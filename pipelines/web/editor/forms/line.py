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
from pipelines.web.editor.forms.declared import control, unplaced
from pipelines.web.editor.forms.fields import ChoiceField, FormField, Reading
from pipelines.web.editor.forms.form import Fragment, Placed, Rows, Section, Setting, skeleton, with_rest
from pipelines.web.editor.forms.limits import knob
from pipelines.web.editor.forms.places import Place
from pipelines.web.editor.forms.words import routes


@dataclass(frozen=True, kw_only=True)
class LineYesNoField(ChoiceField):
    """Tools of YAML 1.1 make true and false of them."""

    def text(self, value: Any) -> str:
        return ("yes" if value else "no") if type(value) is bool else super().text(value)


@dataclass(frozen=True, kw_only=True)
class LoopsField(ChoiceField):
    """A whole number, or `none`."""

    reading: ClassVar[Reading] = Reading(numbers="[0-9]+")


class LineForm:
    """The fragment is the document without what stands in forms of its own."""

    def sections(self, fragment: Fragment, setting: Setting) -> Sequence[Section]:
        preset = fragment.get("preset", DEFAULT_PRESET)
        # A preset that does not exist is shown with the options of a new line.
        usual = PRESETS[preset] if type(preset) is str and preset in PRESETS else PRESETS[DEFAULT_PRESET]
        starts = [("", "The first station"), *setting.names.options("stations")]
        names: list[FormField | Rows] = [
            *(control(LINE, (), key) for key in ("name", "description")),
            control(LINE, (), "start", options=starts),
        ]
        sections = [
            Section(fields=names),
            workspace.of_line(fragment, setting),
            guarantees.of_line(setting),
            Section(title="Jumps", fields=[control(LINE, (), "jumps")]),
            Section(
                title="Cost and sensitive files",
                fields=[*unplaced(TASK_LIMITS, ("limits",), ()), control(LINE, (), "sensitive")],
            ),
            Section(title="When no rule matches or a station fails", fields=_policy(usual, setting)),
            Section(title="Loops and limits", fields=_limits(usual)),
            *limits.of_line(usual, setting),
            Section(title="In parallel", fields=[_never(setting)]),
            escalations.of_line(usual, str(preset), setting),
            Section(title="Data of conditions", fields=_data(usual)),
        ]
        words = "What has no field of its own, as JSON: extra."
        return with_rest(sections, fragment, "Everything else", words)

    def place(self, fragment: Fragment, setting: Setting) -> Placed:
        document = skeleton(setting.names)
        # What budgets name: in the form the rules of all stations stand at the first one.
        if document["stations"]:
            document["stations"][0]["rules"] = [
                {"id": rule, "to": "completed"} for rule in dict.fromkeys(setting.names.rules)
            ]
        # Of inputs the form knows the keys alone: whether one is a repository the readers of the whole line say.
        for line_input in document["inputs"]:
            line_input["type"] = "repository"
        other_parts = {key: value for key, value in document.items() if key not in ("preset", "policy")}
        return Placed({**other_parts, **fragment, **other_parts}, beside=frozenset(other_parts))

    def more(self, fragment: Fragment, setting: Setting) -> Sequence[Problem]:
        return ()


def _never(setting: Setting) -> Rows:
    """Pairs of stations that must never run in parallel."""
    stations = setting.names.options("stations")
    known = dict(stations)

    def row(fragment: Fragment, at: Place) -> list[FormField | Rows]:
        labels = ("While this station runs", "this one cannot run")
        return [
            ChoiceField(at=(*at, place), label=label, options=stations, needed=True)
            for place, label in enumerate(labels)
        ]

    def title(member: Any, index: int) -> str:
        pair = type(member) is list and len(member) == 2
        names = (str(known.get(str(key), key)) for key in member) if pair else ()
        return " ∥ ".join(names) or f"Pair {index + 1}"

    declared = LINE.fields["forbidden_parallel"]
    return Rows(
        at=("forbidden_parallel",),
        label=declared.label,
        row=row,
        new=lambda fragment, kind: [key for key, _label in stations[:2]],
        title=title,
        add="Add a pair",
        empty="Branches of a fork may be anywhere at the same time.",
        help=declared.help,
        ordered=False,
        rest=False,
    )


def _policy(usual: Policy, setting: Setting) -> list[FormField | Rows]:
    return [
        control(LINE, (), "preset"),
        *(knob(name, usual) for name in ("no_rules", "no_match")),
        knob("on_failure", usual, routes(setting, "station")),
        knob("failure_rules", usual, make=LineYesNoField),
        knob("on_reject", usual, routes(setting, "route")),
    ]


def _limits(usual: Policy) -> list[FormField | Rows]:
    again = [(f"limit:{n}", f"At most {n} times again") for n in (*range(1, 11), 15, 20)]
    loops = [(str(n), f"At most {n} times") for n in (*range(11), 15, 20, 50)]
    return [
        knob("revisit", usual, again),
        knob("self_loop_limit", usual, loops, LoopsField),
        knob("on_exhausted", usual),
        control(POLICY, ("policy",), "visit_cap", placeholder=str(usual.visit_cap)),
    ]


def _data(usual: Policy) -> list[FormField | Rows]:
    return [
        *(knob(name, usual) for name in ("condition_scope", "contradiction")),
        *unplaced(FLAGS, ("flags",), ()),
    ]
