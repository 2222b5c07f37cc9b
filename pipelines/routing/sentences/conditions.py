"""A condition in words for people: “high is greater than 0 and result is success”.

Every window says a condition by `condition_leaves` or `describe`, and every comparison is said by
`comparison_text`, with what `operators` calls it. Sentences, lists and tables have the words; a label beside an edge
of the picture of a difference has no room and has the sign: “high > 0”.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pipelines.routing.basics import jsontext
from pipelines.routing.document import algebra as c
from pipelines.routing.document import operators
from pipelines.routing.sentences.failures import WORDS, failure_word, failure_words_and_own_types

Called = Callable[[str], str]
"""The name of a station by its key."""
MAX_VALUE = 60
MAX_ASKED = 120


@dataclass(frozen=True, slots=True)
class Leaf:
    """`operand` and `path` as in what a trace saw: `result`, `output` at `$.high`, `edge` at `a->b`, …; "" for one that
    looks at nothing. `keys`: parts of the words that are no words, which a page shows as code."""

    words: str
    operand: str
    path: str = ""
    keys: tuple[str, ...] = ()


def condition_words(condition: c.Condition, short: bool = False, called: Called = str) -> str:
    """The whole condition in one line. `short`: comparisons by their signs, for the label of an edge."""
    return " ".join(leaf.words for leaf in condition_leaves(condition, short, called))


def condition_leaves(condition: c.Condition, short: bool = False, called: Called = str) -> list[Leaf]:
    """A line for each operand, in the order in which they are asked; the words of the groups stand before their
    members, and a group inside another one in brackets."""
    return _condition_leaves(condition, "", _TextStyle(short, called), nested=False)


@dataclass(frozen=True, slots=True)
class _TextStyle:
    """Style in which a condition is put in words."""

    short: bool
    called: Called


def comparison_text(op: str, value: Any, short: bool = False) -> str:
    """Return the comparison of an operand in words: “is greater than 0”, “is there”, “is between 1 and 5”; by
    its sign “> 0”."""
    if op in operators.ALONE:
        return operators.ALONE[op]
    if op == "range":
        return operators.RANGE + " " + " and ".join(part.strip() for part in str(value).split(","))
    operator = operators.OUTPUT[op]
    return f"{operator.sign if short and operator.sign else operator.words} {_value_text(value)}"


def _value_text(value: Any) -> str:
    text = jsontext.dumps(value)
    return text if len(text) <= MAX_VALUE else text[:MAX_VALUE] + "…"


def _condition_leaves(condition: c.Condition, prefix: str, way: _TextStyle, nested: bool) -> list[Leaf]:
    match condition:
        case c.All(members):
            # An empty `all` is true, an empty `any` is false (law §12).
            return _member_leaves(members, prefix, ("and", "always"), way, nested)
        case c.AnyOf(members):
            return _member_leaves(members, prefix, ("or", "never"), way, nested)
        case c.Not(c.FailureTypeTest(types=types)) if types:
            words, keys = failure_words_and_own_types(types)
            return [Leaf(f"{prefix}not because {words}", "failure_type", keys=keys)]
        case c.Not(inner):
            return _condition_leaves(inner, f"{prefix}not ", way, nested=True)
    return [_test_leaf(condition, prefix, way)]


def _member_leaves(
    members: tuple[c.Condition, ...], prefix: str, words: tuple[str, str], way: _TextStyle, nested: bool
) -> list[Leaf]:
    """`words`: between the members, and where there are none."""
    if not members:
        return [Leaf(prefix + words[1], "")]
    brackets = nested and len(members) > 1
    parts: list[Leaf] = []
    for place, member in enumerate(members):
        before = f"{prefix}{'(' if brackets else ''}" if place == 0 else f"{words[0]} "
        parts += _condition_leaves(member, before, way, nested=True)
    if brackets:
        parts[-1] = replace(parts[-1], words=f"{parts[-1].words})")
    return parts


def _test_leaf(condition: c.Condition, prefix: str, way: _TextStyle) -> Leaf:
    match condition:
        case c.ResultTest(words=words):
            return Leaf(prefix + _alternatives_text("result is %(words)s", words), "result")
        case c.VerdictTest(words=words):
            return Leaf(prefix + _alternatives_text("verdict is %(words)s", words), "verdict")
        case c.FailureTypeTest(types=types):
            return _failure_leaf(prefix, types)
        case c.EvalTest(op="equals", value=str(value)) if value in WORDS:
            # The eval of such a failure is its type.
            return replace(_failure_leaf(prefix, (value,)), operand="eval")
        case c.EvalTest(op=op, value=value):
            return Leaf(f"{prefix}eval {comparison_text(op, value, way.short)}", "eval")
        case c.OutputTest(path=path, op=op, value=value):
            return Leaf(
                f"{prefix}{_operand_text(condition)} {comparison_text(op, value, way.short)}",
                "output",
                path.text,
            )
        case c.FactTest(path=path, op=op, value=value):
            text = f"observed {_operand_text(condition)}"
            return Leaf(f"{prefix}{text} {comparison_text(op, value, way.short)}", "fact", path.text)
        case c.EdgeCountTest(source=source, target=target, at_least=least):
            edge_values = {"source": way.called(source), "target": way.called(target), "least": least}
            text = "{source} → {target} was taken {least} times or more".format(**edge_values)
            return Leaf(prefix + text, "edge", f"{source}->{target}")
        case c.AnswerTest(evaluation=evaluation, answer=answer):
            answer_values = {"asked": _question_text(evaluation.payload), "answer": answer}
            text = (
                "the evaluator says %(answer)s to “%(asked)s”"
                if evaluation.kind == "agentic"
                else "the hook “%(asked)s” says %(answer)s"
            )
            return Leaf(prefix + text % answer_values, evaluation.kind)
    return Leaf(prefix + "always", "")


def _failure_leaf(prefix: str, types: tuple[str, ...]) -> Leaf:
    if not types:
        return Leaf(prefix + "never", "failure_type")
    if types == ("nothing_done",):
        return Leaf(prefix + failure_word("nothing_done"), "failure_type")
    words, keys = failure_words_and_own_types(types)
    return Leaf(prefix + f"it failed: {words}", "failure_type", keys=keys)


def _operand_text(test: c.PathTest) -> str:
    """Return the operand of the test in words. Existence is tested on everything at the path, so `every` adds
    nothing then."""
    name = test.path.text.removeprefix("$.")
    if test.of == "count":
        return f"the number of {name}"
    if test.of == "every" and test.op not in operators.ALONE:
        return f"every {name}"
    return name


def _alternatives_text(sentence: str, words: tuple[str, ...]) -> str:
    return sentence % {"words": " or ".join(words)} if words else "never"


def _question_text(payload: Mapping[str, Any]) -> str:
    """The question, or the command line of a hook; a long one is cut."""
    question = str(payload.get("question") or " ".join(map(str, payload.get("argv", ()))))
    return question if len(question) <= MAX_ASKED else f"{question[: MAX_ASKED - 1]}…"
