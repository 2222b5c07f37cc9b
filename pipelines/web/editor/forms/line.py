"""The line itself: name, description, and its policy, knob by knob, each with what the preset says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from pipelines.routing.document.line import PRESETS, Policy, Problem
from pipelines.routing.document.policy import DEFAULT_PRESET, POLICY
from pipelines.web.editor.forms import escalations, needs
from pipelines.web.editor.forms.fields import (
    ChoiceField,
    FlagField,
    FormField,
    NumberField,
    Options,
    TextField,
)
from pipelines.web.editor.forms.form import Fragment, Placed, Rows, Section, Setting, skeleton, with_rest
from pipelines.web.editor.forms.places import Place
from pipelines.web.editor.forms.words import reject_words, routes


@dataclass(frozen=True, kw_only=True)
class Preset(ChoiceField):
    """The usual one may be named, too."""

    def choices(self, shown: str) -> Options:
        usual = [(DEFAULT_PRESET, words) for value, words in self.options if not value]
        return [*usual, *self.options[1:]] if shown == DEFAULT_PRESET else super().choices(shown)


@dataclass(frozen=True, kw_only=True)
class LineYesNoField(ChoiceField):
    """Tools of YAML 1.1 make true and false of them."""

    def text(self, value: Any) -> str:
        return ("yes" if value else "no") if type(value) is bool else super().text(value)


@dataclass(frozen=True, kw_only=True)
class LoopsField(ChoiceField):
    """A whole number, or `none`."""

    def value(self, typed: str) -> Any:
        return int(typed) if typed.isascii() and typed.isdigit() else super().value(typed)


class LineForm:
    """The fragment is the document without what stands in forms of its own."""

    def sections(self, fragment: Fragment, setting: Setting) -> Sequence[Section]:
        preset = fragment.get("preset", DEFAULT_PRESET)
        usual = PRESETS[preset] if type(preset) is str and preset in PRESETS else PRESETS[DEFAULT_PRESET]
        starts = [("", _("The first station")), *setting.names.options("stations")]
        names: list[FormField | Rows] = [
            TextField(at=("name",), label=_("Name")),
            TextField(at=("description",), label=_("Description"), rows=3),
            ChoiceField(at=("start",), label=_("A task starts at"), options=starts),
        ]
        found = [
            Section(fields=names),
            Section(title=_("Policy: what happens otherwise"), fields=_policy(usual, setting), open=True),
            Section(title=_("Policy: circles and limits"), fields=_limits(usual)),
            Section(title=_("Policy: data"), fields=_data(usual)),
            *needs.of_line(usual, setting),
            escalations.of_line(usual, str(preset), setting),
            Section(title=_("Side by side"), fields=[_never(setting)]),
        ]
        words = _("What has no field of its own, as JSON: extra.")
        return with_rest(found, fragment, _("Everything else"), words)

    def place(self, fragment: Fragment, setting: Setting) -> Placed:
        whole = skeleton(setting.names)
        # What budgets name: in the form the rules of all stations stand at the first one.
        if whole["stations"]:
            whole["stations"][0]["rules"] = [
                {"id": rule, "to": "completed"} for rule in dict.fromkeys(setting.names.rules)
            ]
        beside = {key: value for key, value in whole.items() if key not in ("preset", "policy")}
        return Placed({**beside, **fragment, **beside}, beside=frozenset(beside))

    def more(self, fragment: Fragment, setting: Setting) -> Sequence[Problem]:
        return ()


def _never(setting: Setting) -> Rows:
    """Pairs of stations that must never run in parallel."""
    stations = setting.names.options("stations")
    known = dict(stations)

    def row(fragment: Fragment, at: Place) -> list[FormField | Rows]:
        labels = (_("While this station runs"), _("this one cannot run"))
        return [
            ChoiceField(at=(*at, place), label=label, options=stations, needed=True)
            for place, label in enumerate(labels)
        ]

    def title(member: Any, index: int) -> str:
        pair = type(member) is list and len(member) == 2
        names = (str(known.get(str(key), key)) for key in member) if pair else ()
        return " ∥ ".join(names) or _("Pair %d") % (index + 1)

    return Rows(
        at=("forbidden_parallel",),
        label=_("Stations that never run in parallel"),
        row=row,
        new=lambda fragment, kind: [key for key, _label in stations[:2]],
        title=title,
        add=_("Add a pair"),
        empty=_("Branches of a fork may be anywhere at the same time."),
        help=_("A fork that would bring both about is not published, and a move that would is refused."),
        ordered=False,
        rest=False,
    )


def presets() -> list[tuple[str, str]]:
    return [
        ("", _("alp: on in order, a failure ends it")),
        ("contenox", _("contenox: fails where no rule takes it")),
        ("vibe-factory", _("vibe-factory: no station twice")),
        ("flux", _("flux: else the blocked route")),
        ("aeef", _("aeef: escalate, with limits")),
    ]


def _knob(
    name: str, label: str, usual: Policy, options: list[tuple[str, str]], hint: str = ""
) -> ChoiceField:
    """A knob of the policy; left out it is as the preset says, which the first option spells out."""
    value = POLICY.write(usual).get(name, "no")
    said = dict(options).get(str(value), str(value))
    kind = {"self_loop_limit": LoopsField, "failure_rules": LineYesNoField}.get(name, ChoiceField)
    return kind(
        at=("policy", name),
        label=label,
        help=hint,
        options=[("", _("Preset: %s") % (said[:1].lower() + said[1:])), *options],
    )


def _policy(usual: Policy, setting: Setting) -> list[FormField | Rows]:
    escalate, stuck, fallback = (
        _("It is escalated"),
        _("It is stuck, until somebody helps"),
        _("It takes the blocked route"),
    )
    return [
        Preset(
            at=("preset",),
            label=_("Preset"),
            help=_("Sets everything left open below."),
            options=presets(),
        ),
        _knob(
            "no_rules",
            _("A station without rules"),
            usual,
            [
                ("advance", _("The next one, or completed")),
                ("end", _("The task is completed")),
                ("refuse", _("Refused: it needs rules")),
            ],
        ),
        _knob(
            "no_match",
            _("No rule takes a passed outcome"),
            usual,
            [
                ("default", _("The next station in order")),
                ("fail", _("The task fails")),
                ("stuck", stuck),
                ("fallback", fallback),
                ("escalate", escalate),
            ],
        ),
        _knob(
            "on_failure",
            _("No rule takes a failure"),
            usual,
            [
                ("halt", _("The task fails")),
                ("stuck", stuck),
                ("escalate", escalate),
                ("fallback", fallback),
                *routes(setting, "station"),
            ],
        ),
        _knob(
            "failure_rules",
            _("Rules are asked about failures"),
            usual,
            [("yes", _("Yes")), ("no", _("No: a failure follows the setting above"))],
        ),
        _knob(
            "on_reject", _("After a rejection at a gate"), usual, [*reject_words(), *routes(setting, "route")]
        ),
    ]  # fmt: skip


def _limits(usual: Policy) -> list[FormField | Rows]:
    again = [(f"limit:{n}", _("At most %d times again") % n) for n in (*range(1, 11), 15, 20)]
    loops = [(str(n), _("At most %d times") % n) for n in (*range(11), 15, 20, 50)]
    return [
        _knob(
            "revisit",
            _("Coming to a station again"),
            usual,
            [("allow", _("Allowed")), ("forbid", _("Never: the task is stuck")), *again],
        ),
        _knob(
            "self_loop_limit",
            _("A rule back to its own station"),
            usual,
            [("none", _("No limit of its own")), *loops],
            _("Where the rule says no number itself."),
        ),
        _knob(
            "on_exhausted",
            _("A limit is used up"),
            usual,
            [
                ("fail", _("The task fails")),
                ("stuck", _("It is stuck, until somebody helps")),
                ("escalate", _("It is escalated")),
            ],
        ),
        NumberField(
            at=("policy", "visit_cap"),
            label=_("Most visits of one station by one task"),
            help=_("Regardless of the rules. Beyond it, the task is stuck."),
            placeholder=str(usual.visit_cap),
        ),
    ]


def _data(usual: Policy) -> list[FormField | Rows]:
    return [
        _knob(
            "condition_scope",
            _("Conditions read"),
            usual,
            [
                ("current", _("The output of the station")),
                ("merged", _("What all stations said so far, the last word counting")),
            ],
        ),
        _knob(
            "contradiction",
            _("Branches that say different things under one key"),
            usual,
            [("later_wins", _("The later one counts")), ("escalate", _("It is escalated"))],
        ),
        FlagField(
            at=("flags", "agentic_conditions"),
            label=_("Conditions may ask an evaluator or a hook"),
            help=_("Needed for agentic and hook conditions."),
        ),
    ]
