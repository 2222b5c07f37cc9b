"""Parts that a path of a document leads through: “stations[2].rules[0].when” is a rule. A draft may hold
anything, and so may the document of another system."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.utils.text import capfirst

# `rules[0].when` is `rules`, `[0]` and `when`.
STEP = re.compile(r"[^.\[\]]+|\[\d+\]")
# `maxRetries` is `max` and `Retries`, `HTTPCode` is `HTTP` and `Code`.
WORD = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")
NAMING = ("name", "label", "title")
# `stations[2].rules[0].when` or `gates[1].mode`, without the last step
PATH = re.compile(r"(stations|gates)\[(\d+)\](?:\.rules\[(\d+)\])?\.?")


@dataclass(frozen=True, slots=True)
class PathParts:
    """Parts of a path. `what`: stations, gates, or "" where the path leads through neither. `number`: of the
    rule, from 1, or None. `rest`: the remainder of the path."""

    what: str = ""
    member: Mapping[str, Any] = field(default_factory=dict)
    number: int | None = None
    rule: Mapping[str, Any] = field(default_factory=dict)
    rest: str = ""


def path_parts(document: object, path: str) -> PathParts:
    match = PATH.match(path)
    if match is None:
        return PathParts(rest=path)
    what, index, rule = match.groups()
    member = list_member(document, what, int(index))
    rest = path[match.end() :]
    if rule is None:
        return PathParts(what, member, rest=rest)
    return PathParts(what, member, int(rule) + 1, list_member(member, "rules", int(rule)), rest)


def list_member(of: object, name: str, index: int) -> Mapping[str, Any]:
    """Return the member of a list; an empty object where there is none."""
    members = of.get(name) if isinstance(of, Mapping) else None
    member = members[index] if isinstance(members, list) and index < len(members) else None
    return member if isinstance(member, Mapping) else {}


def path_text(document: object, path: str) -> str:
    """A place in a document of another system, of whose fields no form speaks: “Security · Rule 2 · Max retries”. What
    has a name is said by it, a member without one by its number. Before a colon a path has the name of a file."""
    file, colon, inner = path.rpartition(": ")
    parts: list[str] = [file] if colon else []
    at, last = document, ""
    for step in STEP.findall(inner):
        if step.startswith("["):
            index = int(step[1:-1])
            at = at[index] if isinstance(at, list) and index < len(at) else None
            if name := _member_name(at):
                # The name of the member takes the place of that of the list.
                parts[-1:] = [name]
            elif last:
                parts[-1:] = [f"{_singular_name(last)} {index + 1}"]
            else:
                parts.append(str(index + 1))
            continue
        at = at.get(step) if isinstance(at, Mapping) else None
        last = capfirst(" ".join(map(_lower_word, WORD.findall(step))) or step)
        parts.append(last)
    return " · ".join(parts)


def _lower_word(word: str) -> str:
    """An abbreviation keeps its letters."""
    return word if len(word) > 1 and word.isupper() else word.lower()


def _member_name(member: object) -> str:
    names = (member.get(key) for key in NAMING) if isinstance(member, Mapping) else ()
    return next((name for name in names if isinstance(name, str) and name.strip()), "")


def _singular_name(many: str) -> str:
    """A list is called by many of its members."""
    return f"{many[:-3]}y" if many.endswith("ies") else many.removesuffix("s")
