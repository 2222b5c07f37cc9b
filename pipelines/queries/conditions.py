"""A condition as lines for people, one per operand, each with the name under which a trace notes what it saw."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from django.utils.translation import gettext as _

from pipelines.routing.document import algebra as c
from pipelines.routing.document import operators

LONGEST = 120


@dataclass(frozen=True, slots=True)
class Leaf:
    """`operand` and `path` as in what a trace saw: `result`, `output` at `$.high`, `edge` at `a->b`, …; "" for one that
    looks at nothing."""

    words: str
    operand: str
    path: str = ""


OPERATORS = {
    **{op: each.words for op, each in operators.OUTPUT.items()},
    **operators.ALONE,
    "range": operators.RANGE,
}
"""The words of each, still to be translated."""


def leaves(condition: c.Condition, prefix: str = "", nested: bool = False) -> list[Leaf]:
    """The operands in the order in which they are asked; the words of the groups stand before their members, and a
    group inside another one in brackets."""
    match condition:
        case c.All(members):
            return _members(members, prefix, _("and"), _("always"), nested)
        case c.AnyOf(members):
            return _members(members, prefix, _("or"), _("never"), nested)
        case c.Not(inner):
            return leaves(inner, f"{prefix}{_('not')} ", nested=True)
    return [_leaf(condition, prefix)]


def _members(
    members: tuple[c.Condition, ...], prefix: str, word: str, empty: str, nested: bool
) -> list[Leaf]:
    if not members:
        return [Leaf(prefix + empty, "")]
    brackets = nested and len(members) > 1
    found: list[Leaf] = []
    for place, member in enumerate(members):
        before = f"{prefix}{'(' if brackets else ''}" if place == 0 else f"{word} "
        found += leaves(member, before, nested=True)
    if brackets:
        found[-1] = replace(found[-1], words=f"{found[-1].words})")
    return found


def _leaf(condition: c.Condition, prefix: str) -> Leaf:
    match condition:
        case c.ResultIs(words=words):
            return Leaf(prefix + _("result is %(words)s") % {"words": _either(words)}, "result")
        case c.VerdictIs(words=words):
            return Leaf(prefix + _("verdict is %(words)s") % {"words": _either(words)}, "verdict")
        case c.FailureTypeIs(types=types):
            return Leaf(prefix + _("failure type is %(words)s") % {"words": _either(types)}, "failure_type")
        case c.EvalTest(op=op, value=value):
            return Leaf(f"{prefix}eval {_operator(op, value)}", "eval")
        case c.OutputTest(path=path, op=op, value=value, of=of):
            counted = {"count": _("count of "), "every": _("every ")}.get(of, "")
            short = path.text.removeprefix("$.")
            return Leaf(f"{prefix}{counted}{short} {_operator(op, value)}", "output", path.text)
        case c.EdgeTaken(source=source, target=target, at_least=least):
            taken = {"source": source, "target": target, "least": least}
            text = _("%(source)s → %(target)s was taken %(least)s times or more") % taken
            return Leaf(prefix + text, "edge", f"{source}->{target}")
        case c.Answered(evaluation=evaluation, answer=answer):
            said = {"asked": _asked(evaluation.payload), "answer": answer}
            return Leaf(prefix + _("“%(asked)s” is answered %(answer)s") % said, evaluation.kind)
    return Leaf(prefix + _("always"), "")


def _asked(payload: Mapping[str, Any]) -> str:
    """The question, or the command line of a hook; a long one is cut."""
    said = str(payload.get("question") or " ".join(map(str, payload.get("argv", ()))))
    return said if len(said) <= LONGEST else f"{said[: LONGEST - 1]}…"


def _either(words: tuple[str, ...]) -> str:
    return _(" or ").join(words)


def _operator(op: str, value: object) -> str:
    words = _(OPERATORS[op])
    if op in operators.ALONE:
        return words
    shown = ", ".join(map(str, value)) if isinstance(value, list | tuple) else value
    return f"{words} {'true' if value is True else 'false' if value is False else 'null' if value is None else shown}"


def describe(condition: c.Condition) -> str:
    """The whole condition in one line."""
    return " ".join(leaf.words for leaf in leaves(condition))
