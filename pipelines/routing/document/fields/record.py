"""An object of the line document, put together from the declarations of its keys."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, Generic, Self, TypeVar

from pipelines.routing.basics import schema_parts
from pipelines.routing.basics.schema_parts import Schema
from pipelines.routing.basics.values import MISSING
from pipelines.routing.document.document_readers.reader import Reader
from pipelines.routing.document.fields.field import FIELD, Field, ReadContext, WriteCondition

T = TypeVar("T")
EMPTY: Final[tuple[Any, ...]] = ("", [], {})
Check = Callable[[Reader, ReadContext], None]


class Record(Generic[T]):
    """`name`: of its schema, which other objects refer to by it; without one it stands where it is used. `first`: the
    keys that are read before the others, which depend on them. `check` notes what several keys say together;
    `reader.values` holds them. `rules`: the same for the schema."""

    def __init__(
        self,
        make: Callable[..., T],
        fields: Mapping[str, Field],
        *,
        name: str = "",
        first: tuple[str, ...] = (),
        check: Check | None = None,
        rules: Schema | None = None,
    ) -> None:
        self.make = make
        self.fields = dict(fields)
        self.name = name
        self.rules = rules or {}
        self._check = check
        self._known = dict.fromkeys((*first, *fields))
        self._read = [(key, fields[key], _is_conditional(fields[key])) for key in self._known]
        self._usual = {key: field.default for key, field in fields.items() if _has_fixed_default(field)}
        self._written = [(key, field, _field_writer_or_none(field)) for key, field in fields.items()]

    @classmethod
    def of(cls, made: type[T], **more: Any) -> Self:
        """Create the record of a dataclass whose attributes are declared."""
        attributes = dataclasses.fields(made)  # type: ignore[arg-type]
        return cls(
            made,
            {
                attribute.name: attribute.metadata[FIELD]
                for attribute in attributes
                if FIELD in attribute.metadata
            },
            **more,
        )

    def read(self, reader: Reader, context: ReadContext) -> T:
        return self.make(**self.values(reader, context))

    def values(self, reader: Reader, context: ReadContext) -> dict[str, Any]:
        """Return the values of the object's keys, by the attributes that they fill."""
        document, values, usual = reader.given, reader.values, self._usual
        known = reader.known = self._known.copy()
        # Defaults first: most keys are absent, and those then cost no call.
        values.update(usual)
        for key, field, conditional in self._read:
            if conditional and not field.applies(reader, key):
                del known[key]
                values[key] = field.default
                continue
            if key in document:
                value = field.read(reader, key, context)
            elif key in usual:
                continue
            else:
                value = field.absent_value(reader, key, context)
            if field.fills:
                values.update(zip(field.fills, value, strict=True))
            else:
                values[key] = value
        if self._check is not None:
            self._check(reader, context)
        reader.note_unknown_keys()
        return values

    def write(self, value: T) -> dict[str, Any]:
        document = {}
        hold = value.get if isinstance(value, Mapping) else partial(getattr, value)
        for key, field, write in self._written:
            serialized = tuple(map(hold, field.fills)) if field.fills else hold(key)
            if write is not None:
                serialized = write(serialized)
            if serialized is MISSING or (serialized is None and field.written is not WriteCondition.ALWAYS):
                continue
            # `is not False`, as 0 equals False, and 0 is written.
            if field.written is not WriteCondition.UNLESS_EMPTY or (
                serialized is not False and serialized not in EMPTY
            ):
                document[key] = serialized
        return document

    def schema(self) -> Schema:
        required = tuple(key for key, field in self.fields.items() if field.required)
        return {
            **schema_parts.object_schema(
                required, **{key: field.schema() for key, field in self.fields.items()}
            ),
            **self.rules,
        }

    def reference(self) -> Schema:
        """Return the schema as other schemas refer to it."""
        return schema_parts.definition_reference(self.name) if self.name else self.schema()

    def definitions(self) -> dict[str, Schema]:
        """Its own schema and those inside it that have a name."""
        schemas = {self.name: self.schema()} if self.name else {}
        for field in self.fields.values():
            schemas.update(field.definitions())
        return schemas


def _is_conditional(field: Field) -> bool:
    return type(field).applies is not Field.applies


def _has_fixed_default(field: Field) -> bool:
    """Return whether an absent key always means the same."""
    return type(field).absent_value is Field.absent_value and not (
        field.required or field.fills or _is_conditional(field)
    )


def _field_writer_or_none(field: Field) -> Callable[[Any], Any] | None:
    """None where the value is written as it is."""
    return None if type(field).write is Field.write else field.write
