"""Conditions from a document: one reader for each form, in the order of the table of law §3."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from pipelines.routing.basics.outcome import RESULTS, VERDICTS
from pipelines.routing.basics.problems import member_path
from pipelines.routing.basics.values import kind_phrase
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.document import algebra, operators
from pipelines.routing.document.algebra import Condition
from pipelines.routing.document.document_readers.names import unknown_reference_message
from pipelines.routing.document.document_readers.reader import (
    Problems,
    Reader,
    expected_hint,
    unknown_word_message,
)
from pipelines.routing.document.evaluations import EVALUATORS, PERSON, WORDS, Evaluation
from pipelines.routing.document.paths import PathError, compile_path

ANY_RESULT = ("success", "failure", "cancelled")
ANY_VERDICT = ("pass", "fail")
MAX_ARGUMENTS = 1_000

FALLBACK = algebra.Always()
"""Stands where a condition could not be read; the fault is noted, so it is never asked."""

Read = Callable[[Any, str, Problems, Collection[str]], Condition]


def read_condition(value: Any, path: str, problems: Problems, places: Collection[str]) -> Condition:
    """The condition that `value` says; faults are noted in `problems`. `places`: the keys of its stations and ends."""
    if type(value) is not dict:
        problems.note(
            path,
            _("a condition is an object, not %(value)s", value=kind_phrase(value)),
            "for example {result: success}",
        )
        return FALLBACK
    forms = [key for key in value if key in KNOWN]
    if len(forms) != 1:
        message = "a condition has exactly one form" if forms else "no known form of a condition"
        problems.note(
            path, message, expected_hint(str(next(iter(value), "")), KNOWN) if not forms else "use all: […]"
        )
        return FALLBACK
    form = forms[0]
    # Two forms in one condition would leave open which of them counts
    companions = ("answer",) if form in WORDS else ()
    _note_unknown_condition_keys(value, (form, *companions), path, problems)
    if form in WORDS:
        return _read_answer_test(form, value, path, problems)
    return FORMS[form](value[form], member_path(path, form), problems, places)


def _note_unknown_condition_keys(
    value: dict[str, Any], known: tuple[str, ...], path: str, problems: Problems
) -> None:
    for key in value:
        if key not in known:
            problems.note(
                member_path(path, str(key)), "unknown key in a condition", expected_hint(str(key), known)
            )


def _read_always(value: Any, path: str, problems: Problems, places: Collection[str]) -> Condition:
    if value is not True:
        problems.note(
            path,
            _("has to be true, not %(value)s", value=kind_phrase(value)),
            "leave the rule out, or use not: {always: true}",
        )
    return algebra.Always()


def _read_words(value: Any, path: str, problems: Problems) -> tuple[str, ...]:
    """A word or a list of words."""
    if type(value) is str:
        return (value,)
    if type(value) is not list or not all(type(word) is str for word in value):
        problems.note(path, _("has to be a text or a list of texts, not %(value)s", value=kind_phrase(value)))
        return ()
    return tuple(value)


def _words_noting_unknown(
    value: Any, path: str, problems: Problems, known: tuple[str, ...]
) -> tuple[str, ...]:
    words = _read_words(value, path, problems)
    for word in words:
        if word != "any" and word not in known:
            # The words of the form are those of the document.
            choices = {choice: choice for choice in (*known, "any")}
            problems.note(path, unknown_word_message(word), expected_hint(word, choices))
    return words


def _expand_any(words: tuple[str, ...], any_of: tuple[str, ...]) -> frozenset[str]:
    return frozenset(words).union(any_of) - {"any"} if "any" in words else frozenset(words)


def _read_result(value: Any, path: str, problems: Problems, places: Collection[str]) -> Condition:
    words = _words_noting_unknown(value, path, problems, RESULTS)
    return algebra.ResultTest(words, _expand_any(words, ANY_RESULT))


def _read_verdict(value: Any, path: str, problems: Problems, places: Collection[str]) -> Condition:
    words = _words_noting_unknown(value, path, problems, VERDICTS)
    return algebra.VerdictTest(words, _expand_any(words, ANY_VERDICT))


def _read_failure_type(value: Any, path: str, problems: Problems, places: Collection[str]) -> Condition:
    return algebra.FailureTypeTest(_read_words(value, path, problems))


def _read_eval(value: Any, path: str, problems: Problems, places: Collection[str]) -> Condition:
    reader = Reader(value, path, problems)
    op = reader.text("op", required=True)
    operand = reader.raw("value")
    reader.note_unknown_keys()
    # That it is missing was told by `text`, and an empty one is no unknown word
    if "op" in reader.given and op != "range" and op not in operators.COMMON:
        reader.note(
            "op", unknown_word_message(op), expected_hint(op, _operator_labels((*operators.COMMON, "range")))
        )
    elif not reader.has("value"):
        reader.note("value", "is missing")
    elif op == "range":
        return algebra.EvalTest(op, operand, _read_range_or_none(operand, reader))
    return algebra.EvalTest(op, operand)


def _operator_labels(known: Collection[str]) -> Mapping[str, str]:
    """Return each operator with its label in the form."""
    return {op: operators.WORDS[op] for op in known}


def _read_range_or_none(operand: Any, reader: Reader) -> tuple[Any, Any] | None:
    try:
        return operators.parse_least_and_most(operand)
    except operators.OperandError as error:
        reader.note("value", str(error))
        return None


def _read_output(value: Any, path: str, problems: Problems, places: Collection[str]) -> Condition:
    return _read_path_test(algebra.OutputTest, value, path, problems)


def _read_fact(value: Any, path: str, problems: Problems, places: Collection[str]) -> Condition:
    return _read_path_test(algebra.FactTest, value, path, problems)


def _read_path_test(
    form: type[algebra.OutputTest | algebra.FactTest], value: Any, path: str, problems: Problems
) -> Condition:
    reader = Reader(value, path, problems)
    where = reader.text("path", required=True)
    op = reader.text("op", required=True)
    operand = reader.raw("value")
    of = reader.choice("of", ("some", "every", "count"), "some")
    reader.note_unknown_keys()
    # A faulty test is read as one that never matters: its problem refuses the document
    before = len(problems)
    compiled = _read_path(where, reader) if where else None
    prepared = _read_operand(op, operand, reader)
    if compiled is None or len(problems) > before:
        return FALLBACK
    return form(compiled, op, operand, of, prepared)


def _read_path(text: str, reader: Reader) -> Any:
    try:
        return compile_path(text)
    except PathError as error:
        reader.note("path", str(error))
        return None


def _read_operand(op: str, operand: Any, reader: Reader) -> Any:
    """The value prepared for its operator; `exists` and `missing` take none."""
    if not op or op in operators.ALONE:
        return None
    if op not in operators.OUTPUT:
        known = _operator_labels((*operators.OUTPUT, *operators.ALONE))
        reader.note("op", unknown_word_message(op), expected_hint(op, known))
        return None
    if not reader.has("value"):
        reader.note("value", "is missing")
        return None
    try:
        return operators.prepare_operand(op, operand)
    except operators.OperandError as error:
        reader.note("value", str(error))
        return None


def _read_edge(value: Any, path: str, problems: Problems, places: Collection[str]) -> Condition:
    reader = Reader(value, path, problems)
    source, target = reader.text("from", required=True), reader.text("to", required=True)
    at_least = reader.count("at_least")
    if not reader.has("at_least"):
        reader.note("at_least", "is missing")
    reader.note_unknown_keys()
    for key, place in (("from", source), ("to", target)):
        if place and place not in places:
            reader.note(key, unknown_reference_message("station", place), expected_hint(place, places))
    return algebra.EdgeCountTest(source, target, at_least or 0)


def _read_conditions(
    value: Any, path: str, problems: Problems, places: Collection[str]
) -> tuple[Condition, ...]:
    if type(value) is not list:
        problems.note(path, _("has to be a list of conditions, not %(value)s", value=kind_phrase(value)))
        return ()
    return tuple(
        read_condition(member, member_path(path, i), problems, places) for i, member in enumerate(value)
    )


def _read_all(value: Any, path: str, problems: Problems, places: Collection[str]) -> Condition:
    return algebra.All(_read_conditions(value, path, problems, places))


def _read_any(value: Any, path: str, problems: Problems, places: Collection[str]) -> Condition:
    return algebra.AnyOf(_read_conditions(value, path, problems, places))


def _read_not(value: Any, path: str, problems: Problems, places: Collection[str]) -> Condition:
    return algebra.Not(read_condition(value, path, problems, places))


def _read_answer_test(form: str, value: dict[str, Any], path: str, problems: Problems) -> Condition:
    reader = Reader(value[form], member_path(path, form), problems)
    if form == "agentic":
        reader.text("question", required=True)
        if reader.has("evaluator"):
            reader.choice("evaluator", EVALUATORS, PERSON)
    else:
        read_argv(reader)
        reader.duration("timeout")
    reader.note_unknown_keys()
    answer = value.get("answer")
    if type(answer) is not str or answer not in WORDS[form]:
        problems.note(member_path(path, "answer"), _("has to be %(known)s", known=" or ".join(WORDS[form])))
        return FALLBACK
    return algebra.AnswerTest(Evaluation.of(form, reader.given), answer)


def read_argv(reader: Reader) -> tuple[str, ...]:
    argv = reader.texts("argv")
    if not reader.has("argv"):
        reader.note("argv", "is missing")
    elif not argv and type(reader.given["argv"]) is list:
        reader.note("argv", "names no program")
    elif len(argv) > MAX_ARGUMENTS:
        reader.note("argv", _("has more than %(most)s arguments", most=MAX_ARGUMENTS))
    return argv


FORMS: dict[str, Read] = {
    "always": _read_always,
    "result": _read_result,
    "verdict": _read_verdict,
    "eval": _read_eval,
    "output": _read_output,
    "fact": _read_fact,
    "failure_type": _read_failure_type,
    "edge": _read_edge,
    "all": _read_all,
    "any": _read_any,
    "not": _read_not,
}
"""The forms that stand alone; agentic and hook have a companion key `answer`."""

KNOWN = (*FORMS, *WORDS)
