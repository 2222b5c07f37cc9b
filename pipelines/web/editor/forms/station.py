"""A station without its rules: name and key, its work, what it leaves, its limits, gate and join."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from pipelines.routing.document.expected_results import ARTIFACT, OUTCOME_OF
from pipelines.routing.document.kinds import DEFAULT, KINDS, TABLE
from pipelines.routing.document.line import Problem
from pipelines.routing.document.stations import JOIN, LIMITS, STATION
from pipelines.web.editor.forms import fragment_paths, inputs, limits, work
from pipelines.web.editor.forms.declared_fields import declared_control, remaining_fields
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


@dataclass(frozen=True, kw_only=True)
class StationKindField(ChoiceField):
    """Field for the kind of work. Keys that the new kind does not know are removed."""

    def with_typed(self, fragment: Any, typed: Sequence[str]) -> Any:
        kind = typed[0] if typed else ""
        if kind == fragment_paths.value_at(fragment, self.at):
            return fragment
        changed = _work_of_kind(kind, fragment_paths.value_at(fragment, ("work",)))
        return fragment_paths.fragment_with_value_at(fragment, ("work",), changed)

    def describe_write(self, fragment: Any) -> dict[str, Any]:
        # All options at once: one by one each would look for what it changes in the whole fragment
        before = fragment_paths.value_at(fragment, ("work",))
        present = (
            before.get("kind", fragment_paths.MISSING) if type(before) is dict else fragment_paths.MISSING
        )
        return FormField.describe_write(self, fragment) | {
            "options": {
                kind: {"at": "work", "value": _work_of_kind(kind, before)}
                for kind, _words in self.options
                if kind != present
            }
        }


def _work_of_kind(kind: str, before: Any) -> dict[str, Any]:
    """Return the work with another kind, without the keys that this does not know."""
    values = before if type(before) is dict else {}
    return {"kind": kind, **{key: values[key] for key in work.work_keys(kind) if key in values}}


class StationForm:
    def sections(self, fragment: Fragment, setting: FormSetting) -> Sequence[Section]:
        kind = fragment_paths.value_at(fragment, ("work", "kind"))
        kind = kind if type(kind) is str else DEFAULT.key if kind is fragment_paths.MISSING else ""
        sections = [
            Section(fields=_name_fields(kind, fragment)),
            *work.work_sections(kind, fragment, setting),
            _result_section(kind),
            *_expectation_sections(kind, fragment),
            _limits_section(),
            _gate_section(fragment, setting),
            limits.station_section(setting),
        ]
        known = KINDS.get(kind)
        if known and known.executes:
            sections.append(work.network_section(fragment))
        if known and (known.executes or known.calls):
            sections.append(Section(title="Where it runs", fields=[declared_control(STATION, (), "labels")]))
        placed = [field for section in sections for field in section.fields]
        # These have a place above, only for the kinds that know them.
        further = remaining_fields(
            STATION, (), placed, excluded_keys=("labels", "result_document", "expects")
        )
        sections[0] = replace(sections[0], fields=[*sections[0].fields, *further])
        words = "What has no field of its own, as JSON."
        # The name is the title of the inspector, and written there.
        title_place = [("name",)] if type(fragment.get("name")) is str else []
        return sections_with_uncovered_rest(sections, fragment, "Everything else", words, *title_place)

    def placed_fragment(self, fragment: Fragment, setting: FormSetting) -> PlacedFragment:
        rest = other_skeletons(setting.names.stations, setting.own)
        document = skeleton_document(setting.names, stations=[*rest, fragment])
        return PlacedFragment(document, f"stations[{len(rest)}]", beside=frozenset({"rules"}))

    def extra_problems(self, fragment: Fragment, setting: FormSetting) -> Sequence[Problem]:
        return inputs.problems_of_input_defaults(fragment, ("work", "form"))


def _name_fields(kind: str, fragment: Fragment) -> list[FormField | Rows]:
    return [
        declared_control(STATION, (), "key", covers=("",)),
        StationKindField(
            at=("work", "kind"),
            label="Kind of work",
            help=KINDS[kind].about if kind in KINDS else "",
            options=[(kind.key, kind.name) for kind in TABLE],
            covers=("work",) if type(fragment_paths.value_at(fragment, ("work",))) is dict else (),
        ),
    ]


def _result_section(kind: str) -> Section:
    fields: list[FormField | Rows] = [
        declared_control(STATION, (), key) for key in ("result_document", "output_keys")
    ]
    return Section(
        # Without a result document the keys of the output remain.
        title="Result",
        fields=fields if kind in KINDS and KINDS[kind].result_document else fields[1:],
    )


def _expectation_sections(kind: str, fragment: Fragment) -> list[Section]:
    """Return the section on the station's expected results, and what follows without them."""
    by_workers = kind in KINDS and KINDS[kind].is_done_by_workers
    has_expectations = any(key in fragment for key in ("expects", "outcome_of", "artifacts"))
    if not by_workers and not has_expectations:
        return []
    fields: list[FormField | Rows] = [declared_control(STATION, (), "expects"), _artifact_rows()]
    return [
        Section(
            title="What is expected",
            help="Gateline checks this itself, whatever the work claims.",
            fields=[*fields, *remaining_fields(OUTCOME_OF, ("outcome_of",), ())],
        )
    ]


def _artifact_rows() -> Rows:
    return Rows(
        at=("artifacts",),
        label="Files that it leaves",
        row=lambda fragment, place: remaining_fields(ARTIFACT, place, ()),
        new=lambda fragment, kind: {"path": ""},
        title=lambda member, index: (
            (type(member) is dict and str(member.get("path") or "")) or f"File {index + 1}"
        ),
        add="Add a file",
        empty="None is expected.",
        ordered=False,
    )


def _limits_section() -> Section:
    fields: list[FormField | Rows] = [
        declared_control(LIMITS, ("limits",), key) for key in ("max_timeout", "idle_timeout")
    ]
    return Section(title="Limits", fields=[*fields, *remaining_fields(LIMITS, ("limits",), fields)])


def _gate_section(fragment: Fragment, setting: FormSetting) -> Section:
    gates = [("", "No gate"), *setting.names.options("gates")]
    stations = [option for option in setting.names.options("stations") if option[0] != setting.own]
    fields: list[FormField | Rows] = [
        declared_control(STATION, (), "gate", options=gates),
        declared_control(JOIN, ("join",), "wait_for", SeveralField, whole=("join",), options=stations),
    ]
    if fragment_paths.value_at(fragment, ("join",)) is not fragment_paths.MISSING:
        fields += remaining_fields(JOIN, ("join",), fields)
    return Section(title="Gate and join", fields=fields)
