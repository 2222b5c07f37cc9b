"""A station without its rules: name and key, its work, what it leaves, its limits, gate and join."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from pipelines.routing.document.kinds import DEFAULT, KINDS, TABLE
from pipelines.routing.document.line import Problem
from pipelines.web.editor.forms import inputs, needs, places, work
from pipelines.web.editor.forms.fields import (
    ChoiceField,
    DurationField,
    FormField,
    ListedField,
    NumberField,
    SeveralField,
    TextField,
)
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


@dataclass(frozen=True, kw_only=True)
class StationKindField(ChoiceField):
    """Of work. What the new kind does not know goes with the old one."""

    def written(self, fragment: Any, typed: Sequence[str]) -> Any:
        kind = typed[0] if typed else ""
        if kind == places.get(fragment, self.at):
            return fragment
        before = places.get(fragment, ("work",))
        kept = {key: before[key] for key in work.known(kind) if type(before) is dict and key in before}
        return places.put(fragment, ("work",), {"kind": kind, **kept})


@dataclass(frozen=True, kw_only=True)
class JoinOf(SeveralField):
    """Without a station to wait for there is no join."""

    def written(self, fragment: Any, typed: Sequence[str]) -> Any:
        return super().written(fragment, typed) if typed else places.put(fragment, ("join",), places.MISSING)


class StationForm:
    def sections(self, fragment: Fragment, setting: Setting) -> Sequence[Section]:
        kind = places.get(fragment, ("work", "kind"))
        kind = kind if type(kind) is str else DEFAULT.key if kind is places.MISSING else ""
        found = [
            Section(fields=_names(kind, fragment)),
            *work.sections(kind, fragment, setting),
            _result(kind),
            _limits(),
            _gate_and_join(fragment, setting),
            needs.of_station(setting),
        ]
        known = KINDS.get(kind)
        if known and known.executes:
            found.append(work.reach(fragment))
        if known and (known.executes or known.calls):
            labels = ListedField(
                at=("labels",),
                label=_("Labels"),
                help=_("Comma-separated. Only a runner that has all of them runs this station."),
                between=",",
            )
            found.append(Section(title=_("Where it runs"), fields=[labels]))
        words = _("What has no field of its own, as JSON.")
        # The name is the title of the inspector, and written there.
        named = [("name",)] if type(fragment.get("name")) is str else []
        return with_rest(found, fragment, _("Everything else"), words, *named)

    def place(self, fragment: Fragment, setting: Setting) -> Placed:
        rest = others(setting.names.stations, setting.own)
        whole = skeleton(setting.names, stations=[*rest, fragment])
        return Placed(whole, f"stations[{len(rest)}]", beside=frozenset({"rules"}))

    def more(self, fragment: Fragment, setting: Setting) -> Sequence[Problem]:
        return inputs.wrong_defaults(fragment, ("work", "form"))


def _names(kind: str, fragment: Fragment) -> list[FormField | Rows]:
    return [
        TextField(
            at=("key",),
            label=_("Key"),
            help=_("Rules name the station so. What leads here follows a new key."),
            needed=True,
            code=True,
            covers=("",),
        ),
        StationKindField(
            at=("work", "kind"),
            label=_("Kind of work"),
            help=_(KINDS[kind].about) if kind in KINDS else "",
            options=[(kind.key, _(kind.name)) for kind in TABLE],
            covers=("work",) if type(places.get(fragment, ("work",))) is dict else (),
        ),
    ]


def _result(kind: str) -> Section:
    options = [
        ("", _("Not asked for")),
        ("optional", _("Read, if the work writes one")),
        ("required", _("Required: without one the outcome is blocked")),
    ]
    fields: list[FormField | Rows] = [
        ChoiceField(
            at=("result_document",),
            label=_("Result document"),
            help=_("A JSON file that the work writes to the path in GATELINE_RESULT."),
            options=options,
        ),
        ListedField(
            at=("output_keys",),
            label=_("Keys of the output"),
            help=_("Comma-separated. Only these are kept."),
            between=",",
        ),
    ]
    return Section(
        title=_("Result"), fields=fields if kind in KINDS and KINDS[kind].result_document else fields[1:]
    )


def _limits() -> Section:
    return Section(
        title=_("Limits"),
        fields=[
            DurationField(
                at=("limits", "max_timeout"),
                label=_("Timeout"),
                help=_("Then it is cancelled, and the rules decide."),
            ),
            DurationField(
                at=("limits", "idle_timeout"),
                label=_("No-output timeout"),
                help=_("Time without any output."),
            ),
            DurationField(
                at=("limits", "expected"),
                label=_("Expected duration"),
                help=_("The board shows what is late."),
            ),
            NumberField(
                at=("limits", "max_visits"),
                label=_("Most visits of one task"),
                help=_("Beyond it, the policy for used-up limits decides."),
            ),
            NumberField(
                at=("limits", "max_retries"),
                label=_("Most reworks that it may ask for"),
                help=_("When the work itself signals rework. 3 where nothing is said."),
            ),
        ],
    )


def _gate_and_join(fragment: Fragment, setting: Setting) -> Section:
    gates = [("", _("No gate")), *setting.names.options("gates")]
    stations = [each for each in setting.names.options("stations") if each[0] != setting.own]
    fields: list[FormField | Rows] = [
        ChoiceField(
            at=("gate",),
            label=_("Gate of the station"),
            help=_("Asked before the rules, whatever the outcome."),
            options=gates,
        ),
        JoinOf(
            at=("join", "wait_for"),
            label=_("Joins the branches from"),
            help=_("A fork ends here: the station waits for all of these."),
            options=stations,
        ),
    ]
    if places.get(fragment, ("join",)) is not places.MISSING:
        # What is usual may also be written out.
        usual = "all-pass" if places.get(fragment, ("join", "aggregation")) == "all-pass" else ""
        fields.append(
            ChoiceField(
                at=("join", "aggregation"),
                label=_("Continues when"),
                options=[
                    (usual, _("all branches passed")),
                    ("any-pass", _("one branch passed")),
                    ("majority-pass", _("more than half passed")),
                    ("none", _("all have come, whatever they say")),
                ],
            )
        )
    return Section(title=_("Gate and join"), fields=fields)
