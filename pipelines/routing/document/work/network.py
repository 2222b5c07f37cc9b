"""Reach of the programs of a station: a key of every kind of work, since programs also run at stations of
other kinds, as hooks in conditions and tools of gates (house §5)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pipelines.routing.basics.problems import member_path
from pipelines.routing.basics.schema_parts import Schema, enum_schema, list_schema, object_schema
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.document.document_readers.names import KEY
from pipelines.routing.document.document_readers.reader import Problems, Reader, quoted_value
from pipelines.routing.document.fields.field import Field, ReadContext

NONE, OPEN = "none", "open"
EGRESS = "egress"
INPUT: Final = "input:"
"""Before the key of an input: the host of the repository that it names."""
HTTPS: Final = 443
MOST_HOSTS: Final = 100
LONGEST: Final = 253
_LABEL: Final = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
# 1 to 65535
_PORT: Final = "[1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]"
# What ends in a number is an address to programs, however it is written.
_NO_ADDRESS: Final = r"(?!(?:[^:]*\.)?(?:[0-9]+|0[xX][0-9a-fA-F]*)(?::|$))"
HOST: Final = rf"{_NO_ADDRESS}({_LABEL}(?:\.{_LABEL})*)(?::({_PORT}))?"


def name_and_port_of_host_or_none(text: str) -> tuple[str, int] | None:
    """Name in small letters, and port; None for what is no host."""
    match = re.fullmatch(HOST, text) if len(text) <= LONGEST else None
    return (match[1].lower(), int(match[2] or HTTPS)) if match else None


def egress_entries_or_none(network: Any) -> tuple[str, ...] | None:
    """The entries of a list of hosts as they are written; None where it is none."""
    if not isinstance(network, Mapping):
        return None
    entries = network.get(EGRESS)
    return tuple(str(entry) for entry in entries) if isinstance(entries, list | tuple) else ()


def input_keys(entries: Iterable[str]) -> tuple[str, ...]:
    """Keys of the inputs whose hosts are meant."""
    return tuple(entry.removeprefix(INPUT) for entry in entries if entry.startswith(INPUT))


@dataclass(frozen=True, kw_only=True)
class Network(Field):
    """None, open, or a list of hosts."""

    def read(self, reader: Reader, key: str, context: ReadContext) -> Any:
        value = reader.raw(key)
        if type(value) is dict:
            hosts = Reader(value, reader.path_of(key), reader.problems)
            if not hosts.has(EGRESS):
                hosts.note(EGRESS, "is missing")
            note_host_problems(hosts.texts(EGRESS), hosts.path_of(EGRESS), reader.problems)
            hosts.note_unknown_keys()
        elif value not in (NONE, OPEN):
            reader.note(key, _("has to be %(none)s, %(open)s or a list of hosts", none=NONE, open=OPEN))
        return value

    def schema(self) -> Schema:
        entry = {
            "type": "string",
            "maxLength": LONGEST,
            "pattern": f"^(?:{HOST}|{INPUT}[a-z0-9][a-z0-9_.-]{{0,63}})$",
        }
        hosts = object_schema((EGRESS,), **{EGRESS: list_schema(entry, maxItems=MOST_HOSTS)})
        about = "What the programs of the station may reach; none where nothing is said."
        return {"anyOf": [enum_schema((NONE, OPEN)), hosts], "description": about}


def note_host_problems(entries: Iterable[str], path: str, problems: Problems) -> None:
    for index, entry in enumerate(entries):
        at = member_path(path, index)
        if index >= MOST_HOSTS:
            problems.note(at, _("is more than %(most)s hosts", most=MOST_HOSTS))
            return
        if entry.startswith(INPUT):
            if not KEY.match(entry.removeprefix(INPUT)):
                problems.note(at, _("%(entry)s names no input", entry=quoted_value(entry)))
        elif name_and_port_of_host_or_none(entry) is None:
            message = _("%(entry)s is not the name of a host", entry=quoted_value(entry))
            problems.note(at, message, "write it like example.com or example.com:8443")
