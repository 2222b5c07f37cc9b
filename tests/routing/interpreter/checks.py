"""§6: the checks of a gate."""

from collections.abc import Mapping, Sequence
from typing import Any

from .paths import dotted
from .values import Json, holds_for, number, number_in

# "Actions proceed, hold, rework, abort; `notify` and `escalate` do not route."
# "abort > rework > hold > proceed"
WEIGHT = {"abort": 3, "rework": 2, "hold": 1, "proceed": 0, "notify": 0, "escalate": 0}

OPS = {
    "equals": "equals",
    "not_equals": "not_equals",
    "less_than": "lt",
    "less_than_or_equal": "lte",
    "greater_than": "gt",
    "greater_than_or_equal": "gte",
    "contains": "contains",
    "matches": "matches",
    "in": "in",
}

PARTS = ("output", "task", "input", "context", "variables", "usage", "gates", "run", "git", "meta", "facts")


def worst(actions: Sequence[str]) -> str:
    """The action that wins."""
    routed = [action if WEIGHT[action] else "proceed" for action in actions]
    return max(routed, key=lambda action: WEIGHT[action], default="proceed")


def action_of(group: Mapping[str, Any], fields: Mapping[str, Json]) -> str:
    """What the failed checks of a gate ask for; `proceed` when none that counts failed."""
    return worst(failed(group, fields) or [])


def failed(item: Mapping[str, Any], fields: Mapping[str, Json]) -> list[str] | None:
    """None = passed; else the actions of the failed checks (groups nest)."""
    if "all" not in item and "any" not in item:
        # "A check's `severity` absent = required, `action` absent = hold."
        return None if passes(item, fields) else [item.get("action") or "hold"]
    every = "all" in item
    # "Checks of severity `warn` are shown and belong to no group"
    members = counted(item)
    results = [failed(part, fields) for part in members]
    failures = [result for result in results if result is not None]
    # "a failed `any` group counts as its worst member, a passed one as nothing".
    if not results or (not failures if every else len(failures) < len(results)):
        return None
    return [action for failure in failures for action in failure]


def counted(group: Mapping[str, Any] | None) -> list[Mapping[str, Any]]:
    """ "Checks of severity `warn` are shown and belong to no group"; "a group without any member but warnings is no
    member of the group around it; a gate whose checks are all warnings has no checks"."""
    members: Sequence[Mapping[str, Any]] = (group or {}).get("all") or (group or {}).get("any") or ()
    return [
        part
        for part in members
        if (counted(part) if "all" in part or "any" in part else part.get("severity") != "warn")
    ]


def passes(check: Mapping[str, Any], fields: Mapping[str, Json]) -> bool:
    """One check."""
    found = look_up(check["field"], fields)
    if not found:  # "An unknown field or an absent value fails the check, `not_equals` included"
        return False
    value, wanted, operator = found[0], check.get("value"), check["operator"]
    if operator == "exists":  # "(ignores the value)"
        return True
    if operator == "in" and not isinstance(wanted, list):
        return False
    # "`eval` compares by its number with a number, in a list too (`in [7]`); with anything else as text"; an eval
    # that is no number is there nonetheless, and differs from every number.
    if check["field"] == "eval" and operator == "in":
        return any(holds_for("equals", beside(value, each), each) for each in wanted)
    if check["field"] == "eval":
        value = beside(value, wanted)
    return holds_for(OPS[operator], value, wanted)


def beside(text: str, wanted: Json) -> Json:
    """An eval as it compares with this value."""
    found = None if number(wanted) is None else number_in(text)
    return text if found is None else found


def look_up(name: str, fields: Mapping[str, Json]) -> list[Json]:
    """The value of a field, as a list of none or one."""
    if name in fields and name not in PARTS:
        return [] if fields[name] is None else [fields[name]]
    part, _, rest = name.partition(".")
    return dotted(fields[part], rest) if rest and part in PARTS and part in fields else []
