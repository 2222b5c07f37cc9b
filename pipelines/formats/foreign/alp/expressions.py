"""The expressions with which a gate's tool of ALP is judged: `summary.errors == 0 && findings[] < 3`, as conditions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from pipelines.routing.basics import jsontext

Json = dict[str, Any]
OPERATORS: Final = {
    "==": "equals",
    "!=": "not_equals",
    "<": "lt",
    "<=": "lte",
    ">": "gt",
    ">=": "gte",
    "in": "in",
    "contains": "contains",
}
ORDERED: Final = ("lt", "lte", "gt", "gte")
# Characters of an expression, and how deep its brackets nest
LONGEST, DEEPEST = 2_000, 20
_NAME = r"[A-Za-z_][\w-]*"
# &&, >=, "text", ["a", "b"], -1.5, summary.errors, or findings[] for a size
_TOKEN: Final = re.compile(
    rf"""\s*(?:(?P<sign>&&|\|\||==|!=|<=|>=|<|>|!|\(|\))
    |(?P<text>"(?:[^"\\]|\\.)*"|'[^'\\]*')|(?P<list>\[[^\[\]]*\])
    |(?P<number>-?\d[\d.eE+-]*)|(?P<name>{_NAME}(?:\.{_NAME})*)(?P<size>\[\])?)""",
    re.VERBOSE | re.ASCII,
)
_WORDS: Final = ("true", "false", "null")


class ExpressionError(ValueError):
    """It is no expression, or conditions cannot say it."""


def parsed_condition(text: Any) -> Json:
    """Raises ExpressionError."""
    if not isinstance(text, str) or len(text) > LONGEST:
        raise ExpressionError
    reading = _ExpressionParser(list(_expression_tokens(text.strip())))
    condition, _there = reading.parse_condition_and_needs(0)
    if reading.rest:
        raise ExpressionError
    return condition


def _expression_tokens(text: str) -> Iterator[tuple[str, str]]:
    at = 0
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            raise ExpressionError
        at = token.end()
        kind = "size" if token["size"] else str(token.lastgroup)
        yield kind, token[0].strip()


class _ExpressionParser:
    """Reading of an expression. Each part gives its condition, and what has to be there for it: where
    something is missing, an expression is false, a denied one too."""

    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        # Reversed, so that `pop` takes the next token.
        self.rest = tokens[::-1]

    def _consume_if_next(self, *words: str) -> bool:
        if self.rest and self.rest[-1][1] in words and self.rest[-1][0] in ("sign", "name"):
            self.rest.pop()
            return True
        return False

    def _next_kind_and_token(self) -> tuple[str, str]:
        if not self.rest:
            raise ExpressionError
        return self.rest.pop()

    def parse_condition_and_needs(self, depth: int) -> tuple[Json, list[Json]]:
        return self._parse_operands_and_needs("||", "any", depth)

    def _parse_operands_and_needs(self, sign: str, word: str, depth: int) -> tuple[Json, list[Json]]:
        parts, there = [], []
        while True:
            part, needs = (
                self._parse_operands_and_needs("&&", "all", depth)
                if sign == "||"
                else self._parse_operand_and_needs(depth)
            )
            parts.append(part)
            there += needs
            if not self._consume_if_next(sign):
                return (parts[0] if len(parts) == 1 else {word: parts}), there

    def _parse_operand_and_needs(self, depth: int) -> tuple[Json, list[Json]]:
        denied = self._consume_if_next("!")
        if not self._consume_if_next("("):
            # “!” stands before brackets only.
            if denied:
                raise ExpressionError
            return self._parse_comparison_and_needs()
        if depth >= DEEPEST:
            raise ExpressionError
        inner, there = self.parse_condition_and_needs(depth + 1)
        if not self._consume_if_next(")"):
            raise ExpressionError
        if denied:
            inner = {
                "all": [*(test for at, test in enumerate(there) if test not in there[:at]), {"not": inner}]
            }
        return inner, there

    def _parse_comparison_and_needs(self) -> tuple[Json, list[Json]]:
        kind, path = self._next_kind_and_token()
        sign, value = self._next_kind_and_token()[1], self._parse_literal()
        op = OPERATORS.get(sign)
        if (
            kind not in ("name", "size")
            or path in _WORDS
            or op is None
            or (op == "in") != isinstance(value, list)
        ):
            raise ExpressionError
        if kind == "size":
            path = path.removesuffix("[]")
            a_list = {"output": {"path": path, "op": "type", "value": "array"}}
            # A name with a hyphen has to be quoted in a JSONPath.
            counted = {
                "path": f"$.{path}[*]" if "-" not in path else _json_path_of_elements(path),
                "op": op,
                "value": value,
            }
            # Without the test a missing list would count as 0, and `findings[] < 3` would be true.
            return {"all": [a_list, {"output": {**counted, "of": "count"}}]}, [a_list]
        needs = {"op": "type", "value": "number"} if op in ORDERED else {"op": "exists"}
        return {"output": {"path": path, "op": op, "value": value}}, [{"output": {"path": path, **needs}}]

    def _parse_literal(self) -> Any:
        kind, literal = self._next_kind_and_token()
        if kind == "text" and literal[0] == "'":
            return literal[1:-1]
        if kind in ("text", "list", "number") or literal in _WORDS:
            try:
                return jsontext.loads(literal)
            except jsontext.JsonTextError:
                raise ExpressionError from None
        raise ExpressionError


def _json_path_of_elements(path: str) -> str:
    return "$" + "".join(f"['{name}']" for name in path.split(".")) + "[*]"


def condition_expression(condition: Json) -> str:
    """Raises ExpressionError."""
    text = _expression_text(condition)
    # Only what reads back to the same condition has a spelling.
    if parsed_condition(text) != condition:
        raise ExpressionError
    return text


def _expression_text(condition: Any) -> str:
    if not isinstance(condition, dict) or len(condition) != 1:
        raise ExpressionError
    [(word, inner)] = condition.items()
    if word == "output" and isinstance(inner, dict) and inner.get("op") in OPERATORS.values():
        sign = next(sign for sign, op in OPERATORS.items() if op == inner["op"])
        path = inner["path"]
        if inner.get("of") == "count":
            path = (
                re.sub(
                    r"^\.", "", re.sub(r"\['([\w.-]*)'\]", r".\1", path.removeprefix("$").removesuffix("[*]"))
                )
                + "[]"
            )
        return f"{path} {sign} {jsontext.dumps(inner.get('value'))}"
    if word not in ("all", "any") or not isinstance(inner, list) or not inner:
        raise ExpressionError
    if word == "all" and isinstance(inner[-1], dict) and "not" in inner[-1]:
        return f"!({_expression_text(inner[-1]['not'])})"
    if word == "all" and len(inner) == 2 and inner[0].get("output", {}).get("value") == "array":
        return _expression_text(inner[1])
    sign = " && " if word == "all" else " || "
    return sign.join(_bracketed_expression(part) for part in inner)


def _bracketed_expression(condition: Any) -> str:
    text = _expression_text(condition)
    return f"({text})" if (" || " in text or " && " in text) and not text.startswith("!(") else text
