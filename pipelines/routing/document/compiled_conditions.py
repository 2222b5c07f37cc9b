"""Conditions as closures: the test of `algebra` without its notes, which is several times as fast.

Made once for each station of a version. What a rule saw is asked of the condition itself, when somebody wants to know.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import eq
from typing import Any

from pipelines.routing.basics.values import MISSING, json_number_or_none
from pipelines.routing.document import operators
from pipelines.routing.document.algebra import (
    All,
    Always,
    AnswerTest,
    AnyOf,
    Condition,
    ConditionView,
    EdgeCountTest,
    EvalTest,
    FactTest,
    FailureTypeTest,
    Not,
    OutputTest,
    PathTest,
    ResultTest,
    VerdictTest,
)

Test = Callable[[ConditionView], bool]
"""Raises what the condition raises."""


def compile_condition(condition: Condition) -> Test:
    return _FORMS[type(condition)](condition)


def condition_test_forgetting_earlier_text(test: Test) -> Test:
    """Return the test without the text of an evaluation that was reached earlier."""

    def is_true_without_earlier_text(view: ConditionView) -> bool:
        # Law §5, Feedback: only an evaluation that the matched rule itself reached hands on its text
        view.text = None
        return test(view)

    return is_true_without_earlier_text


def _always_test(condition: Always) -> Test:
    return lambda view: True


def _result_test(condition: ResultTest) -> Test:
    results = condition.results
    return lambda view: view.result in results


def _verdict_test(condition: VerdictTest) -> Test:
    verdicts = condition.verdicts
    return lambda view: view.verdict in verdicts


def _failure_type_test(condition: FailureTypeTest) -> Test:
    types = condition.types
    return lambda view: view.failure_type in types


def _eval_test(condition: EvalTest) -> Test:
    value = condition.value
    if condition.bounds is not None:
        low, high = condition.bounds

        def is_eval_in_range(view: ConditionView) -> bool:
            number = json_number_or_none(view.eval)
            return number is not None and low <= number <= high

        return is_eval_in_range
    holds = operators.COMMON[condition.op].holds
    # Equality is for any value; order is for numbers alone (law §3)
    if condition.op not in operators.ORDERED:
        return lambda view: holds(view.eval, value)

    def does_eval_compare(view: ConditionView) -> bool:
        number = json_number_or_none(view.eval)
        return number is not None and holds(number, value)

    return does_eval_compare


# Paths


def _output_test(condition: OutputTest) -> Test:
    one = _single_value_finder_or_none(condition)
    if one is None:
        nodes_of, holds_of = condition.find_nodes, condition.is_true_of_nodes

        def is_true_of_all_nodes(view: ConditionView) -> bool:
            condition.refuse_unreadable(view)
            return holds_of(nodes_of(view.document, view.steps), view.steps)

        return is_true_of_all_nodes
    holds, operand = _operator_test(condition), condition.prepared

    def is_true_of_single_value(view: ConditionView) -> bool:
        # Looked at here, so that an output which can be read costs no call
        if view.unreadable or view.unreadable_keys:
            condition.refuse_unreadable(view)
        view.steps.spend()
        value = one(view.document)
        return value is not MISSING and holds(value, operand)

    return is_true_of_single_value


def _fact_test(condition: FactTest) -> Test:
    one = _single_value_finder_or_none(condition)
    if one is None:
        nodes_of, holds_of = condition.find_nodes, condition.is_true_of_nodes
        return lambda view: holds_of(nodes_of(view.facts, view.steps), view.steps)
    holds, operand = _operator_test(condition), condition.prepared

    def is_true_of_single_value(view: ConditionView) -> bool:
        view.steps.spend()
        value = one(view.facts)
        return value is not MISSING and holds(value, operand)

    return is_true_of_single_value


def _single_value_finder_or_none(condition: PathTest) -> Callable[[Any], Any] | None:
    """The one value that the operator is asked of; None of conditions that are about all that is found."""
    about_all = condition.of == "count" or condition.op in operators.ALONE
    return None if about_all else condition.path.one


def _operator_test(condition: PathTest) -> Callable[[Any, Any], bool]:
    # A text equals a text that is the same, and nothing else: there `==` says what `values.are_equal` does.
    if condition.op == "equals" and type(condition.prepared) is str:
        return eq
    return operators.OUTPUT[condition.op].holds


# The rest


def _edge_count_test(condition: EdgeCountTest) -> Test:
    edge, at_least = f"{condition.source}->{condition.target}", condition.at_least
    return lambda view: view.edges.get(edge, 0) >= at_least


def _answer_test(condition: AnswerTest) -> Test:
    """Its text is wanted of the rule that is taken, so it notes."""
    return condition.test


def _all_test(condition: All) -> Test:
    tests = tuple(map(compile_condition, condition.members))

    def are_all_true(view: ConditionView) -> bool:
        for member_test in tests:  # noqa: SIM110  (a loop is twice as fast as a generator, and this is hot)
            if not member_test(view):
                return False
        return True

    return are_all_true


def _any_test(condition: AnyOf) -> Test:
    tests = tuple(map(compile_condition, condition.members))

    def is_any_true(view: ConditionView) -> bool:
        for member_test in tests:  # noqa: SIM110
            if member_test(view):
                return True
        return False

    return is_any_true


def _negated_test(condition: Not) -> Test:
    inner = compile_condition(condition.inner)
    return lambda view: not inner(view)


_FORMS: dict[type, Callable[[Any], Test]] = {
    Always: _always_test,
    ResultTest: _result_test,
    VerdictTest: _verdict_test,
    FailureTypeTest: _failure_type_test,
    EvalTest: _eval_test,
    OutputTest: _output_test,
    FactTest: _fact_test,
    EdgeCountTest: _edge_count_test,
    All: _all_test,
    AnyOf: _any_test,
    Not: _negated_test,
    AnswerTest: _answer_test,
}
