"""Requirements of a gate: the roles, groups, people and owners of stations that it asks, and how many of them
(law §6)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

from pipelines.routing.basics import schema_parts
from pipelines.routing.basics.schema_parts import Schema
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.document.document_readers.names import note_unknown_reference
from pipelines.routing.document.document_readers.reader import Reader
from pipelines.routing.document.fields.field import ReadContext, WriteCondition
from pipelines.routing.document.fields.nested import ListField
from pipelines.routing.document.fields.plain_fields import Count, Text
from pipelines.routing.document.fields.record import Record

MAX_VOTES: Final = 100


@dataclass(frozen=True)
class Requirement:
    """`count` votes of people with this role, in this group, of this user, or of the owner of this station. `kind`:
    role, group, user, owner. `everyone`: all of them; then `count` is 1, the least that it takes. `agent`: of an owner,
    the key of the agent that the station names; whoever answers for it is asked. Of two agents each has one."""

    kind: str
    name: str
    count: int = 1
    everyone: bool = False
    agent: str = ""

    @property
    def lookup_key(self) -> str:
        """Key by which people of this kind are looked up: the agent where an owner is asked."""
        return self.agent if self.kind == OWNER else self.name

    @property
    def place_count(self) -> int:
        """Places that one person each fills. Whoever is asked as one of all takes none: they may fill another."""
        return 0 if self.everyone else self.count


OWNER: Final = "owner"
EVERYONE: Final = "all"
"""As a count: everybody who is asked."""
REQUIREMENTS: Final = {
    "role": "Role",
    "group": "Group",
    "user": "Person",
    OWNER: "Owner of a station",
}
ONE_PERSON: Final = ("user", OWNER)


@dataclass(frozen=True, kw_only=True)
class ApproverCount(Count):
    """A number of people, or all of them."""

    def schema(self) -> Schema:
        return {"anyOf": [super().schema(), {"const": EVERYONE}]}


class RequirementRecord(Record[Requirement]):
    """Named by its kind: `{role: reviewer, count: 1}`."""

    def __init__(self) -> None:
        names = {kind: Text(required=True, longest=150, label=words) for kind, words in REQUIREMENTS.items()}
        count = ApproverCount(
            least=1,
            most=MAX_VOTES,
            default=1,
            label="How many of them",
            help="A number, or all: then everybody who is asked has to approve.",
            placeholder="1",
        )
        super().__init__(Requirement, {**names, "count": count})

    def read(self, reader: Reader, context: ReadContext) -> Requirement:
        kinds = [kind for kind in REQUIREMENTS if reader.has(kind)]
        if len(kinds) != 1:
            reader.problems.note(
                reader.path, _("has to name one of %(kinds)s", kinds=", ".join(REQUIREMENTS))
            )
            return Requirement("role", "")
        [kind] = kinds
        name = self.fields[kind].read(reader, kind, context)
        if kind == OWNER:
            note_unknown_reference(reader, kind, name, context.names.stations, "station")
        everyone, count = self._is_everyone_and_count(reader, kind)
        reader.note_unknown_keys()
        # The agent that works there, so that a decision finds its owner
        agents = context.names.agents.get(name) if kind == OWNER else None
        return Requirement(kind, name, count, everyone, agents[0] if agents else "")

    def _is_everyone_and_count(self, reader: Reader, kind: str) -> tuple[bool, int]:
        """Return whether all are asked, and the minimum count."""
        if reader.has("count") and reader.raw("count") == EVERYONE:
            if kind in ONE_PERSON:
                reader.note("count", _("is at most %(most)s", most="1 for one person"))
            return kind not in ONE_PERSON, 1
        count = reader.count("count", 1, least=1) or 1
        if count > (1 if kind in ONE_PERSON else MAX_VOTES):
            most = "1 for one person" if kind in ONE_PERSON else MAX_VOTES
            reader.note("count", _("is at most %(most)s", most=most))
        return False, count

    def write(self, value: Requirement) -> dict[str, Any]:
        # An owner is one of all only where the station names two agents; documents say a count.
        everyone = value.everyone and value.kind != OWNER
        return {value.kind: value.name, "count": EVERYONE if everyone else value.count}

    def schema(self) -> Schema:
        count = self.fields["count"].schema()
        kinds = [
            schema_parts.object_schema((kind,), **{kind: self.fields[kind].schema(), "count": count})
            for kind in REQUIREMENTS
        ]
        return {"oneOf": kinds}


REQUIREMENT: Final = RequirementRecord()
ONE_REVIEWER: Final = (Requirement("role", "reviewer"),)


@dataclass(frozen=True, kw_only=True)
class Approvers(ListField):
    default: tuple[Any, ...] = ONE_REVIEWER
    least: int = 1
    written: WriteCondition = WriteCondition.ALWAYS

    def read(self, reader: Reader, key: str, context: ReadContext) -> Any:
        if reader.given[key] == []:
            reader.note(key, "names nobody", "leave the key out for one reviewer")
        read = super().read(reader, key, context) or self.default
        return tuple(owner for need in read for owner in _owner_requirements(need, context))

    def write(self, value: Any) -> Any:
        written = super().write(value)
        return [
            requirement
            for number, requirement in enumerate(written)
            # Both owners of a station came from one requirement.
            if OWNER not in requirement or requirement not in written[:number]
        ]


def _owner_requirements(need: Requirement, context: ReadContext) -> list[Requirement]:
    """Ask both owners of a station that names two agents. One person may be both, so neither takes a place."""
    agents = context.names.agents.get(need.name, ()) if need.kind == OWNER else ()
    return [replace(need, agent=agent, everyone=True) for agent in agents] if len(agents) > 1 else [need]
