"""The variables that a matched rule stores (law §8a)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pipelines.routing.basics.bounds import EvaluationBudget, EvaluationFailed
from pipelines.routing.basics.values import MISSING
from pipelines.routing.document.compose_strategies import ComposeFailed, merge_by_strategy
from pipelines.routing.document.rules import Compose


def compose_variables(
    entries: Iterable[Compose], document: Any, variables: Mapping[str, Any], steps: EvaluationBudget
) -> dict[str, Any]:
    """Return the variables that the entries set; later entries see those of earlier ones. `variables`: the
    existing ones, inputs included. `document`: what conditions read; one matching node gives its value,
    several give a list, none fails. Raises ComposeFailed."""
    new_variables: dict[str, Any] = {}
    for entry in entries:
        value = _found_value_or_list(entry, document, steps)
        if entry.strategy is not None:
            value = merge_by_strategy(
                entry.strategy, value, new_variables.get(entry.var, variables.get(entry.var, MISSING))
            )
        # At once: a later entry may build upon it
        new_variables[entry.var] = value
    return new_variables


def _found_value_or_list(entry: Compose, document: Any, steps: EvaluationBudget) -> Any:
    try:
        nodes = [document] if entry.path is None else entry.path.nodes(document, steps)
    except EvaluationFailed as failure:
        raise ComposeFailed(failure.message) from None
    # Without output the document itself is MISSING.
    if not nodes or nodes[0] is MISSING:
        path = entry.path.text if entry.path else "the output"
        raise ComposeFailed(f"{path} finds nothing for the variable {entry.var}")
    return nodes[0] if len(nodes) == 1 else list(nodes)
