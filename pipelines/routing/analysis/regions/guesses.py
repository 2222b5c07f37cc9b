"""Documents for conditions on paths with wildcards or filters, or whose operator the analysis does not know: they are
free there, so these are tries.

Each try is run; nothing is claimed of one that does not do what was asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from jsonpath_rfc9535.selectors import FilterSelector, IndexSelector, NameSelector
from jsonpath_rfc9535.tokens import TokenType

from pipelines.routing.analysis.regions.documents import MAX_LENGTH
from pipelines.routing.analysis.regions.effort import spend
from pipelines.routing.basics import jsonpath
from pipelines.routing.basics.values import MAX_DEPTH, MISSING, exact, is_number
from pipelines.routing.document import operators
from pipelines.routing.document.algebra import PathTest

MAX_TRIES = 60
MAX_SHAPES = 12
"""Of one path: each of its filters would multiply them."""
PATH, PART = 400, 8
"""What taking a path apart costs, and laying what one needs over a document."""


def guesses(document: Any, free: list[tuple[PathTest, bool]]) -> Iterator[Any]:
    """The document itself, then the document with something at each free path."""
    yield document
    if not free or (type(document) not in (dict, list) and document is not MISSING):
        return
    spend(PATH * len(free))
    options = [[MISSING, *_shapes(test)] for test, _ in free]
    for tried, chosen in enumerate(product(*options)):
        if tried > MAX_TRIES:
            return
        spend(PART * len(chosen))
        value = document
        for part in chosen:
            value = _over(value, part)
        if value is not document:
            yield value


def _shapes(test: PathTest) -> list[Any]:
    if test.path.is_key:
        return [{test.path.text: leaf} for leaf in _leaves(test)]
    return [shape for leaf in _leaves(test) for shape in around(test.path.text, leaf)]


def _leaves(test: PathTest) -> list[Any]:
    value = test.value
    if operators.takes(test.op) == "list":
        return [*value, "other"]
    if is_number(value):
        return [value, exact(value) + 1, exact(value) - 1]
    return [value, "other", 1] if value is not None else ["other", 1, None]


def around(path: str, leaf: Any) -> Iterator[Any]:
    """The leaf wrapped in what the path walks through, from its end; lists of one member for wildcards."""
    if leads_too_deep(path):
        return
    shapes, hints = [leaf], ({}, *_hints(path))
    for segment in reversed(jsonpath.parse(path).segments):
        selector = segment.selectors[0]
        if isinstance(selector, NameSelector):
            shapes = [{selector.name: shape} for shape in shapes]
        elif isinstance(selector, FilterSelector):
            shapes = [[_with(shape, hint)] for shape in shapes for hint in hints]
        else:
            before = min(selector.index, MAX_LENGTH) if isinstance(selector, IndexSelector) else 0
            shapes = [[*[None] * before, shape] for shape in shapes]
        shapes = shapes[:MAX_SHAPES]
    yield from shapes


def leads_too_deep(path: str) -> bool:
    """Whether no outcome nests as deep as the path has steps."""
    return len(jsonpath.parse(path).segments) > MAX_DEPTH


def _with(shape: Any, hint: dict[str, Any]) -> Any:
    return {**hint, **shape} if type(shape) is dict else hint or shape


def _hints(path: str) -> list[dict[str, Any]]:
    """Objects with the names and constants that stand in the filters of a path."""
    tokens = jsonpath.lex.tokenize(path)
    names = [token.value for token in tokens if token.type_ == TokenType.PROPERTY]
    kinds = (TokenType.DOUBLE_QUOTE_STRING, TokenType.SINGLE_QUOTE_STRING)
    texts = [token.value for token in tokens if token.type_ in kinds]
    numbers = [int(t.value) for t in tokens if t.type_ == TokenType.INT and t.value.lstrip("-").isdigit()]
    values = [*texts, *numbers, *(n + 1 for n in numbers), True]
    return [{name: value} for name in names for value in values][:8]


def _over(base: Any, part: Any) -> Any:
    if part is MISSING:
        return base
    if base is MISSING:
        return part
    if type(base) is dict and type(part) is dict:
        return {**base, **{key: _over(base.get(key, MISSING), value) for key, value in part.items()}}
    return base + part if type(base) is list and type(part) is list else base
