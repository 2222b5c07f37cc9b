"""RFC 9535: the library's parser, our evaluation.

Ours, because a decision has to be bounded (the library's evaluation is not) and because numbers have to
compare as exact decimals, `[1]` must differ from `[true]`, and `true < 2` is no comparison.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from jsonpath_rfc9535 import JSONPathEnvironment, JSONPathQuery, lex
from jsonpath_rfc9535 import filter_expressions as ast
from jsonpath_rfc9535.exceptions import JSONPathError, JSONPathSyntaxError
from jsonpath_rfc9535.parse import Parser
from jsonpath_rfc9535.segments import JSONPathRecursiveDescentSegment, JSONPathSegment
from jsonpath_rfc9535.selectors import (
    FilterSelector,
    IndexSelector,
    JSONPathSelector,
    NameSelector,
    SliceSelector,
)
from jsonpath_rfc9535.tokens import TokenStream, TokenType

from pipelines.routing.basics import jsontext
from pipelines.routing.basics.bounds import EvaluationBudget
from pipelines.routing.basics.values import MISSING, are_equal, exact_number, is_number

MAX_NESTING = 40
"""Keeps the depth of an evaluation far below the interpreter's limit, wherever it is called from."""

_NESTING = {
    TokenType.FILTER,
    TokenType.FUNCTION,
    TokenType.NOT,
    TokenType.LPAREN,
    TokenType.AND,
    TokenType.OR,
}

SYNTAX_ERRORS = (JSONPathError, jsontext.JsonTextError)

Finder = Callable[[Any, Any, EvaluationBudget], list[Any]]
"""(current value, root, steps) -> values."""
SingleValueFinder = Callable[[Any], Any]
"""(current value) -> the only value that can be found, or MISSING."""
Test = Callable[[Any, Any, EvaluationBudget], bool]
Operand = Callable[[Any, Any, EvaluationBudget], Any]

_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?\Z")


class _Parser(Parser):
    """Number literals keep every digit."""

    def parse_integer_literal(self, stream: TokenStream) -> ast.Expression:
        text = stream.current.value
        if not _NUMBER.match(text):
            raise JSONPathSyntaxError("invalid number", token=stream.current)
        return ast.FilterExpressionLiteral(stream.current, jsontext.parse_number(text))

    parse_float_literal = parse_integer_literal


class _Environment(JSONPathEnvironment):
    parser_class = _Parser

    def setup_function_extensions(self) -> None:
        super().setup_function_extensions()
        # Conditions have JSONPath without its regular-expression functions (law §3, Paths).
        del self.function_extensions["match"], self.function_extensions["search"]


_environment = _Environment()

# The library's pattern stops at U+FFFF; RFC 9535 lets a name have any character from U+0080 on but surrogates.
# Its hyphen, which the RFC has not, stays: `$.test-results` has only one possible meaning.
lex.RE_PROPERTY = re.compile(
    r"[a-zA-Z_\u0080-\ud7ff\ue000-\U0010ffff][a-zA-Z0-9_\u0080-\ud7ff\ue000-\U0010ffff-]*"
)


def parse_query(text: str) -> JSONPathQuery:
    """Raises one of SYNTAX_ERRORS."""
    if sum(token.type_ in _NESTING for token in lex.tokenize(text)) > MAX_NESTING:
        raise JSONPathError(f"more than {MAX_NESTING} filters, functions and logical operators")
    return _environment.compile(text)


def query_evaluator(query: JSONPathQuery) -> Callable[[Any, EvaluationBudget], list[Any]]:
    find = _query_finder(query)
    return lambda document, steps: find(document, document, steps)


def singular_finder_or_none(query: JSONPathQuery) -> SingleValueFinder | None:
    """Return the finder of a singular query (names and indices only, the common case); else None."""
    if not query.singular_query():
        return None
    return _single_value_finder([segment.selectors[0] for segment in query.segments])


