"""An object of the line document, put together from the declarations of its keys."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from pipelines.routing.basics import schema_parts
from pipelines.routing.basics.schema_parts import Schema
from pipelines.routing.basics.values import MISSING
from pipelines.routing.document.fields.field import FIELD, Around, Field, Written, says_something
from pipelines.routing.document.reading.reader import Reader

T = TypeVar("T")
Check = Callable[[Reader, Around], None]


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
        order = dict.fromkeys((*first, *fields))
        self._known = order
        self._read = [(key, fields[key]) for key in order]

    @classmethod
    def of(cls, made: type[T], **more: Any) -> Record[T]:
        """Of a dataclass whose attributes are declared."""
        attributes = dataclasses.fields(made)  # type: ignore[arg-type]
        return cls(
            made, {each.name: each.metadata[FIELD] for each in attributes if FIELD in each.metadata}, **more
        )

    def read(self, reader: Reader, around: Around) -> T:
        return self.make(**self.values(reader, around))

    def values(self, reader: Reader, around: Around) -> dict[str, Any]:
        """What its keys say, by the attributes that they fill."""
        given, values = reader.given, reader.values
        reader.known.update(self._known)
        for key, field in self._read:
            value = field.read(reader, key, around) if key in given else field.absent(reader, key, around)
            if field.fills:
                values.update(zip(field.fills, value, strict=True))
            else:
                values[key] = value
        if self._check is not None:
            self._check(reader, around)
        reader.done()
        return values

    def write(self, value: T) -> dict[str, Any]:
        document = {}
        for key, field in self.fields.items():
            held = tuple(getattr(value, name) for name in field.fills) if field.fills else getattr(value, key)
            said = field.write(held)
            if said is not MISSING and (field.written is Written.ALWAYS or _is_written(field, said)):
                document[key] = said
        return document

    def schema(self) -> Schema:
        required = tuple(key for key, field in self.fields.items() if field.required)
        return {
            **schema_parts.record(required, **{key: each.schema() for key, each in self.fields.items()}),
            **self.rules,
        }

    def reference(self) -> Schema:
        """As other schemas name it."""
        return schema_parts.ref(self.name) if self.name else self.schema()

    def definitions(self) -> dict[str, Schema]:
        """Its own schema and those inside it that have a name."""
        found = {self.name: self.schema()} if self.name else {}
        for field in self.fields.values():
            found.update(field.definitions())
        return found


def _is_written(field: Field, said: Any) -> bool:
    return says_something(said) if field.written is Written.UNLESS_EMPTY else said is not None
