"""What a forward move needs, as a station declares it, and the schema of handoffs (law §8)."""

from __future__ import annotations

from typing import Any

from pipelines.routing.basics.problems import join
from pipelines.routing.basics.values import named
from pipelines.routing.document.handoffs import schema_faults
from pipelines.routing.document.model import METADATA, STANDARD_REQUIREMENTS
from pipelines.routing.document.reading.reader import Reader, expected, quote


def read_requires(reader: Reader) -> tuple[str, ...] | None:
    """Names of preconditions, each once: station_gate, handoff, agent, metadata:<name>. None where nothing is said."""
    value = reader.raw("requires")
    if not reader.has("requires"):
        return None
    if type(value) is not list:
        reader.note("requires", f"has to be a list of texts, not {named(value)}")
        return None
    found = []
    for index, member in enumerate(value):
        path = join(reader.at("requires"), index)
        if type(member) is not str:
            reader.problems.note(path, f"has to be a text, not {named(member)}")
        elif member not in STANDARD_REQUIREMENTS and not _names_metadata(member):
            hint = expected(member, (*STANDARD_REQUIREMENTS, f"{METADATA}<name>"))
            reader.problems.note(path, f"{quote(member)} is not known", hint)
        else:
            found.append(member)
    return tuple(dict.fromkeys(found))


def _names_metadata(member: str) -> bool:
    return member.startswith(METADATA) and bool(member.removeprefix(METADATA).strip())


def read_handoff(reader: Reader) -> dict[str, Any] | None:
    """The JSON Schema of handoff documents; None where nothing is said."""
    if not reader.has("handoff"):
        return reader.raw("handoff")
    schema = reader.object("handoff")
    for fault in schema_faults(schema):
        path = f"{reader.at('handoff')}.{fault.path}" if fault.path else reader.at("handoff")
        reader.problems.note(path.replace(".[", "["), fault.message, fault.hint)
    return schema
