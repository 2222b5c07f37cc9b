"""Contradictions between the checks of a gate, whether they can hold together: their fields as variables, the
question to the solver.

Every field is free, so whatever can really be reported is among what is tried: that checks contradict each
other is a proof. Where the bounds are reached nothing is reported.
"""

from __future__ import annotations

from dataclasses import replace

from pipelines.routing.analysis.satisfiability import cells
from pipelines.routing.analysis.satisfiability.check_groups import (
    below_rank_formula,
    does_failure_demand_rank,
    eval_check_passes_formula,
    operator_as_in_conditions,
)
from pipelines.routing.analysis.satisfiability.documents import Place, build_document
from pipelines.routing.analysis.satisfiability.formulas import TRUE, Formula, Literal, formula_at_places
from pipelines.routing.analysis.satisfiability.solver import Box, is_impossible
from pipelines.routing.basics.outcome import RESULTS, SIGNALS, VERDICTS
from pipelines.routing.decide.check_fields import ALIASES
from pipelines.routing.document.checks import RANK, Check, CheckGroup
from pipelines.routing.document.gates import WORDS

WORDS_OF = {"result": RESULTS, "verdict": VERDICTS, "signal": SIGNALS}
FLAT = ("input", "variables", "gates", "usage")
DOTTED = ("output", "facts", "task", "context")


def checks_that_force_action(group: CheckGroup, action: str) -> tuple[Check, ...]:
    """Checks that cannot all hold, so that the group always asks for this action or a worse one; none where that is
    not proved. Each of them is needed for it. Raises Exhausted."""
    if not _is_rank_always_demanded(group, RANK[action], frozenset()):
        return ()
    needed = [check for check in group.checks() if does_failure_demand_rank(check, RANK[action])]
    granted: frozenset[int] = frozenset()
    for check in needed:
        more = granted | {id(check)}
        # The contradiction stands without this check, so it is none of those that are needed.
        if _is_rank_always_demanded(group, RANK[action], more):
            granted = more
    return tuple(check for check in needed if id(check) not in granted)


def _is_rank_always_demanded(group: CheckGroup, rank: int, granted: frozenset[int]) -> bool:
    """`granted`: checks that are taken to hold, whatever they say."""

    def formula_of_passing(check: Check) -> Formula:
        return TRUE if id(check) in granted else _pass_formula(check)

    return is_impossible(
        [below_rank_formula(group, rank, formula_of_passing), *_literals_known_before_checks(group)],
        {},
        _check_box_has_document,
    )


def _check_box_has_document(box: Box) -> None:
    build_document({variable[1]: cell for variable, cell in box.items() if variable[0] == "cell"})


def _pass_formula(check: Check) -> Formula:
    op = operator_as_in_conditions(check)
    if check.field == "eval":
        return eval_check_passes_formula(op, check)
    return formula_at_places(_field_places(check.field), *cells.true_and_false_cells(op, check.value))


def _field_places(name: str) -> tuple[Place, ...]:
    """Return the places where a field stands in one document of all fields: a dotted name flat, then through
    objects."""
    name = ALIASES.get(name, name)
    family, _, rest = name.partition(".")
    if family in DOTTED and rest:
        parts = tuple(rest.split("."))
        flat: Place = (family, rest)
        return (flat,) if len(parts) == 1 else (flat, (family, *parts))
    return ((family, rest),) if family in FLAT and rest else ((name,),)


def _literals_known_before_checks(group: CheckGroup) -> list[Literal]:
    """Return what is known of each field before any check: absent, or one of the words that it can be."""
    known = []
    for name in dict.fromkeys(check.field for check in group.checks()):
        words = WORDS if name.startswith("gates.") else WORDS_OF.get(name)
        if words is not None:
            matching, others = cells.membership_true_and_false_cells(list(words))
            absent_or = replace(matching, missing=True)
            known.append(
                Literal(("cell", _field_places(name)[0]), absent_or, others.intersection(cells.PRESENT))
            )
    return known
