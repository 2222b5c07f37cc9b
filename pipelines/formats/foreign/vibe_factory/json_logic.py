"""JSONLogic, as far as conditions of outputs can say it (C28), by the meaning of its reference (json-logic-js)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from pipelines.routing.basics import jsontext
from pipelines.routing.basics.values import is_number

Json = dict[str, Any]
ORDERED: Final = {"<": "lt", "<=": "lte", ">": "gt", ">=": "gte"}
TURNED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
EQUAL: Final = {"==": False, "===": False, "!=": True, "!==": True}
"""Whether it denies."""
FALSY: Final[tuple[Any, ...]] = (None, False, 0, "", [])
SIGNS: Final = frozenset(
    (
        *(
            *ORDERED,
            *EQUAL,
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
        ),
        *("min", "+", "-", "*", "/", "%", "map", "reduce", "filter", "all", "none", "some", "merge", "in"),
        *("cat", "substr", "log"),
    )
)
DEEPEST: Final = 20
_PLAIN: Final = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_INDEX: Final = re.compile(r"0|[1-9][0-9]{0,8}", re.ASCII)
LOOSE: Final = (
    "“==” and “!=” compare strictly here: 3 is not “3”, true is not 1, nothing is not 0, a list is not its member."
    " Write “===” or “!==” where that is meant"
)
NUMBERS: Final = (
    "only numbers have an order here: nothing, true and “3” are neither less nor greater than a number"
)
PLACES: Final = "a variable does not look into texts here, nor at the length of texts and lists"
INHERITED: Final = frozenset(
    (
        *("constructor", "__proto__", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable"),
        *("toLocaleString", "toString", "valueOf", "__defineGetter__", "__defineSetter__"),
        *("__lookupGetter__", "__lookupSetter__"),
    )
)
"""What every object has in JavaScript."""
INHERITS: Final = "a variable has no members here that nobody gave it, such as “constructor”"
PRECISE: Final = 10**15
"""From here on numbers are rounded there."""


class InexpressibleLogic(ValueError):
    """Conditions cannot say it."""


def is_json_logic(logic: Any) -> bool:
    return isinstance(logic, Mapping) and len(logic) == 1 and next(iter(logic)) in SIGNS


def logic_condition(logic: Any, different: list[str], depth: int = 0) -> Json:
    """Return the condition under which `logic` is true of an output. `different`: gets what is decided
    otherwise. Raises InexpressibleLogic."""
    if not isinstance(logic, Mapping) or len(logic) != 1 or depth > DEEPEST:
        raise InexpressibleLogic
    [(sign, operands)] = logic.items()
    members = operands if isinstance(operands, list) else [operands]
    if sign == "var":
        return {"not": _falsy_test(_variable_path(logic, different))}
    if sign in ("and", "or") and members:
        inner = [logic_condition(member, different, depth + 1) for member in members]
        return {"all" if sign == "and" else "any": inner}
    if sign in ("!", "!!") and len(members) == 1:
        [part] = [logic_condition(member, different, depth + 1) for member in members]
        # Denied twice is the condition itself.
        return part.get("not", {"not": part}) if sign == "!" else part
    if sign in ("<", "<=") and len(members) == 3:
        # Between: the two are apart here.
        return {
            "all": [logic_condition({sign: pair}, different, depth) for pair in (members[:2], members[1:])]
        }
    if len(members) != 2:
        raise InexpressibleLogic
    if sign == "in":
        return _membership_test(members[0], members[1], different)
    left, right = members
    if isinstance(right, Mapping):
        # 3 < x is x > 3: here the path stands on the left.
        left, right, sign = right, left, TURNED.get(sign, sign)
    return _comparison_document(_variable_path(left, different), sign, right, different)


def _comparison_document(path: str, sign: str, value: Any, different: list[str]) -> Json:
    if sign in ORDERED and is_number(value) and _is_exact_leaf(value):
        different.append(NUMBERS)
        return {"output": {"path": path, "op": ORDERED[sign], "value": value}}
    if sign not in EQUAL or not _is_exact_leaf(value):
        raise InexpressibleLogic
    # “==” and “!=” convert types there; those of three signs do not.
    if len(sign) == 2:
        different.append(LOOSE)
    equal: Json = {"output": {"path": path, "op": "equals", "value": value}}
    if value is None:
        equal = _test_or_missing(path, equal)
    return {"not": equal} if EQUAL[sign] else equal


def _is_exact_leaf(value: Any) -> bool:
    """Return whether a value is no list and no object, and no number that is rounded there."""
    return -PRECISE < value < PRECISE if is_number(value) else value is None or isinstance(value, bool | str)


def _membership_test(part: Any, container: Any, different: list[str]) -> Json:
    if isinstance(container, list) and all(map(_is_exact_leaf, container)):
        path = _variable_path(part, different)
        test: Json = {"output": {"path": path, "op": "in", "value": container}}
        return _test_or_missing(path, test) if None in container else test
    if isinstance(part, str) and part:
        return {"output": {"path": _variable_path(container, different), "op": "contains", "value": part}}
    raise InexpressibleLogic


def _test_or_missing(path: str, test: Json) -> Json:
    """Return a test that also accepts a missing value, which is null."""
    return {"any": [{"output": {"path": path, "op": "missing"}}, test]}


def _falsy_test(path: str) -> Json:
    return _test_or_missing(path, {"output": {"path": path, "op": "in", "value": list(FALSY)}})


def _variable_path(logic: Any, different: list[str]) -> str:
    """The path of a variable, step by step: a name with dots is never one key. Raises InexpressibleLogic."""
    name = logic.get("var") if isinstance(logic, Mapping) and logic.keys() == {"var"} else None
    if isinstance(name, list) and len(name) == 1:
        [name] = name
    if not isinstance(name, str) or not name:
        raise InexpressibleLogic
    steps = name.split(".")
    if any(step == "length" or _INDEX.fullmatch(step) for step in steps):
        different.append(PLACES)
    if not INHERITED.isdisjoint(steps):
        different.append(INHERITS)
    return name if len(steps) == 1 and _PLAIN.fullmatch(name) else f"${''.join(map(_path_step, steps))}"


def _path_step(name: str) -> str:
    if _PLAIN.fullmatch(name):
        return f".{name}"
    quoted = jsontext.quoted(name)
    # A number is a place of a list, or a key.
    return f"[{name}, {quoted}]" if _INDEX.fullmatch(name) else f"[{quoted}]"
