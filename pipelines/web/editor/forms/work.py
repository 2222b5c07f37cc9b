"""What a station's work says, as fields: those of the keys of its kind (`pipelines/routing/document/kinds`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from django.utils.translation import gettext as _

from pipelines.routing.document.kinds import KINDS
from pipelines.routing.document.kinds.manual import FormKey
from pipelines.routing.document.kinds.tools import CallPolicy, Tools
from pipelines.routing.document.stations import RESOURCES
from pipelines.routing.document.work.keys import GateOf, StationOf, WorkKey
from pipelines.routing.document.work.kind import Kind
from pipelines.web.editor.forms import inputs, places, tools
from pipelines.web.editor.forms.declared import control, unplaced
from pipelines.web.editor.forms.fields import ChoiceField, FormField
from pipelines.web.editor.forms.form import Fragment, Rows, Section, Setting
from pipelines.web.editor.forms.places import MISSING

Items = list[FormField | Rows]


def known(kind: str) -> tuple[str, ...]:
    """What a kind of work reads, besides `kind`."""
    found = KINDS.get(kind)
    if found is None:
        return ()
    return (*found.keys, *(("network",) if found.executes else ()))


def sections(kind: str, fragment: Fragment, setting: Setting) -> list[Section]:
    """The fields of a kind in the order in which it wants them; none where it has no keys."""
    found = KINDS.get(kind)
    if found is None or not found.keys:
        return []
    work = places.get(fragment, ("work",))
    given = work if type(work) is dict else {}
    shown = [name for name in found.fields or found.keys if not found.keys[name].hidden(given)]
    fields = [each for name in shown for each in _fields(found, name, fragment, setting)]
    return [Section(title=_(found.title), help=_(found.help) if found.help else "", fields=fields, open=True)]


def _fields(kind: Kind, name: str, fragment: Fragment, setting: Setting) -> Items:
    key = kind.keys[name]
    make = SEVERAL.get(type(key))
    if make is not None:
        return make(kind, name, fragment)
    if isinstance(key, StationOf):
        return [control(kind.record, ("work",), name, options=_stations(key, setting))]
    if isinstance(key, GateOf):
        gates = [("", _(key.none)), *setting.names.options("gates")]
        return [control(kind.record, ("work",), name, options=gates)]
    return [control(kind.record, ("work",), name)]


def _stations(key: StationOf, setting: Setting) -> list[tuple[str, str]]:
    known = [(each.key, each.name or each.key) for each in setting.names.stations if each.kind == key.kind]
    return [("", _(key.none)), *known]


def _form(kind: Kind, name: str, fragment: Fragment) -> Items:
    key, at = kind.keys[name], ("work", name)
    assert isinstance(key, FormKey)
    value = places.get(fragment, at)
    rows = inputs.rows(at, _(key.label), _(key.add), _(key.empty))
    return [rows] if type(value) is list or value is MISSING else []


SEVERAL: Mapping[type[WorkKey], Callable[[Kind, str, Fragment], Items]] = {
    FormKey: _form,
    Tools: tools.tools,
    CallPolicy: tools.policy,
}
"""Keys that are more than one field; every other has its own in `declared`."""


def reach(fragment: Fragment) -> Section:
    """What the programs of a station may reach and use."""
    network = places.get(fragment, ("work", "network"))
    # What is usual may also be written out.
    usual = "none" if network == "none" else ""
    choice = ChoiceField(
        at=("work", "network"),
        label=_("Network"),
        help=_("Programs without the network cannot fetch, and code of a repository cannot send."),
        options=[(usual, _("None")), ("open", _("Open"))],
    )
    numbers = unplaced(RESOURCES, ("resources",), ())
    shown = [choice, *numbers] if network in (MISSING, "none", "open") else numbers
    return Section(title=_("Network and resources"), fields=shown)
