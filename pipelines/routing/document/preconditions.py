"""Requirements of a forward move out of a station, and the handoff (law §8)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pipelines.routing.basics import schema_parts
from pipelines.routing.basics.problems import member_path
from pipelines.routing.basics.schema_parts import Schema
from pipelines.routing.basics.values import kind_phrase
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.document.document_readers.reader import Reader, expected_hint, unknown_word_message
from pipelines.routing.document.fields.field import Field, ReadContext, WriteCondition
from pipelines.routing.document.handoffs import schema_faults

GATE_PASSED, HANDOFF, AGENT = "station_gate", "handoff", "agent"
METADATA = "metadata:"
STANDARD_REQUIREMENTS = (GATE_PASSED, HANDOFF, AGENT)
"""What `policy: {preconditions: yes}` asks of every station that says nothing else (AEEF E14). A requirement may also
be `metadata:<name>`. That no escalation is open is asked always."""


@dataclass(frozen=True, kw_only=True)
class Preconditions(Field):
    """Names of preconditions, each once: station_gate, handoff, agent, metadata:<name>. None where nothing is said; an
    empty list says that nothing is needed."""

    written: WriteCondition = WriteCondition.UNLESS_NONE
    label: str = "Needed to go forward"
    help: str = (
        "Comma-separated: station_gate, handoff, agent, metadata:NAME. Leave empty for the line's policy;"
        " [] for nothing."
    )
    placeholder: str = "handoff, metadata:AI-Usage"
    code: bool = True

    def read(self, reader: Reader, key: str, context: ReadContext) -> Any:
        value = reader.raw(key)
        if type(value) is not list:
            reader.note(key, _("has to be a list of texts, not %(value)s", value=kind_phrase(value)))
            return None
        requirements = []
        for index, member in enumerate(value):
            path = member_path(reader.path_of(key), index)
            if type(member) is not str:
                reader.problems.note(path, _("has to be a text, not %(member)s", member=kind_phrase(member)))
            elif member not in STANDARD_REQUIREMENTS and not _is_metadata_name(member):
                hint = expected_hint(member, (*STANDARD_REQUIREMENTS, f"{METADATA}<name>"))
                reader.problems.note(path, unknown_word_message(member), hint)
            else:
                requirements.append(member)
        return tuple(dict.fromkeys(requirements))

    def write(self, value: Any) -> Any:
        return None if value is None else list(value)

    def schema(self) -> Schema:
        metadata = {"type": "string", "pattern": f"^{METADATA}.*\\S"}
        return schema_parts.list_schema(
            {"anyOf": [schema_parts.enum_schema(STANDARD_REQUIREMENTS), metadata]}
        )


def _is_metadata_name(member: str) -> bool:
    return member.startswith(METADATA) and bool(member.removeprefix(METADATA).strip())


@dataclass(frozen=True, kw_only=True)
class HandoffSchema(Field):
    """The JSON Schema of handoff documents. None where nothing is said; an empty one says that anything may be handed
    over."""

    written: WriteCondition = WriteCondition.UNLESS_NONE
    label: str = "Schema of the handoff"
    help: str = "A JSON Schema; what the work hands to the next station has to be valid by it."
    placeholder: str = '{"type": "object", "required": ["change_summary"]}'
    rows: int = 4

    def read(self, reader: Reader, key: str, context: ReadContext) -> Any:
        schema = reader.object(key)
        for fault in schema_faults(schema):
            path = f"{reader.path_of(key)}.{fault.path}" if fault.path else reader.path_of(key)
            # The path of a fault in a list begins with its index: `handoff[0]`, not `handoff.[0]`.
            reader.problems.note(path.replace(".[", "["), fault.message, fault.hint)
        return schema

    def write(self, value: Any) -> Any:
        return None if value is None else dict(value)

    def schema(self) -> Schema:
        return {"type": "object", "description": "A JSON Schema of what is handed over."}
