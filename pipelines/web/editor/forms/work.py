"""What a station's work says, as fields: those of the keys of its kind (`pipelines/routing/document/kinds`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.utils.translation import gettext as _

from pipelines.routing.document.kinds import KINDS
from pipelines.routing.document.kinds.manual import Form
from pipelines.routing.document.kinds.tools import Calls, Policy, Tools
from pipelines.routing.document.work.keys import Key
from pipelines.web.editor.forms import inputs, places, tools
from pipelines.web.editor.forms.fields import Choice, Field, Number
from pipelines.web.editor.forms.form import Fragment, Rows, Section, Setting
from pipelines.web.editor.forms.keys import field_of, said
from pipelines.web.editor.forms.places import MISSING

Items = list[Field | Rows]


def known(kind: str) -> tuple[str, ...]:
    """What a kind of work reads, besides `kind`."""
    found = KINDS.get(kind)
    if found is None:
        return ()
    return (*(key.name for key in found.keys), *(("network",) if found.executes else ()))


def sections(kind: str, fragment: Fragment, setting: Setting) -> list[Section]:
    """The fields of a kind in the order in which it wants them; none where it has no keys."""
    found = KINDS.get(kind)
    if found is None or not found.keys:
        return []
    work = places.get(fragment, ("work",))
    given = work if type(work) is dict else {}
    by_name = {key.name: key for key in found.keys}
    shown = [by_name[name] for name in found.fields or by_name]
    fields = [each for key in shown if not key.hidden(given) for each in _fields(key, fragment, setting)]
    return [Section(title=said(found.title), help=said(found.help), fields=fields, open=True)]


def _fields(key: Key, fragment: Fragment, setting: Setting) -> Items:
    make = SEVERAL.get(type(key))
    return make(key, fragment) if make else [field_of(key, ("work",), setting)]


def _form(key: Form, fragment: Fragment) -> Items:
    at = ("work", key.name)
    value = places.get(fragment, at)
    rows = inputs.rows(at, said(key.label), said(key.add), said(key.empty))
    return [rows] if type(value) is list or value is MISSING else []


SEVERAL: Mapping[type[Key], Callable[[Any, Fragment], Items]] = {
    Form: _form,
    Tools: tools.tools,
    Calls: tools.calls,
    Policy: tools.policy,
}
"""Keys that are more than one field; every other has its own in `keys`."""


def reach(fragment: Fragment) -> Section:
    """What the programs of a station may reach and use."""
    network = places.get(fragment, ("work", "network"))
    # What is usual may also be written out.
    usual = "none" if network == "none" else ""
    choice = Choice(
        at=("work", "network"),
        label=_("Network"),
        help=_("Programs without the network cannot fetch, and code of a repository cannot send."),
        options=[(usual, _("None")), ("open", _("Open"))],
    )
    numbers = [
        Number(
            at=("resources", "cpu_seconds"), label=_("Processor time (s)"), help=_("Of all its processes.")
        ),
        Number(at=("resources", "memory_mb"), label=_("Memory (MB)")),
        Number(at=("resources", "processes"), label=_("Processes")),
        Number(
            at=("resources", "disk_mb"),
            label=_("Disk (MB)"),
            help=_("Leave empty for the worker's own limits. A station that exceeds one fails."),
        ),
    ]
    shown = [choice, *numbers] if network in (MISSING, "none", "open") else numbers
    return Section(title=_("Network and resources"), fields=shown)
