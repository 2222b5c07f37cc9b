"""A query of the ORM that is planned once in a process: to build its text anew takes Django longer than it takes the
server to answer it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from inspect import signature
from typing import Any

from django.db.models import QuerySet

from pipelines.engine.core.statements import Statement, send

MARK = -(2**62)


class Kept:
    """`build`: of ids, a query of values. Called with others it has the same text: the ids are parameters of it."""

    def __init__(self, build: Callable[..., QuerySet[Any, Any]]) -> None:
        self._build = build

    def __call__(self, *ids: int) -> list[tuple[Any, ...]]:
        text, parameters = self._planned
        given = {MARK + number: each for number, each in enumerate(ids)}
        [found] = send(
            [Statement(text, [given.get(each, each) if type(each) is int else each for each in parameters])]
        )
        return found

    @cached_property
    def _planned(self) -> tuple[str, tuple[Any, ...]]:
        marks = [MARK + number for number in range(len(signature(self._build).parameters))]
        text, parameters = self._build(*marks).query.sql_with_params()
        return text, tuple(parameters)
