"""The door to lines: documents in, frozen values and complete documents out, and the hash of a document."""

from __future__ import annotations

from typing import Any

from pipelines.routing.basics.canonical import CanonicalError, canonical, digest
from pipelines.routing.basics.problems import DocumentError, Problem
from pipelines.routing.document.checks import Check, Group
from pipelines.routing.document.model import (
    BLOCKED,
    BUILT_IN_ENDS,
    LAW,
    ORIGIN,
    REVISION,
    WORDS,
    Approval,
    Compose,
    Due,
    End,
    Gate,
    Input,
    Join,
    Limits,
    Line,
    Requirement,
    Rule,
    Station,
)
from pipelines.routing.document.policy import PRESETS, Policy
from pipelines.routing.document.reading.document import read_document


def read_line(document: Any, *, keep_faulty_rules: bool = False) -> Line:
    """The line that a document says. Raises DocumentError with every problem, in the order of the document.

    With `keep_faulty_rules` a rule whose `when`, `to` or `gates` is faulty does not refuse the document: it
    fails when it is reached (line-document.md, The decision tool).
    """
    return read_document(document, keep_faulty_rules=keep_faulty_rules)


__all__ = [
    "BLOCKED",
    "BUILT_IN_ENDS",
    "LAW",
    "ORIGIN",
    "PRESETS",
    "REVISION",
    "WORDS",
    "Approval",
    "CanonicalError",
    "Check",
    "Compose",
    "DocumentError",
    "Due",
    "End",
    "Gate",
    "Group",
    "Input",
    "Join",
    "Limits",
    "Line",
    "Policy",
    "Problem",
    "Requirement",
    "Rule",
    "Station",
    "canonical",
    "digest",
    "read_line",
]
