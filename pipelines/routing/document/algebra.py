"""The closed algebra of conditions, as data (law §3).

A condition is one of the frozen classes below; `document_readers.conditions` makes them from a document, `test` asks
whether one is true of a `ConditionView` and notes there what it saw. `compiled_conditions` makes the same test without
notes, which is how rules are asked. Nothing here reads a clock, a file or a network.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pipelines.routing.basics.bounds import EvaluationBudget, NotAnswered, OutputUnreadable
from pipelines.routing.basics.values import json_number_or_none, node_count
from pipelines.routing.document import operators
from pipelines.routing.document.evaluations import Evaluation, EvaluationAnswer
from pipelines.routing.document.operand_trace import ObservedOperand
from pipelines.routing.document.paths import OutputPath


@dataclass(slots=True)
class ConditionView:
    """Input of a condition: the outcome (or what a forced route makes of it) and the facts of the task.

    `document` is what paths read: the output, or the context overlaid by it; MISSING if there is none.
    `unreadable`: the output exists but is not JSON; `unreadable_keys`: those of the context whose
    station's output was not JSON. `facts`: what Gateline observed, a root of its own (law §13). `saw` and
    `text` are written while conditions are evaluated: the operands reached with their values, and the text
    of the last answered evaluation that was reached.
    """

    result: str
    verdict: str
    eval: str
    failure_type: str | None
    document: Any
    unreadable: bool
    edges: Mapping[str, int]
    answers: Mapping[str, EvaluationAnswer]
    steps: EvaluationBudget
    unreadable_keys: Container[str] = ()
    saw: list[ObservedOperand] = field(default_factory=list)
    text: str | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Always:
    def test(self, view: ConditionView) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class ResultTest:
    """`results` with `any` already spelt out; `words` as written."""

    words: tuple[str, ...]
    results: frozenset[str]

    def test(self, view: ConditionView) -> bool:
        view.saw.append(ObservedOperand("result", view.result))
        return view.result in self.results


@dataclass(frozen=True, slots=True)
class VerdictTest:
    words: tuple[str, ...]
    verdicts: frozenset[str]

    def test(self, view: ConditionView) -> bool:
        view.saw.append(ObservedOperand("verdict", view.verdict))
        return view.verdict in self.verdicts


@dataclass(frozen=True, slots=True)
class FailureTypeTest:
    types: tuple[str, ...]

    def test(self, view: ConditionView) -> bool:
        view.saw.append(ObservedOperand("failure_type", view.failure_type))
        return view.failure_type in self.types


@dataclass(frozen=True, slots=True)
class EvalTest:
    """`bounds` is the parsed value of a `range`."""

    op: str
    value: Any
    bounds: tuple[Any, Any] | None = field(default=None, compare=False, repr=False)

    def test(self, view: ConditionView) -> bool:
        view.saw.append(ObservedOperand("eval", view.eval))
        if self.bounds is not None:
            number = json_number_or_none(view.eval)
            return number is not None and self.bounds[0] <= number <= self.bounds[1]
        # Order is for numbers: an eval counts as the one that it says (law §3).
        value = json_number_or_none(view.eval) if self.op in operators.ORDERED else view.eval
        return value is not None and operators.COMMON[self.op].holds(value, self.value)


@dataclass(frozen=True, slots=True)
class PathTest:
    """Test of the values at a path. `of`: some, every, count. `prepared` is the value as the operator needs
    it (a compiled pattern)."""

    path: OutputPath
    op: str
    value: Any = None
    of: str = "some"
    prepared: Any = field(default=None, compare=False, repr=False)

    def find_nodes(self, document: Any, steps: EvaluationBudget) -> list[Any]:
        steps.spend()
        return self.path.nodes(document, steps)

    def is_true_of_nodes(self, nodes: list[Any], steps: EvaluationBudget) -> bool:
        """Return whether the test is true of these nodes."""
        if self.of == "count":
            nodes = [len(nodes)]
        if self.op == "missing":
            return not nodes
        # What is missing is false for every op but `missing`, the `not_` ones included (law §3).
        if self.op == "exists" or not nodes:
            return bool(nodes)
        operator = operators.OUTPUT[self.op].holds
        if len(nodes) == 1:
            return operator(nodes[0], self.prepared)
        # To compare a node may take a walk through the whole value.
        steps.spend(len(nodes) * node_count(self.value))
        tests = (operator(node, self.prepared) for node in nodes)
        return all(tests) if self.of == "every" else any(tests)

    def _test_document(self, document: Any, operand: str, view: ConditionView) -> bool:
        nodes = self.find_nodes(document, view.steps)
        view.saw.append(ObservedOperand(operand, nodes, self.path.text))
        return self.is_true_of_nodes(nodes, view.steps)


@dataclass(frozen=True, slots=True)
class OutputTest(PathTest):
    def refuse_unreadable(self, view: ConditionView) -> None:
        if view.unreadable or (view.unreadable_keys and self.path.reads_any(view.unreadable_keys)):
            raise OutputUnreadable

    def test(self, view: ConditionView) -> bool:
        self.refuse_unreadable(view)
        return self._test_document(view.document, "output", view)


@dataclass(frozen=True, slots=True)
class FactTest(PathTest):
    """Never about the output or the context, so it never meets one that is not JSON (law §13)."""

    def test(self, view: ConditionView) -> bool:
        return self._test_document(view.facts, "fact", view)


@dataclass(frozen=True, slots=True)
class EdgeCountTest:
    source: str
    target: str
    at_least: int

    def test(self, view: ConditionView) -> bool:
        edge = f"{self.source}->{self.target}"
        count = view.edges.get(edge, 0)
        view.saw.append(ObservedOperand("edge", count, edge))
        return count >= self.at_least


@dataclass(frozen=True, slots=True)
class All:
    members: tuple[Condition, ...]

    def test(self, view: ConditionView) -> bool:
        for member in self.members:  # noqa: SIM110  (a loop is twice as fast as a generator, and this is hot)
            if not member.test(view):
                return False
        return True


@dataclass(frozen=True, slots=True)
class AnyOf:
    members: tuple[Condition, ...]

    def test(self, view: ConditionView) -> bool:
        for member in self.members:  # noqa: SIM110
            if member.test(view):
                return True
        return False


@dataclass(frozen=True, slots=True)
class Not:
    inner: Condition

    def test(self, view: ConditionView) -> bool:
        return not self.inner.test(view)


@dataclass(frozen=True, slots=True)
class AnswerTest:
    """An agentic or hook evaluation answered so. Not evaluated here: unknown raises NotAnswered."""

    evaluation: Evaluation
    answer: str

    def test(self, view: ConditionView) -> bool:
        answer = view.answers.get(self.evaluation.key)
        if answer is None or not answer.is_valid_word:
            word = None if answer is None else "unanswered"
            view.saw.append(ObservedOperand(self.evaluation.kind, word))
            # An answer that is no word of its kind is none: a person is asked (law §3, Asking).
            raise NotAnswered(self.evaluation.to_dict(), unanswered=answer is not None)
        view.saw.append(ObservedOperand(self.evaluation.kind, answer.word))
        view.text = answer.text
        return answer.word == self.answer


Condition = (
    Always
    | ResultTest
    | VerdictTest
    | FailureTypeTest
    | EvalTest
    | OutputTest
    | FactTest
    | EdgeCountTest
    | All
    | AnyOf
    | Not
    | AnswerTest
)


def condition_leaf_tests(condition: Condition) -> Iterator[Condition]:
    """Yield the tests that a condition consists of, without all, any and not, in the order of evaluation."""
    if isinstance(condition, (All, AnyOf)):
        for member in condition.members:
            yield from condition_leaf_tests(member)
    elif isinstance(condition, Not):
        yield from condition_leaf_tests(condition.inner)
    else:
        yield condition


def condition_holds(condition: Condition, view: ConditionView) -> bool:
    """Return whether the condition is true of the view, left to right, stopping when settled.

    Raises EvaluationFailed (OutputUnreadable among them) or NotAnswered, both from `errors`.
    """
    return condition.test(view)
