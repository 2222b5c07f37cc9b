"""§3: the conditions, what makes one faulty and when one is true."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jsonpath_rfc9535
import re2

from .paths import nodes
from .values import JSON_NUMBER, Json, equal, holds_for, number, number_in, ordered

TEXT_OPS = ("equals", "not_equals", "contains", "not_contains", "starts_with", "ends_with")
ORDER_OPS = ("gt", "gte", "lt", "lte")
EVAL_OPS = (*TEXT_OPS, *ORDER_OPS, "range")
OUTPUT_OPS = (*TEXT_OPS, *ORDER_OPS, "exists", "missing", "matches", "in", "not_in", "type")
TYPES = ("null", "boolean", "number", "string", "array", "object")
RESULTS = ("success", "failure", "cancelled", "blocked", "any")
VERDICTS = ("pass", "fail", "blocked", "any")
ANSWERS = {"agentic": ("yes", "no"), "hook": ("pass", "block")}


@dataclass
class Asked(Exception):
    """An evaluation was reached whose answer is not known yet."""

    evaluation: dict[str, Json]


@dataclass
class Unanswered(Exception):
    """An evaluation was reached that nobody could answer."""

    evaluation: dict[str, Json]


class Unparseable(Exception):
    """An `output` operand was reached and the output was there but not JSON."""


@dataclass
class View:
    """What the conditions of a rule see."""

    result: str
    verdict: str
    eval: str
    document: Sequence[Json]  # what `output` reads: empty = none
    unparseable: bool
    failure_type: str | None
    edges: Mapping[str, int]
    answers: Sequence[Mapping[str, Json]]
    facts: Mapping[str, Json] = field(default_factory=dict)  # §13: "a root of its own, never the context"
    lost: frozenset[str] = frozenset()  # keys of the merged context that could not be read (C25)
    texts: list[str | None] = field(default_factory=list)  # of the answered evaluations, as they were reached


def words(value: Json) -> list[Json]:
    """`"success"` or a list of such."""
    return value if isinstance(value, list) else [value]


def bounds(text: str) -> tuple[Any, Any] | None:
    """ "`range` is "min,max", inclusive, spaces allowed; malformed or min > max is refused when saved." """
    parts = [part.strip() for part in text.split(",")]
    if len(parts) != 2 or not all(JSON_NUMBER.fullmatch(part) for part in parts):
        return None
    low, high = number_in(parts[0]), number_in(parts[1])
    return (low, high) if low is not None and high is not None and low <= high else None


def is_pattern(pattern: Json) -> bool:
    """RE2 takes it."""
    options = re2.Options()
    options.log_errors = False
    try:
        re2.compile(pattern, options)
    except (re2.error, TypeError):
        return False
    return True


def is_path(path: Json) -> bool:
    """ "Path starting with `$`: RFC 9535 JSONPath (without its regular-expression functions). Otherwise a
    key." """
    if not isinstance(path, str) or not path:
        return False
    if not path.startswith("$"):
        return True
    try:
        jsonpath_rfc9535.compile(path)
    except jsonpath_rfc9535.JSONPathError:
        return False
    return not re.search(r"\b(match|search)\s*\(", path)


def is_faulty(when: Json) -> bool:
    """Whether a condition is none of the forms of the table."""
    if not isinstance(when, Mapping) or len(set(when) - {"answer"}) != 1:
        return True
    form = (set(when) - {"answer"}).pop()
    body = when[form]
    if form in ANSWERS:
        return when.get("answer") not in ANSWERS[form]
    if "answer" in when:
        return True
    if form in ("all", "any"):
        return not isinstance(body, list) or any(is_faulty(part) for part in body)
    if form == "not":
        return is_faulty(body)
    return form not in SOUND or not SOUND[form](body)


def is_faulty_operand(body: Json, ops: Sequence[str], keys: set[str]) -> bool:
    """The body of `eval` or `output`."""
    if not isinstance(body, Mapping) or set(body) - keys or body.get("op") not in ops:
        return True
    if body.get("of", "some") not in ("some", "every", "count"):
        return True
    if body["op"] == "range":
        return not isinstance(body.get("value"), str) or bounds(body["value"]) is None
    if body["op"] == "matches":
        return not is_pattern(body.get("value"))
    if body["op"] == "type":  # "`type`: null, boolean, number, string, array, object."
        return body.get("value") not in TYPES
    if body["op"] in ("in", "not_in"):
        return not isinstance(body.get("value"), list)
    return body["op"] not in ("exists", "missing") and "value" not in body


