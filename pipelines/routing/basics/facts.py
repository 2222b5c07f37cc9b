"""`facts` of an outcome: what Gateline observed, apart from what was claimed (law §13). Each group and each of its keys
is declared here, once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from pipelines.routing.basics import shapes
from pipelines.routing.basics.problems import Malformed, join
from pipelines.routing.basics.values import is_number

Facts = Mapping[str, Mapping[str, Any]]
Read = Callable[[Any, str], Any]

SOURCE: Final = "source"
CLAIMS: Final = "claims"
PRICES: Final = ("reported", "table", "none")
PROVIDER: Final = ("answered", "unavailable")


def _amount(value: Any, path: str) -> Any:
    if value is not None and (not is_number(value) or value < 0):
        raise Malformed(path, "has to be a number, 0 or more")
    return value


def _share(value: Any, path: str) -> Any:
    if _amount(value, path) is not None and value > 100:
        raise Malformed(path, "has to be a share of 100")
    return value


def _texts(value: Any, path: str) -> list[str]:
    for index, member in enumerate(shapes.sequence(value, path)):
        if type(member) is not str:
            raise Malformed(join(path, index), "has to be a text")
    return value


def _price(value: Any, path: str) -> str | None:
    return shapes.word(value, path, PRICES)


def _provider(value: Any, path: str) -> str | None:
    return shapes.word(value, path, PROVIDER)


def _flag(value: Any, path: str) -> bool | None:
    if value is not None and type(value) is not bool:
        raise Malformed(path, "has to be true or false")
    return value


def _exit_code(value: Any, path: str) -> int | None:
    return shapes.integer(value, path)


def _counts(*keys: str) -> dict[str, Read]:
    return dict.fromkeys(keys, shapes.count)


GROUPS: Final[Mapping[str, Mapping[str, Read]]] = MappingProxyType(
    {
        "git": {
            **dict.fromkeys(("base", "head", "tree"), shapes.text),
            **_counts("commits", "files_changed", "insertions", "deletions"),
            "paths": _texts,
            "sensitive": _texts,
        },
        "commands": {**_counts("run", "failed", "denied"), "last_exit_code": _exit_code},
        "tests": _counts("passed", "failed", "skipped", "errors", "suites"),
        "findings": _counts("critical", "high", "medium", "low", "total"),
        "coverage": {"lines": _share, "branches": _share},
        "ci": _counts("pending", "failed", "passed"),
        "usage": {**_counts("tokens_in", "tokens_out"), "cost_usd": _amount, "price": _price},
        "agent": {
            **dict.fromkeys(("name", "version", "session"), shapes.text),
            "final_event": _flag,
            "provider": _provider,
        },
        CLAIMS: {"made": shapes.sequence, "contradicted": shapes.sequence},
    }
)
"""{group: {key: how it is read}}. `final_event`: false where the preset has one and it did not come; absent where it
has none. `provider`: unavailable where the model's provider did not answer. `coverage` in percent."""

OF_SOURCE: Final[Mapping[str, Read]] = MappingProxyType(
    {
        "station": shapes.text,
        "visit": shapes.count,
        "tree": shapes.text,
        "observed_by": shapes.text,
    }
)


def read(value: Any, path: str) -> dict[str, dict[str, Any]]:
    """Groups and keys that are known, with values of their kind; null is absent. Raises Malformed with the place."""
    found = shapes.mapping(value, path)
    shapes.only(found, path, tuple(GROUPS))
    return {
        group: _group(members, join(path, group), GROUPS[group])
        for group, members in found.items()
        if members is not None
    }


def _group(value: Any, path: str, keys: Mapping[str, Read]) -> dict[str, Any]:
    if type(value) is not dict:
        raise Malformed(path, "has to be an object")
    shapes.only(value, path, tuple(keys) if keys is OF_SOURCE else (*keys, SOURCE))
    return {
        key: keys[key](member, join(path, key)) if key != SOURCE else _source(member, join(path, key))
        for key, member in value.items()
        if member is not None
    }


def _source(value: Any, path: str) -> dict[str, Any]:
    return _group(value, path, OF_SOURCE)


def witnessed(facts: Facts, source: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Each group with who observed it, and on which tree: of git what it says itself, else what the observer saw."""
    tree = facts.get("git", {}).get("tree")
    return {
        group: {**members, SOURCE: {**members.get(SOURCE, {}), **source, **({"tree": tree} if tree else {})}}
        for group, members in facts.items()
    }


def claimed(kind: str, said: Mapping[str, Any], facts: Facts | None = None) -> dict[str, dict[str, Any]]:
    """The facts with one claim more. `kind`: `facts`, or `result` where a fact decided otherwise."""
    group = (facts or {}).get(CLAIMS, {})
    made = [*group.get("made", ()), {"kind": kind, **said}]
    return {**{key: dict(members) for key, members in (facts or {}).items()}, CLAIMS: {**group, "made": made}}


def as_claim(outcome: Any) -> Any:
    """An outcome from where nothing was observed: what it brings as facts is what it claims."""
    if type(outcome) is not dict or outcome.get("facts") is None:
        return outcome
    return {**outcome, "facts": claimed("facts", {"said": outcome["facts"]})}
