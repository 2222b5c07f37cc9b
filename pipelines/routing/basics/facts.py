"""`facts` of an outcome: what Gateline observed, apart from what was claimed (law §13). Each group and each of its keys
is declared here, once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from pipelines.routing.basics import values
from pipelines.routing.basics.problems import Malformed, member_path
from pipelines.routing.basics.values import is_number

Facts = Mapping[str, Mapping[str, Any]]
Read = Callable[[Any, str], Any]

SOURCE: Final = "source"
CLAIMS: Final = "claims"
OUTPUT: Final = "output"
REPORT: Final = "report"
"""The kind of a claim that an agent made by its tool `report`."""
PRICES: Final = ("reported", "table", "none")
PROVIDER: Final = ("answered", "unavailable")
OF_RUN, OF_TASK, OF_MONTH = COST_LIMITS = ("run", "task", "month")


def read_amount(value: Any, path: str) -> Any:
    """Money. Raises Malformed."""
    if not is_number(value) or value < 0:
        raise Malformed(path, "has to be a number, 0 or more")
    return value


def _read_percentage(value: Any, path: str) -> Any:
    if read_amount(value, path) > 100:
        raise Malformed(path, "has to be a share of 100")
    return value


def _read_texts(value: Any, path: str) -> list[str]:
    for index, member in enumerate(values.read_sequence(value, path)):
        if type(member) is not str:
            raise Malformed(member_path(path, index), "has to be a text")
    return value


def _read_flag(value: Any, path: str) -> bool:
    if type(value) is not bool:
        raise Malformed(path, "has to be true or false")
    return value


KINDS: Final[Mapping[str, Read]] = {
    "count": values.read_count,
    "whole": values.read_integer_or_none,
    "amount": read_amount,
    "share": _read_percentage,
    "text": values.read_text,
    "texts": _read_texts,
    "list": values.read_sequence,
    "flag": _read_flag,
    "price": lambda value, path: values.read_word(value, path, PRICES),
    "cost limit": lambda value, path: values.read_word(value, path, COST_LIMITS),
    "provider": lambda value, path: values.read_word(value, path, PROVIDER),
}
"""What the value of a fact may be, and how it is read."""

GROUPS: Final[Mapping[str, Mapping[str, str]]] = {
    "git": {
        **dict.fromkeys(("base", "head", "tree", "lines"), "text"),
        **dict.fromkeys(("commits", "files_changed", "insertions", "deletions"), "count"),
        **dict.fromkeys(("paths", "sensitive"), "texts"),
    },
    "commands": {**dict.fromkeys(("run", "failed", "denied"), "count"), "last_exit_code": "whole"},
    "tests": dict.fromkeys(("passed", "failed", "skipped", "errors", "suites"), "count"),
    "findings": dict.fromkeys(("critical", "high", "medium", "low", "total"), "count"),
    "coverage": dict.fromkeys(("lines", "branches"), "share"),
    "ci": dict.fromkeys(("pending", "failed", "passed"), "count"),
    "prepare": {"cached": "flag", "seconds": "amount"},
    "usage": {
        **dict.fromkeys(("tokens_in", "tokens_out"), "count"),
        "cost_usd": "amount",
        "price": "price",
        "limit": "cost limit",
    },
    "agent": {
        **dict.fromkeys(("name", "version", "session"), "text"),
        "final_event": "flag",
        "provider": "provider",
        "error": "text",
    },
    OUTPUT: {"unreadable": "text", "refused": "text", "empty": "flag", "signal": "flag"},
    CLAIMS: dict.fromkeys(("made", "contradicted"), "list"),
}
"""{group: {key: kind}}. `final_event`: false where the preset has one and it did not come; absent where it has none.
`provider`: unavailable where the model's provider did not answer. `agent.error`: what an agent that reports success
says went wrong. `output.unreadable`: why output that is there could not be read, or only in part; `refused`: the words
of a model that refused; `empty`: a model or an agent answered nothing; `signal`: all that was read as output is the
line of a signal. `usage.limit`: which limit ended the run. `coverage`
in percent. `git.lines`: a digest of the changed lines wherever they stand, without blank ones (law §15, Sampling)."""

OF_SOURCE: Final[Mapping[str, str]] = {
    "station": "text",
    "visit": "count",
    "before": "text",
    "tree": "text",
    "observed_by": "text",
}
"""`before`: the tree that the visit began with."""

PATHS: Final = tuple(f"{group}.{key}" for group, keys in GROUPS.items() for key in keys)
"""Every single fact, as a condition names it."""


def read_observed_facts(value: Any, path: str) -> dict[str, dict[str, Any]]:
    """Groups and keys that are known, with values of their kind; null is absent. Raises Malformed with the place."""
    groups = values.read_mapping(value, path)
    values.check_keys(groups, path, tuple(GROUPS))
    return {
        group: _read_group(members, member_path(path, group), GROUPS[group])
        for group, members in groups.items()
        if members is not None
    }


def _read_group(value: Any, path: str, keys: Mapping[str, str]) -> dict[str, Any]:
    if type(value) is not dict:
        raise Malformed(path, "has to be an object")
    # Every group may have a source; the source itself has none.
    values.check_keys(value, path, tuple(keys) if keys is OF_SOURCE else (*keys, SOURCE))
    return {
        key: _read_group(member, member_path(path, key), OF_SOURCE)
        if key == SOURCE
        else KINDS[keys[key]](member, member_path(path, key))
        for key, member in value.items()
        if member is not None
    }


def facts_with_source(facts: Facts, source: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return each group with its observer, unless it names one itself, and the tree: of git the one it names,
    else the one that the observer saw."""
    tree = facts.get("git", {}).get("tree")
    return {
        group: {**members, SOURCE: {**source, **members.get(SOURCE, {}), **({"tree": tree} if tree else {})}}
        for group, members in facts.items()
    }


def facts_with_claim(
    kind: str, claim: Mapping[str, Any], facts: Facts | None = None
) -> dict[str, dict[str, Any]]:
    """The facts with one claim more. `kind`: `facts`, `report`, or `result` where a fact decided otherwise."""
    group = (facts or {}).get(CLAIMS, {})
    made = [*group.get("made", ()), {"kind": kind, **claim}]
    # Copies: facts are shared with the situation that was stored
    return {**{key: dict(members) for key, members in (facts or {}).items()}, CLAIMS: {**group, "made": made}}


def outcome_with_facts_as_claims(outcome: Any) -> Any:
    """An outcome from where nothing was observed: what it brings as facts is what it claims."""
    if type(outcome) is not dict or outcome.get("facts") is None:
        return outcome
    return {**outcome, "facts": facts_with_claim("facts", {"said": outcome["facts"]})}
