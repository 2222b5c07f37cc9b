"""The systems whose documents are known, in the order in which they are asked whether a document is theirs.

A document that says `gateline` is never one of them. Installed packages add systems behind these by the entry point
group `gateline.formats`, each a `ForeignSystem`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final

from pipelines.formats.foreign.aeef import AEEF
from pipelines.formats.foreign.alp import ALP
from pipelines.formats.foreign.contenox import CONTENOX
from pipelines.formats.foreign.flux import FLUX, FLUX_RECORD
from pipelines.formats.foreign.import_notes import ImportNotes, Json
from pipelines.formats.foreign.system import ForeignSystem
from pipelines.formats.foreign.vibe_factory import VIBE_FACTORY
from pipelines.routing.basics.plugins import PluginFault, load_plugins_or_faults, wrap_call_with_plugin_fault
from pipelines.routing.basics.problems import Problem
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.document.line import read_line

OWN: Final = (VIBE_FACTORY, ALP, CONTENOX, FLUX, FLUX_RECORD, AEEF)
GROUP: Final = "gateline.formats"
IMPORTED: Final = (
    "Gateline's own format begins with “gateline: 1”. Import this one at Lines › New line › From a file."
)
UNREAD: Final = "This tells of work that was done, and is no line. Import the playbook that it belongs to."


@dataclass(frozen=True)
class Recognition:
    """`path`: what gives the document away. `faults`: what installed packages raised before that."""

    system: ForeignSystem | None
    path: str = ""
    faults: tuple[Problem, ...] = ()

    @property
    def problems(self) -> list[Problem]:
        """Say that it seems to be a document of that system, for whoever reads documents of Gateline's own."""
        if self.system is None:
            return []
        hint = IMPORTED if self.system.read else UNREAD
        return [Problem(self.path, _("this seems to be %(what)s", what=self.system.what), hint)]


@cache
def systems_by_key() -> Mapping[str, ForeignSystem]:
    """Find them by key. What an installed package calls like one of these takes nothing from it."""
    own = {system.key: system for system in OWN}
    added = (made for _name, made in load_plugins_or_faults(GROUP) if isinstance(made, ForeignSystem))
    return own | {system.key: _guarded_system(system) for system in added if system.key not in own}


def _guarded_system(system: ForeignSystem) -> ForeignSystem:
    """Turn what it raises into PluginFault, also a document that is no line."""

    def read_to_line_document(source_document: Any, import_notes: ImportNotes) -> Json:
        document = system.read(source_document, import_notes) if system.read else {}
        return read_line(document, keep_faulty_rules=True).to_document()

    return replace(
        system,
        signs=tuple(wrap_call_with_plugin_fault(system.key, sign) for sign in system.signs),
        fault=wrap_call_with_plugin_fault(system.key, system.fault),
        read=system.read and wrap_call_with_plugin_fault(system.key, read_to_line_document),
        write=system.write and wrap_call_with_plugin_fault(system.key, system.write),
    )


def written_systems() -> Mapping[str, ForeignSystem]:
    return {key: system for key, system in systems_by_key().items() if system.write}


def recognise_system(document: Any) -> Recognition:
    """`document`: any JSON value."""
    if isinstance(document, Mapping) and "gateline" in document:
        return Recognition(None)
    faults = [
        Problem("", made.message)
        for _name, made in load_plugins_or_faults(GROUP)
        if isinstance(made, PluginFault)
    ]
    for system in systems_by_key().values():
        for sign in system.signs:
            try:
                path = sign(document)
            except PluginFault as fault:
                faults.append(Problem("", fault.message))
                continue
            if path is not None:
                return Recognition(system, path, tuple(faults))
    return Recognition(None, faults=tuple(faults))