def _query_finder(query: JSONPathQuery) -> Finder:
    one = singular_finder_or_none(query)
    return (
        _chain_finders([_segment_finder(segment) for segment in query.segments])
        if one is None
        else _finder_of_at_most_one_node(one)
    )


def _single_value_finder(selectors: list[JSONPathSelector]) -> SingleValueFinder:
    steps_in: list[Any] = [s.name if isinstance(s, NameSelector) else s.index for s in selectors]  # type: ignore[attr-defined]
    if len(steps_in) == 1 and type(steps_in[0]) is str:
        return member_finder(steps_in[0])

    def find(value: Any) -> Any:
        for step in steps_in:
            if type(value) is dict:
                if step not in value:  # an index is never a key
                    return MISSING
            elif type(value) is not list or type(step) is str or not -len(value) <= step < len(value):
                return MISSING
            value = value[step]
        return value

    return find


def member_finder(name: str) -> SingleValueFinder:
    """Return a finder of the member with this name; only objects have named members."""

    def find(value: Any) -> Any:
        return value.get(name, MISSING) if type(value) is dict else MISSING

    return find


def _finder_of_at_most_one_node(find_single: SingleValueFinder) -> Finder:
    def find(value: Any, root: Any, steps: EvaluationBudget) -> list[Any]:
        node = find_single(value)
        return [] if node is MISSING else [node]

    return find


def _chain_finders(segments: list[Finder]) -> Finder:
    def find(value: Any, root: Any, steps: EvaluationBudget) -> list[Any]:
        values = [value]
        for segment in segments:
            values = [child for node in values for child in segment(node, root, steps)]
        return values

    return find


def _segment_finder(segment: JSONPathSegment) -> Finder:
    selectors = [_selector_finder(selector) for selector in segment.selectors]

    def find_children(value: Any, root: Any, steps: EvaluationBudget) -> list[Any]:
        return [node for select in selectors for node in select(value, root, steps)]

    def find_descendants(value: Any, root: Any, steps: EvaluationBudget) -> list[Any]:
        return [
            child
            for node in _value_and_descendants(value, steps)
            for child in find_children(node, root, steps)
        ]

    return find_descendants if isinstance(segment, JSONPathRecursiveDescentSegment) else find_children


def _value_and_descendants(value: Any, steps: EvaluationBudget) -> Iterator[Any]:
    """A value and all lists and objects below it, parents first."""
    steps.spend()
    yield value
    for member in _child_values(value):
        if type(member) is dict or type(member) is list:
            yield from _value_and_descendants(member, steps)


def _child_values(value: Any) -> Iterable[Any]:
    if type(value) is dict:
        return value.values()
    return value if type(value) is list else ()


def _selector_finder(selector: JSONPathSelector) -> Finder:
    if isinstance(selector, (NameSelector, IndexSelector)):
        return _finder_that_spends_steps(_finder_of_at_most_one_node(_single_value_finder([selector])))
    if isinstance(selector, SliceSelector):
        return _slice_finder(selector.slice)
    if isinstance(selector, FilterSelector):
        return _filter_finder(_expression_test(selector.expression.expression))
    return _finder_that_spends_steps(lambda value, root, steps: list(_child_values(value)))


def _finder_that_spends_steps(find: Finder) -> Finder:
    def find_and_spend_steps(value: Any, root: Any, steps: EvaluationBudget) -> list[Any]:
        nodes = find(value, root, steps)
        steps.spend(1 + len(nodes))
        return nodes

    return find_and_spend_steps


def _slice_finder(cut: slice) -> Finder:
    def find(value: Any, root: Any, steps: EvaluationBudget) -> list[Any]:
        # RFC 9535: a step of 0 selects nothing; Python would raise.
        return value[cut] if type(value) is list and cut.step != 0 else []

    return _finder_that_spends_steps(find)


def _filter_finder(test: Test) -> Finder:
    def find(value: Any, root: Any, steps: EvaluationBudget) -> list[Any]:
        members = _child_values(value)
        steps.spend(1 + len(members))  # type: ignore[arg-type]
        return [member for member in members if test(member, root, steps)]

    return find


