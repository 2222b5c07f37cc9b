"""RFC 9535, the queries that §3 allows: the library's parser, with the comparisons of this law.

The library itself orders booleans among the numbers (`false < 2`), as Python does and the RFC does not.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import jsonpath_rfc9535
from jsonpath_rfc9535 import filter_expressions as expressions
from jsonpath_rfc9535 import segments, selectors

from .values import Json, equal, number

NOTHING = object()


def find(path: str, document: Json) -> list[Json]:
    """The values of the nodes that a query selects, in its order."""
    return run(jsonpath_rfc9535.compile(path), document, document)


def run(query: Any, start: Json, root: Json) -> list[Json]:
    """The nodes that the segments of a query lead to."""
    found = [start]
    for segment in query.segments:
        if isinstance(segment, segments.JSONPathRecursiveDescentSegment):
            found = [below for node in found for below in descendants(node)]
        found = [
            value
            for node in found
            for selector in segment.selectors
            for value in select(selector, node, root)
        ]
    return found


def children(node: Json) -> list[Json]:
    """The values right below."""
    if isinstance(node, Mapping):
        return list(node.values())
    return list(node) if isinstance(node, list) else []


def descendants(node: Json) -> Iterator[Json]:
    """The node, then all below it, parents first."""
    yield node
    for child in children(node):
        yield from descendants(child)


def select(selector: Any, node: Json, root: Json) -> list[Json]:
    """What one selector takes of one node."""
    if isinstance(selector, selectors.NameSelector):
        return [node[selector.name]] if isinstance(node, Mapping) and selector.name in node else []
    if isinstance(selector, selectors.IndexSelector):
        inside = isinstance(node, list) and -len(node) <= selector.index < len(node)
        return [node[selector.index]] if inside else []
    if isinstance(selector, selectors.SliceSelector):
        return node[selector.slice] if isinstance(node, list) and selector.slice.step != 0 else []
    if isinstance(selector, selectors.WildcardSelector):
        return children(node)
    return [child for child in children(node) if is_true(selector.expression.expression, child, root)]


def is_true(test: Any, node: Json, root: Json) -> bool:
    """A logical expression: a comparison, an existence test, or several of them."""
    if isinstance(test, expressions.PrefixExpression):
        return not is_true(test.right, node, root)
    if isinstance(test, expressions.LogicalExpression):
        left = is_true(test.left, node, root)
        if test.operator == "&&":
            return left and is_true(test.right, node, root)
        return left or is_true(test.right, node, root)
    if isinstance(test, expressions.ComparisonExpression):
        return compare(test.operator, value_of(test.left, node, root), value_of(test.right, node, root))
    return bool(nodes_of(test, node, root))


def nodes_of(query: Any, node: Json, root: Json) -> list[Json]:
    """`@…` starts at the node, `$…` at the document."""
    relative = isinstance(query, expressions.RelativeFilterQuery)
    return run(query.query, node if relative else root, root)


def value_of(operand: Any, node: Json, root: Json) -> Any:
    """One side of a comparison: a literal, the value of one node, or a function's; else Nothing."""
    if isinstance(operand, expressions.FilterExpressionLiteral):
        return operand.value
    if isinstance(operand, expressions.FilterQuery):
        found = nodes_of(operand, node, root)
        return found[0] if len(found) == 1 else NOTHING
    if operand.name == "length":
        measured = value_of(operand.args[0], node, root)
        return len(measured) if isinstance(measured, str | list | Mapping) else NOTHING
    found = nodes_of(operand.args[0], node, root)
    if operand.name == "count":
        return len(found)
    return found[0] if len(found) == 1 else NOTHING


def compare(operator: str, left: Any, right: Any) -> bool:
    """ "equal by value, ordered among numbers and among strings only" (RFC 9535, 2.3.5.2.2)"""
    absent = left is NOTHING or right is NOTHING
    same = left is right if absent else equal(left, right)
    if operator in ("==", "!="):
        return same == (operator == "==")
    if operator in ("<=", ">=") and same:
        return True
    if operator in (">", ">="):
        left, right = right, left
    if isinstance(left, str) and isinstance(right, str):
        return left < right
    if absent:
        return False
    less, more = number(left), number(right)
    return less is not None and more is not None and less < more
