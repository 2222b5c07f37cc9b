"""Documents for conditions on paths with wildcards or filters, or whose operator the analysis does not know: they are
free there, so these are tries.

Each try is run; nothing is claimed of one that does not do what was asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from typing import Any

from jsonpath_rfc9535.selectors import FilterSelector, IndexSelector, NameSelector
from jsonpath_rfc9535.tokens import TokenType

from pipelines.routing.analysis.satisfiability import cells
from pipelines.routing.analysis.satisfiability.documents import MAX_LENGTH, build_document
from pipelines.routing.analysis.satisfiability.effort import spend_effort
from pipelines.routing.analysis.satisfiability.search_failures import Impossible, Unknown
from pipelines.routing.basics import jsonpath
from pipelines.routing.basics.values import MAX_DEPTH, MISSING, exact_number, is_number
from pipelines.routing.document import operators
from pipelines.routing.document.algebra import PathTest

MAX_TRIES = 60
MAX_COUNT = 8
"""Members of one list that are guessed."""
MAX_SHAPES = 12
"""Of one path: each of its filters would multiply them."""
PATH, PART = 400, 8
"""What taking a path apart costs, and laying what one needs over a document."""


def guess_documents(base: Any, free: list[tuple[PathTest, bool]]) -> Iterator[Any]:
    """The document itself, then the document with something at each free path."""
    yield base
    # Nothing can be laid over a single value without taking it away
    if not free or (type(base) not in (dict, list) and base is not MISSING):
        return
    spend_effort(PATH * len(free))
    # Nothing at all first: most paths are true or false of what is not there
    options = [[MISSING, *_document_shapes(test, sign)] for test, sign in free]
    for tried, chosen in enumerate(product(*options)):
        if tried > MAX_TRIES:
            return
        spend_effort(PART * len(chosen))
        value = base
        for part in chosen:
            value = _merge_over(value, part)
        if value is not base:
            yield value


def _document_shapes(test: PathTest, sign: bool) -> list[Any]:
    if test.path.is_key:
        return [{test.path.text: leaf} for leaf in _candidate_leaves(test, sign)]
    leaves = [*_candidate_leaves(test, sign), *_filter_constants(test.path.text)]
    shapes = [shape for leaf in leaves for shape in documents_with_leaf_at_path(test.path.text, leaf)]
    if test.of != "count" or not is_number(test.value):
        return shapes
    # `n` is right for `equals` and `gte`, n + 1 for `gt`; every shape has one member anyhow.
    counts = sorted({count for count in (int(test.value), int(test.value) + 1) if 1 < count <= MAX_COUNT})
    more = [
        shape
        for leaf in leaves
        for n in counts
        for shape in documents_with_leaf_at_path(test.path.text, leaf, n)
    ]
    return [*more[:MAX_SHAPES], *shapes]


def _candidate_leaves(test: PathTest, sign: bool) -> list[Any]:
    """Values that the operator names and what lies beside them; before them one for which it is as the sign says, where
    none of them is."""
    usual = _values_near_operand(test)
    if test.of == "count" or not cells.can_express_operator(test.op):
        return usual
    cell = cells.true_and_false_cells(test.op, test.value)[0 if sign else 1].intersection(cells.PRESENT)
    if any(map(cell.contains, usual)):
        return usual
    try:
        return [build_document({(): cell}), *usual]
    except (Impossible, Unknown):
        return usual


def _values_near_operand(test: PathTest) -> list[Any]:
    value = test.value
    if operators.operand_kind(test.op) == "list":
        return [*value, "other"]
    if is_number(value):
        return [value, exact_number(value) + 1, exact_number(value) - 1]
    return [value, "other", 1] if value is not None else ["other", 1, None]


def _filter_constants(path: str) -> list[Any]:
    """Values that the filters of a path compare with, and what lies beside them."""
    if "?" not in path or is_path_deeper_than_outcomes(path):
        return []
    texts, numbers = _texts_and_numbers_in_path(path)
    return [
        *(n + 1 for n in numbers),
        *numbers,
        *(n - 1 for n in numbers),
        *texts,
        *(f"{text}z" for text in texts),
    ]


def documents_with_leaf_at_path(path: str, leaf: Any, count: int = 1) -> Iterator[Any]:
    """The leaf wrapped in what the path walks through, from its end; for the last wildcard or filter a list of `count`
    members, for others of one."""
    if is_path_deeper_than_outcomes(path):
        return
    shapes, hints = [leaf], ({}, *_filter_hints(path))
    for segment in reversed(_path_segments(path)):
        selector = segment.selectors[0]
        if isinstance(selector, NameSelector):
            shapes = [{selector.name: shape} for shape in shapes]
        elif isinstance(selector, FilterSelector):
            shapes = [[_shape_filled_with_hint(shape, hint)] * count for shape in shapes for hint in hints]
            count = 1
        elif isinstance(selector, IndexSelector):
            # Nulls in front put the shape at its index.
            shapes = [[*[None] * min(selector.index, MAX_LENGTH), shape] for shape in shapes]
        else:
            shapes = [[shape] * count for shape in shapes]
            count = 1
        # After each segment: two filters in a row would multiply them beyond any time
        shapes = shapes[:MAX_SHAPES]
    yield from shapes


def is_path_deeper_than_outcomes(path: str) -> bool:
    """Tell whether no outcome nests as deep as the path has steps."""
    return len(_path_segments(path)) > MAX_DEPTH


@lru_cache(maxsize=1_000)
def _path_segments(path: str) -> tuple[Any, ...]:
    return tuple(jsonpath.parse_query(path).segments)


def _shape_filled_with_hint(shape: Any, hint: dict[str, Any]) -> Any:
    # What is asked for wins over what a filter may want of the same member
    return {**hint, **shape} if type(shape) is dict else hint or shape


@lru_cache(maxsize=1_000)
def _filter_hints(path: str) -> tuple[dict[str, Any], ...]:
    """Objects with the names and constants that stand in the filters of a path."""
    names = [token.value for token in jsonpath.lex.tokenize(path) if token.type_ == TokenType.PROPERTY]
    texts, numbers = _texts_and_numbers_in_path(path)
    values = [*texts, *numbers, *(n + 1 for n in numbers), True]
    return tuple({name: value} for name in names for value in values)[:8]


@lru_cache(maxsize=1_000)
def _texts_and_numbers_in_path(path: str) -> tuple[list[str], list[int]]:
    """Texts and numbers that stand in a path."""
    tokens = jsonpath.lex.tokenize(path)
    kinds = (TokenType.DOUBLE_QUOTE_STRING, TokenType.SINGLE_QUOTE_STRING)
    texts = [token.value for token in tokens if token.type_ in kinds]
    return texts, [int(t.value) for t in tokens if t.type_ == TokenType.INT and t.value.lstrip("-").isdigit()]


def _merge_over(base: Any, part: Any) -> Any:
    if part is MISSING:
        return base
    if base is MISSING:
        return part
    if type(base) is dict and type(part) is dict:
        return {**base, **{key: _merge_over(base.get(key, MISSING), value) for key, value in part.items()}}
    return base + part if type(base) is list and type(part) is list else base
