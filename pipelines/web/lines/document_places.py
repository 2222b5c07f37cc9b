"""What a path of a document leads through: “stations[2].rules[0].when” is a rule. A draft may hold anything."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

PATH = re.compile(r"(stations|gates)\[(\d+)\](?:\.rules\[(\d+)\])?\.?")


@dataclass(frozen=True, slots=True)
class PathParts:
    """`what`: stations, gates, or "" where the path leads through neither. `number`: of the rule, from 1, or None.
    `rest`: what comes after."""

    what: str = ""
    member: Mapping[str, Any] = field(default_factory=dict)
    number: int | None = None
    rule: Mapping[str, Any] = field(default_factory=dict)
    rest: str = ""


def parts_of(document: object, path: str) -> PathParts:
    found = PATH.match(path)
    if found is None:
        return PathParts(rest=path)
    what, index, rule = found.groups()
    member = member_of(document, what, int(index))
    rest = path[found.end() :]
    if rule is None:
        return PathParts(what, member, rest=rest)
    return PathParts(what, member, int(rule) + 1, member_of(member, "rules", int(rule)), rest)


def member_of(of: object, name: str, index: int) -> Mapping[str, Any]:
    """Of a list; nothing where there is no such object."""
    members = of.get(name) if isinstance(of, Mapping) else None
    member = members[index] if isinstance(members, list) and index < len(members) else None
    return member if isinstance(member, Mapping) else {}
