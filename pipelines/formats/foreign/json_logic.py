"""JSONLogic, as far as conditions of outputs can say it (C28)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

Json = dict[str, Any]
COMPARED: Final = {"==": "equals", "===": "equals", "!=": "not_equals", "!==": "not_equals",
                   "<": "lt", "<=": "lte", ">": "gt", ">=": "gte"}  # fmt: skip
TURNED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
DEEPEST: Final = 20


SIGNS: Final = frozenset(
    (
        *COMPARED,
        "!",
        "!!",
        "and",
        "or",
        "not",
        "if",
        "?:",
        "var",
        "missing",
        "missing_some",
        "max",
        "min",
        "+",
        "-",
        "*",
    )
    + ("/", "%", "map", "reduce", "filter", "all", "none", "some", "merge", "in", "cat", "substr", "log")
)


def is_logic(given: Any) -> bool:
    return isinstance(given, Mapping) and len(given) == 1 and next(iter(given)) in SIGNS


def condition(given: Any, depth: int = 0) -> Json | None:
    """None for what conditions cannot say."""
    if not isinstance(given, Mapping) or len(given) != 1 or depth > DEEPEST:
        return None
    [(sign, asked)] = given.items()
    members = asked if isinstance(asked, list) else [asked]
    if sign in ("and", "or"):
        inner = [condition(member, depth + 1) for member in members]
        return None if not inner or None in inner else {"all" if sign == "and" else "any": inner}
    if sign in ("!", "not") and len(members) == 1:
        found = condition(members[0], depth + 1)
        return None if found is None else {"not": found}
    if sign == "in" and len(members) == 2 and isinstance(members[1], list):
        path = _variable(members[0])
        return None if path is None else {"output": {"path": path, "op": "in", "value": members[1]}}
    if sign == "in" and len(members) == 2 and (path := _variable(members[1])) and isinstance(members[0], str):
        return {"output": {"path": path, "op": "contains", "value": members[0]}}
    if sign in ("<", "<=") and len(members) == 3:
        # Between: the two are apart here.
        pairs = [condition({sign: pair}, depth + 1) for pair in (members[:2], members[1:])]
        return None if None in pairs else {"all": pairs}
    if sign in COMPARED and len(members) == 2:
        left, right = members
        if _variable(left) is None and _variable(right) is not None:
            left, right, sign = right, left, TURNED.get(sign, sign)
        path = _variable(left)
        if path is not None and not isinstance(right, Mapping):
            return {"output": {"path": path, "op": COMPARED[sign], "value": right}}
    return None


def _variable(given: Any) -> str | None:
    name = given.get("var") if isinstance(given, Mapping) and given.keys() == {"var"} else None
    return name if isinstance(name, str) and name else None
