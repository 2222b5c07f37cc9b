"""Several stations together: what all of them have alike is shown, and what is set here is set at each."""

from __future__ import annotations

from collections.abc import Sequence

from pipelines.routing.document.kinds import KINDS
from pipelines.routing.document.line import Problem
from pipelines.routing.document.stations import LIMITS, STATION
from pipelines.web.editor.forms import limits
from pipelines.web.editor.forms.declared_fields import declared_control, remaining_fields
from pipelines.web.editor.forms.fields import FormField
from pipelines.web.editor.forms.form import (
    FormSetting,
    Fragment,
    PlacedFragment,
    Rows,
    Section,
    skeleton_document,
)

WORKERS = ("agent", "requires")
"""Who works there: the fields that may be the same at several stations."""
KEYS = ("limits", "gate", *WORKERS, "labels")
"""Keys of a station that are set at several at once: what the canvas puts into the fragment."""


class SeveralStationsForm:
    """Form for several stations at once. `setting.own`: their keys, separated by spaces."""

    def sections(self, fragment: Fragment, setting: FormSetting) -> Sequence[Section]:
        gates = [("", "No gate"), *setting.names.options("gates")]
        workers = [field for field in limits.station_section(setting).fields if field.at[0] in WORKERS]
        bounds: list[FormField | Rows] = [
            declared_control(LIMITS, ("limits",), key) for key in ("max_timeout", "idle_timeout")
        ]
        fields = [
            *bounds,
            *remaining_fields(LIMITS, ("limits",), bounds),
            declared_control(STATION, (), "gate", options=gates),
            *workers,
        ]
        # Labels choose a runner, so they are of kinds that run somewhere.
        if all(kind in KINDS and _has_labels(kind) for kind in self._station_kinds(setting)):
            fields.append(declared_control(STATION, (), "labels"))
        return [Section(fields=fields)]

    def placed_fragment(self, fragment: Fragment, setting: FormSetting) -> PlacedFragment:
        own = set(setting.own.split())
        rest = [station for station in setting.names.stations if station.key not in own]
        # Their work is no matter of this form: of the first kind of it, and as if it were complete.
        kind = next(iter(self._station_kinds(setting)), "noop")
        key = next(iter(own), "several")
        bare = skeleton_document(setting.names, stations=[])
        stations = [{"key": station.key, "work": {"kind": "noop"}} for station in rest]
        document = {**bare, "stations": [*stations, {"key": key, "work": {"kind": kind}, **fragment}]}
        return PlacedFragment(document, f"stations[{len(rest)}]", beside=frozenset({"work", "rules"}))

    def extra_problems(self, fragment: Fragment, setting: FormSetting) -> Sequence[Problem]:
        return ()

    def _station_kinds(self, setting: FormSetting) -> list[str]:
        own = set(setting.own.split())
        return [station.kind for station in setting.names.stations if station.key in own]


def _has_labels(kind: str) -> bool:
    return KINDS[kind].executes or KINDS[kind].calls