def _expression_test(expression: ast.Expression) -> Test:
    if isinstance(expression, ast.LogicalExpression):
        return _logical_test(
            expression.operator, _expression_test(expression.left), _expression_test(expression.right)
        )
    if isinstance(expression, ast.PrefixExpression):
        inner = _expression_test(expression.right)
        return lambda value, root, steps: not inner(value, root, steps)
    if isinstance(expression, ast.ComparisonExpression):
        return _comparison_test(
            _compiled_operand(expression.left), expression.operator, _compiled_operand(expression.right)
        )
    find = _filter_query_finder(expression)
    return lambda value, root, steps: bool(find(value, root, steps))


def _logical_test(operator: str, left: Test, right: Test) -> Test:
    if operator == "&&":
        return lambda value, root, steps: left(value, root, steps) and right(value, root, steps)
    return lambda value, root, steps: left(value, root, steps) or right(value, root, steps)


def _comparison_test(left: Operand, operator: str, right: Operand) -> Test:
    compare = _COMPARISONS[operator]

    def comparison_holds(value: Any, root: Any, steps: EvaluationBudget) -> bool:
        steps.spend()
        return compare(left(value, root, steps), right(value, root, steps))

    return comparison_holds


def _is_same(left: Any, right: Any) -> bool:
    # RFC 9535: Nothing equals Nothing, and no value.
    if left is MISSING or right is MISSING:
        return left is right
    return are_equal(left, right)


def _is_before(left: Any, right: Any) -> bool:
    if type(left) is str and type(right) is str:
        return left < right
    return is_number(left) and is_number(right) and exact_number(left) < exact_number(right)


_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": _is_same,
    "!=": lambda left, right: not _is_same(left, right),
    "<": _is_before,
    ">": lambda left, right: _is_before(right, left),
    "<=": lambda left, right: _is_before(left, right) or _is_same(left, right),
    ">=": lambda left, right: _is_before(right, left) or _is_same(left, right),
}


def _filter_query_finder(expression: ast.Expression) -> Finder:
    """A query inside a filter, from the current value or from the root."""
    if not isinstance(expression, ast.FilterQuery):
        raise JSONPathError(f"not a query: {expression}")
    find = _query_finder(expression.query)
    if isinstance(expression, ast.RootFilterQuery):
        return lambda value, root, steps: find(root, root, steps)
    return find


def _compiled_operand(expression: ast.Expression) -> Operand:
    """Return one side of a comparison, or an argument, as an operand: a value, or MISSING (the RFC's
    Nothing)."""
    if isinstance(expression, ast.FilterExpressionLiteral):
        constant = expression.value
        return lambda value, root, steps: constant
    if isinstance(expression, ast.FunctionExtension):
        return _function_operand(expression)
    return _finder_of_single_node_or_missing(_filter_query_finder(expression))


def _finder_of_single_node_or_missing(find: Finder) -> Operand:
    def node_or_missing(value: Any, root: Any, steps: EvaluationBudget) -> Any:
        nodes = find(value, root, steps)
        return nodes[0] if len(nodes) == 1 else MISSING

    return node_or_missing


def _function_operand(call: ast.FunctionExtension) -> Operand:
    if call.name == "length":
        return _operand_that_measures_length(_compiled_operand(call.args[0]))
    if call.name == "value":
        return _finder_of_single_node_or_missing(_filter_query_finder(call.args[0]))
    find = _filter_query_finder(call.args[0])
    return lambda value, root, steps: len(find(value, root, steps))


def _operand_that_measures_length(argument: Operand) -> Operand:
    def length_or_missing(value: Any, root: Any, steps: EvaluationBudget) -> Any:
        argument_value = argument(value, root, steps)
        return len(argument_value) if type(argument_value) in (str, list, dict) else MISSING

    return length_or_missing
