"""Whether the checks of a gate can hold together: their fields as variables, the question to the solver.

Every field is free, so whatever can really be reported is among what is tried: that checks contradict each other is
a proof. Where the bounds are reached nothing is said.
"""

from __future__ import annotations

from dataclasses import replace

from pipelines.routing.analysis.regions import cells, numbers, texts
from pipelines.routing.analysis.regions.documents import Place, document
from pipelines.routing.analysis.regions.evals import Evals
from pipelines.routing.analysis.regions.formulas import (
    EVAL,
    FALSE,
    TRUE,
    Both,
    Either,
    Formula,
    Literal,
    at_places,
    negation,
)
from pipelines.routing.analysis.regions.solver import Box, is_impossible
from pipelines.routing.basics.outcome import RESULTS, SIGNALS, VERDICTS
from pipelines.routing.basics.values import exact, is_number
from pipelines.routing.decide.check_fields import ALIASES
from pipelines.routing.document.checks import COMPARED, RANK, Check, CheckGroup
from pipelines.routing.document.gates import WORDS

WORDS_OF = {"result": RESULTS, "verdict": VERDICTS, "signal": SIGNALS}
FLAT = ("input", "variables", "gates", "usage")
DOTTED = ("output", "facts", "task", "context")


def contradiction(group: CheckGroup, action: str) -> tuple[Check, ...]:
    """Checks that cannot all hold, so that the group always asks for this action or a worse one; none where that is
    not proved. Each of them is needed for it. Raises Exhausted."""
    if not _always_fails(group, RANK[action], frozenset()):
        return ()
    needed = [check for check in group.checks() if _counts(check, RANK[action])]
    granted: frozenset[int] = frozenset()
    for check in needed:
        more = granted | {id(check)}
        if _always_fails(group, RANK[action], more):
            granted = more
    return tuple(check for check in needed if id(check) not in granted)


def _always_fails(group: CheckGroup, rank: int, granted: frozenset[int]) -> bool:
    """`granted`: checks that are taken to hold, whatever they say."""
    return is_impossible([_below(group, rank, granted), *_given(group)], {}, _accept)


def _accept(box: Box) -> None:
    document({variable[1]: cell for variable, cell in box.items() if variable[0] == "cell"})


def _counts(check: Check, rank: int) -> bool:
    return check.severity != "warn" and RANK.get(check.action, 0) >= rank


def _below(member: CheckGroup | Check, rank: int, granted: frozenset[int]) -> Formula:
    """The member asks for less than this rank (checks.py, `_worst`)."""
    if isinstance(member, Check):
        return _holds(member, granted) if _counts(member, rank) else TRUE
    each = Both(tuple(_below(one, rank, granted) for one in member.counted))
    return Either((_passes(member, granted), each)) if member.kind == "any" else each


def _passes(member: CheckGroup | Check, granted: frozenset[int]) -> Formula:
    if isinstance(member, Check):
        return _holds(member, granted)
    each = tuple(_passes(one, granted) for one in member.counted)
    return Both(each) if member.kind == "all" else Either(each)


def _holds(check: Check, granted: frozenset[int]) -> Formula:
    if id(check) in granted:
        return TRUE
    op = COMPARED.get(check.operator, check.operator)
    if check.field == "eval":
        return _eval(op, check)
    return at_places(_places(check.field), *cells.tested(op, check.value))


def _places(name: str) -> tuple[Place, ...]:
    """Where a field stands in one document of all fields: a dotted name flat, then through objects."""
    name = ALIASES.get(name, name)
    family, _, rest = name.partition(".")
    if family in DOTTED and rest:
        parts = tuple(rest.split("."))
        flat: Place = (family, rest)
        return (flat,) if len(parts) == 1 else (flat, (family, *parts))
    return ((family, rest),) if family in FLAT and rest else ((name,),)


def _given(group: CheckGroup) -> list[Literal]:
    """What can be said of a field before any check: absent, or one of the words that it can be."""
    known = []
    for name in dict.fromkeys(check.field for check in group.checks()):
        words = WORDS if name.startswith("gates.") else WORDS_OF.get(name)
        if words is not None:
            said, others = cells.one_of(list(words))
            absent_or = replace(said, missing=True)
            known.append(Literal(("cell", _places(name)[0]), absent_or, others.meet(cells.PRESENT)))
    return known


def _eval(op: str, check: Check) -> Formula:
    """It is always there; it compares by its number where the check's value is one, else as text."""
    if op == "exists":
        return TRUE
    if op == "not_equals":
        return negation(_eval("equals", check))
    value = check.value
    if is_number(value):
        if op == "equals":
            return _number(numbers.just(exact(value)))
        return FALSE if op == "contains" else _number(numbers.compared(op, exact(value)))
    if op == "equals":
        return _text(texts.listed(frozenset([value] if type(value) is str else [])))
    if op == "in":
        said = [_text(texts.listed(frozenset(each for each in value if type(each) is str)))]
        listed = [exact(each) for each in value if is_number(each)]
        return Either((*said, *([_number(numbers.listed(listed))] if listed else [])))
    if type(value) is not str or op not in ("contains", "matches"):
        return FALSE
    return _text(texts.tested(op, value))


def _number(held: numbers.NumberSet) -> Formula:
    return Literal(EVAL, Evals(within=held), Evals(outside=held))


def _text(said: texts.Just) -> Formula:
    return Literal(EVAL, Evals(said.yes), Evals(said.no))
