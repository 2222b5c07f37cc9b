"""Paths of an `output` condition or of `compose`.

A path that starts with `$` is RFC 9535 JSONPath without `match` and `search` (they backtrack); the library
parses it, this module evaluates it: bounded, and with the same exact equality as the rest of the algebra.
Any other path is a key: the flat key first, then dotted through objects, no indices (law §3, Path).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from pipelines.routing.basics import jsonpath
from pipelines.routing.basics.bounds import MAX_PATH, EvaluationBudget
from pipelines.routing.basics.values import MISSING
from pipelines.routing.basics.wording import Wording as _

Nodes = list[Any]
# `.name`, `['name']` or `["name"]`; a wildcard, filter or escape ends the steps
_STEP = re.compile(r"""\.([^\s.\[\]*'"]+)|\[\s*'([^'\\]*)'\s*\]|\[\s*"([^"\\]*)"\s*\]""")
_FIRST = re.compile(r"""\$(?:\.([^\s.\[\]*'"]+)|\['([^'\\]*)'\]|\["([^"\\]*)"\])""")
REMEMBERED = 4_000
"""Paths per process: a draft is read anew after every change of it."""


class PathError(ValueError):
    """The path is not one: its message says where and why."""


@dataclass(frozen=True, slots=True)
class OutputPath:
    """A compiled path. `nodes` gives the values it finds in a document, in order; an empty list is missing."""

    text: str
    _find: Callable[[Any, EvaluationBudget], Nodes] = field(repr=False, compare=False)
    one: Callable[[Any], Any] | None = field(repr=False, compare=False)
    """Of a path that finds one value or none: that value, or MISSING."""

    @property
    def is_key(self) -> bool:
        return not self.text.startswith("$")

    def reads_any(self, keys: Container[str]) -> bool:
        """Return whether the path names one of these keys of the document: as a key, or as its first step."""
        if self.is_key:
            return self.text in keys or self.text.partition(".")[0] in keys
        match = _FIRST.match(self.text)
        return match is not None and (match[1] or match[2] or match[3]) in keys

    @property
    def step_names(self) -> tuple[str, ...]:
        """Names of its steps, as far as each names one member."""
        if self.is_key:
            return tuple(self.text.split("."))
        steps, end = [], 1
        while step := _STEP.match(self.text, end):
            steps.append(step[1] or step[2] or step[3] or "")
            end = step.end()
        return tuple(steps)

    def nodes(self, document: Any, steps: EvaluationBudget) -> Nodes:
        return [] if document is MISSING else self._find(document, steps)


@lru_cache(maxsize=REMEMBERED)
def compile_path(text: str) -> OutputPath:
    """Raises PathError."""
    if not text:
        raise PathError("the path is empty")
    if len(text) > MAX_PATH:
        raise PathError(_("the path is longer than %(most)s characters", most=MAX_PATH))
    return OutputPath(text, *(_jsonpath_finders(text) if text.startswith("$") else _key_finders(text)))


def value_at_key(document: Any, key: str) -> Any:
    """The value under a key: flat first, then dotted through objects; MISSING if there is none."""
    if type(document) is not dict:
        return MISSING
    if key in document:
        return document[key]
    for part in key.split("."):
        if type(document) is not dict or part not in document:
            return MISSING
        document = document[part]
    return document


Finders = tuple[Callable[[Any, EvaluationBudget], Nodes], Callable[[Any], Any] | None]


def _key_finders(text: str) -> Finders:
    one = (lambda document: value_at_key(document, text)) if "." in text else jsonpath.member_finder(text)

    def find(document: Any, steps: EvaluationBudget) -> Nodes:
        node = one(document)
        return [] if node is MISSING else [node]

    return find, one


def _jsonpath_finders(text: str) -> Finders:
    try:
        query = jsonpath.parse_query(text)
    except jsonpath.SYNTAX_ERRORS as error:
        raise PathError(_("not a JSONPath (RFC 9535): %(error)s", error=str(error))) from None
    except RecursionError:
        raise PathError("the JSONPath is nested too deeply") from None
    return jsonpath.query_evaluator(query), jsonpath.singular_finder_or_none(query)
