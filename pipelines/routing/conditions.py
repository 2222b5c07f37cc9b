"""The door to conditions: the algebra as data, whether one holds, and what it says in words."""

from __future__ import annotations

from pipelines.routing.algebra import (
    All,
    Always,
    Answered,
    AnyOf,
    Condition,
    EdgeTaken,
    EvalTest,
    FailureTypeIs,
    Not,
    OutputTest,
    ResultIs,
    VerdictIs,
    View,
    holds,
)
from pipelines.routing.describe import describe
from pipelines.routing.reading.conditions import read_condition

__all__ = [
    "All",
    "Always",
    "Answered",
    "AnyOf",
    "Condition",
    "EdgeTaken",
    "EvalTest",
    "FailureTypeIs",
    "Not",
    "OutputTest",
    "ResultIs",
    "VerdictIs",
    "View",
    "describe",
    "holds",
    "read_condition",
]