SOUND: dict[str, Callable[[Json], bool]] = {
    "always": lambda body: body is True,
    "result": lambda body: all(word in RESULTS for word in words(body)),
    "verdict": lambda body: all(word in VERDICTS for word in words(body)),
    "failure_type": lambda body: all(isinstance(word, str) for word in words(body)),
    "edge": lambda body: set(body) == {"from", "to", "at_least"} and isinstance(body["at_least"], int),
    "eval": lambda body: not is_faulty_operand(body, EVAL_OPS, {"op", "value"}),
    "fact": lambda body: SOUND["output"](body),  # "ops and paths are as for `output`"
    "output": lambda body: (
        not is_faulty_operand(body, OUTPUT_OPS, {"path", "op", "value", "of"}) and is_path(body.get("path"))
    ),
}


def is_true(when: Mapping[str, Json], view: View) -> bool:
    """A condition that is not faulty, for what `view` shows."""
    if "always" in when:
        return True
    if "result" in when:  # "`any` = success, failure, cancelled"
        named = words(when["result"])
        return view.result in named or ("any" in named and view.result in ("success", "failure", "cancelled"))
    if "verdict" in when:  # "`any` = pass, fail"
        named = words(when["verdict"])
        return view.verdict in named or ("any" in named and view.verdict in ("pass", "fail"))
    if "failure_type" in when:  # "equals, or in a list"
        return view.failure_type is not None and view.failure_type in words(when["failure_type"])
    if "edge" in when:  # "this task has taken that edge n times or more"
        edge = when["edge"]
        return view.edges.get(f"{edge['from']}->{edge['to']}", 0) >= edge["at_least"]
    if "all" in when:  # "left to right, stopping as soon as it is settled"
        return all(is_true(part, view) for part in when["all"])
    if "any" in when:
        return any(is_true(part, view) for part in when["any"])
    if "not" in when:
        return not is_true(when["not"], view)
    if "eval" in when:
        return eval_is_true(when["eval"], view.eval)
    if "output" in when:
        return output_is_true(when["output"], view)
    if (
        "fact" in when
    ):  # "the rule for what is missing is as for `output`"; "never raises `OutputDataParseError`"
        return is_true_at(when["fact"], [view.facts])
    return evaluation_is_true(when, view)


def eval_is_true(operand: Mapping[str, Json], text: str) -> bool:
    """The ops on the eval, which is always there."""
    op, value = operand["op"], operand["value"]
    if op == "range":
        low, high = bounds(value) or (None, None)
        return ordered("gte", number_in(text), low) and ordered("lte", number_in(text), high)
    if op in ORDER_OPS:
        return ordered(op, number_in(text), number(value))
    return holds_for(op, text, value)


def names_one(path: str, keys: frozenset[str]) -> bool:
    """ "when … a `merged` condition asks for one of its wanted keys" """
    if not path.startswith("$"):
        return path in keys or path.split(".")[0] in keys
    return any(re.match(rf"\$(\.{re.escape(key)}(?![\w])|\['{re.escape(key)}'\])", path) for key in keys)


def output_is_true(operand: Mapping[str, Json], view: View) -> bool:
    """The ops on the nodes of a path in the output."""
    # "the first `output` operand that is reached makes the task stuck with `OutputDataParseError`"
    if view.unparseable or names_one(operand["path"], view.lost):
        raise Unparseable
    return is_true_at(operand, view.document)


def is_true_at(operand: Mapping[str, Json], document: Sequence[Json]) -> bool:
    """The ops on the nodes that a path finds in none or one document."""
    found, op, value = nodes(document, operand["path"]), operand["op"], operand.get("value")
    of = operand.get("of", "some")
    if of == "count":  # "op and value apply to how many there are; none, or no output, is 0"
        return holds_for(op, len(found), value)
    if op == "missing":  # "true exactly when there is no node"
        return not found
    if not found:  # "Missing is false, not an error, for every op but `missing`, the `not_` ones included"
        return False
    if of == "every":  # "(false on none)"
        return all(holds_for(op, node, value) for node in found)
    return any(holds_for(op, node, value) for node in found)


def evaluation_is_true(when: Mapping[str, Json], view: View) -> bool:
    """`agentic` and `hook`, from the answers that are known."""
    form = "agentic" if "agentic" in when else "hook"
    evaluation = {form: when[form]}
    given = [known for known in view.answers if form in known and equal(known[form], when[form])]
    if not given:  # "When `decide` reaches one whose answer is not known yet it returns `Ask(evaluation)`"
        raise Asked(evaluation)
    last = given[-1]  # "of several answers the last counts"
    # "Any word but yes / no (pass / block) is no answer"; "No answer, or a bad one: the fact is `unanswered`"
    if last["answer"] not in ANSWERS[form]:
        raise Unanswered(evaluation)
    view.texts.append(last.get("text"))
    return bool(last["answer"] == when["answer"])
