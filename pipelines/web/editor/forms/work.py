"""Fields of a station's work: those of the keys of its kind (`pipelines/routing/document/kinds`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipelines.routing.document.kinds import KINDS
from pipelines.routing.document.kinds.manual import FormKey
from pipelines.routing.document.kinds.tools import CallPolicyKey, ToolsKey
from pipelines.routing.document.stations import RESOURCES
from pipelines.routing.document.work.keys import GateKey, StationKey, WorkKey
from pipelines.routing.document.work.kind import Kind
from pipelines.routing.document.work.network import EGRESS, NONE, OPEN
from pipelines.web.editor.forms import fragment_paths, inputs, tools
from pipelines.web.editor.forms.declared_fields import declared_control, remaining_fields
from pipelines.web.editor.forms.fields import ChoiceField, FormField, ListedField
from pipelines.web.editor.forms.form import FormSetting, Fragment, Rows, Section
from pipelines.web.editor.forms.fragment_paths import MISSING

Items = list[FormField | Rows]


def work_keys(kind: str) -> tuple[str, ...]:
    """Return the keys that a kind of work reads, besides `kind`."""
    work_kind = KINDS.get(kind)
    if work_kind is None:
        return ()
    return (*work_kind.keys, *(("network",) if work_kind.executes else ()))


def work_sections(kind: str, fragment: Fragment, setting: FormSetting) -> list[Section]:
    """The fields of a kind in the order in which it wants them; none where it has no keys."""
    work_kind = KINDS.get(kind)
    if work_kind is None or not work_kind.keys:
        return []
    work = fragment_paths.value_at(fragment, ("work",))
    values = work if type(work) is dict else {}
    visible_keys = [
        name for name in work_kind.fields or work_kind.keys if not work_kind.keys[name].hidden(values)
    ]
    fields = [field for name in visible_keys for field in _key_fields(work_kind, name, fragment, setting)]
    return [
        Section(
            title=work_kind.title, help=work_kind.help if work_kind.help else "", fields=fields, open=True
        )
    ]


def _key_fields(kind: Kind, name: str, fragment: Fragment, setting: FormSetting) -> Items:
    key = kind.keys[name]
    make = SEVERAL.get(type(key))
    if make is not None:
        return make(kind, name, fragment)
    if isinstance(key, StationKey):
        return [declared_control(kind.record, ("work",), name, options=_station_options(key, setting))]
    if isinstance(key, GateKey):
        gates = [("", key.none), *setting.names.options("gates")]
        return [declared_control(kind.record, ("work",), name, options=gates)]
    return [declared_control(kind.record, ("work",), name)]


def _station_options(key: StationKey, setting: FormSetting) -> list[tuple[str, str]]:
    known = [
        (station.key, station.name or station.key)
        for station in setting.names.stations
        if station.kind == key.kind
    ]
    return [("", key.none), *known]


def _form_rows(kind: Kind, name: str, fragment: Fragment) -> Items:
    key, at = kind.keys[name], ("work", name)
    assert isinstance(key, FormKey)
    value = fragment_paths.value_at(fragment, at)
    rows = inputs.input_rows(at, key.label, key.add, key.empty)
    return [rows] if type(value) is list or value is MISSING else []


SEVERAL: Mapping[type[WorkKey], Callable[[Kind, str, Fragment], Items]] = {
    FormKey: _form_rows,
    ToolsKey: tools.tool_rows,
    CallPolicyKey: tools.policy_fields,
}
"""Keys that are more than one field; every other has its own in `declared_fields`."""


@dataclass(frozen=True, kw_only=True)
class NetworkField(ChoiceField):
    """A list of hosts stands under the word of its key."""

    def control_values_for_fragment(self, fragment: Any) -> list[str]:
        return (
            [EGRESS]
            if type(fragment_paths.value_at(fragment, self.at)) is dict
            else super().control_values_for_fragment(fragment)
        )

    def with_typed(self, fragment: Any, typed: Sequence[str]) -> Any:
        if list(typed) != [EGRESS]:
            return super().with_typed(fragment, typed)
        stands = fragment_paths.value_at(fragment, self.at)
        # Chosen again, the hosts that are listed stay.
        return fragment_paths.fragment_with_value_at(
            fragment, self.at, stands if type(stands) is dict else {EGRESS: []}
        )


@dataclass(frozen=True, kw_only=True)
class HostsField(ListedField):
    """An emptied list is still a list: an agent reaches its model without an entry."""

    needed: bool = True


def network_section(fragment: Fragment) -> Section:
    """Return the section on what the programs of a station may reach and use."""
    at = ("work", "network")
    network = fragment_paths.value_at(fragment, at)
    # What is usual may also be written out.
    usual = NONE if network == NONE else ""
    choice = NetworkField(
        at=at,
        label="Network",
        help="Without it, programs cannot download, and the repository’s code cannot send anything.",
        options=[(usual, "None"), (EGRESS, "Listed hosts"), (OPEN, "Open")],
    )
    hosts = HostsField(
        at=(*at, EGRESS),
        label="Hosts",
        help=_hosts_help(fragment_paths.value_at(fragment, ("work",))),
        placeholder="packages.example.com\ngit.example.com:8443\ninput:repository",
        rows=3,
        code=True,
    )
    # What else a draft holds there is left to JSON.
    known = network in (MISSING, NONE, OPEN) or type(network) is dict
    fields: Items = [
        *([choice] if known else []),
        *([hosts] if type(network) is dict else []),
        *remaining_fields(RESOURCES, ("resources",), ()),
    ]
    return Section(title="Network and resources", fields=fields)


def _hosts_help(work: Any) -> str:
    help_text = "One per line, over https. input:repository is the host of that input’s repository."
    kind = KINDS.get(str(work.get("kind"))) if type(work) is dict else None
    own = kind.hosts(work) if kind else ()
    if not own:
        return help_text
    return help_text + " " + f"The agent also reaches {', '.join(own)}."
