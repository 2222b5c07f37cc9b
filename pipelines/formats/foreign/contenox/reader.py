"""Task chains of contenox: `id, description, tasks` (B1…B20). The native document has the preset `contenox`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from pipelines.formats.foreign.contenox.work import Chain, task_labels, work_document
from pipelines.formats.foreign.import_notes import (
    ImportNotes,
    Json,
    key_slug,
    objects_in_list,
    shortened_json,
    text_or_none,
    unread_parts,
)
from pipelines.routing.basics import jsontext
from pipelines.routing.basics.values import json_number_or_none
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.document.compose_strategies import STRATEGIES
from pipelines.routing.document.operators import COMMON, ORDERED

PRESET: Final = "contenox"
FAILED: Final = {"result": ["failure", "cancelled"]}
OPERATORS: Final = {
    **{
        operator: operator
        for operator in (
            "equals",
            "not_equals",
            "contains",
            "not_contains",
            "starts_with",
            "ends_with",
            "range",
        )
    },
    ">": "gt",
    "gt": "gt",
    "<": "lt",
    "lt": "lt",
    "in_range": "range",
}
READ_OF_TASK: Final = (
    "prompt_template",
    "retry_on_failure",
    "timeout",
)
READ_OF_TRANSITION: Final = ("on_failure", "branches")
READ_OF_BRANCH: Final = ("operator", "when", "goto", "compose")
JSON_PATH: Final = "json_path:"
MOST_LABELS: Final = 1_000
"""Of one task: each is compared with each branch."""
# 3-5, or -1.5 - 2: here the bounds of a range stand around a comma.
_RANGE = re.compile(r"\s*(-?\d+(?:\.\d+)?)\s*-\s*(-?\d+(?:\.\d+)?)\s*")
_DURATION = re.compile(r"(?:\d+(?:\.\d+)?(?:h|m|s|ms|us|µs|ns))+")
# “ms” stands before “m”: the first alternative that fits is taken.
_PART = re.compile(r"(\d+(?:\.\d+)?)(h|ms|us|µs|ns|m|s)")
SECONDS: Final = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}


def read_chain(document: Mapping[str, Any], import_notes: ImportNotes) -> Json:
    tasks = objects_in_list(import_notes, document.get("tasks"), "tasks")
    if not tasks:
        import_notes.note_fault("tasks", "a chain has at least one task")
    keys: dict[str, str] = {}
    for place, task in tasks:
        identity = task.get("id")
        if identity is None and len(tasks) == 1:
            identity = "task"
            import_notes.note_loss(f"{place}.id", "is missing: the task is called “task” here")
        if not isinstance(identity, str) or not identity or identity == "end" or identity in keys:
            import_notes.note_fault(f"{place}.id", "has to be a text of its own, and not “end”")
        else:
            keys[identity] = import_notes.claim_key(identity, "task")
    chain = Chain([task for _place, task in tasks], keys)
    name = str(document.get("id") or document.get("description") or "Chain")
    if not document.get("id"):
        import_notes.note_loss("id", _("is missing: the line is called “%(name)s” here", name=name[:80]))
    stations = [
        _station_document(task, place, chain, import_notes)
        for place, task in tasks
        if str(task.get("id") or "task") in keys
    ]
    return {
        "gateline": 1,
        "key": key_slug(name, "chain"),
        "name": _title_text(name),
        **({"description": str(document["description"])} if document.get("description") else {}),
        "preset": PRESET,
        "inputs": [{"key": "input", "type": "long_text", "label": "Input", "required": True}],
        "stations": stations,
        **unread_parts(document, ("description", "tasks")),
    }


def _station_document(task: Mapping[str, Any], place: str, chain: Chain, import_notes: ImportNotes) -> Json:
    identity = str(task.get("id") or "task")
    key = chain.keys[identity]
    rules = _rule_documents(task, place, key, chain.keys, import_notes)
    limit = _seconds_or_none(task.get("timeout"), f"{place}.timeout", import_notes)
    transition = task.get("transition")
    unread = unread_parts(transition, READ_OF_TRANSITION) if isinstance(transition, Mapping) else {}
    return {
        "key": key,
        "name": _title_text(identity),
        "work": work_document(task, place, _title_text(identity), rules, chain, import_notes),
        **({"limits": {"max_timeout": limit}} if limit else {}),
        "rules": rules,
        # What nobody reads of the transition is kept in its place, so that an export has it.
        **unread_parts({**task, "transition": unread.get("extra")}, READ_OF_TASK),
    }


def _rule_documents(
    task: Mapping[str, Any], place: str, key: str, keys: Mapping[str, str], import_notes: ImportNotes
) -> list[Json]:
    transition = import_notes.object_or_loss(task.get("transition"), f"{place}.transition")
    rules = _failure_rules(task, transition, place, key, keys, import_notes)
    branches = objects_in_list(import_notes, transition.get("branches"), f"{place}.transition.branches")
    last = [entry for entry in branches if entry[1].get("operator") == "default"]
    others = [entry for entry in branches if entry[1].get("operator") != "default"]
    if last and others and branches.index(last[0]) < branches.index(others[-1]):
        # Their engine asks it last wherever it stands (T1).
        import_notes.note_loss(last[0][0], "“default” is asked last there, so it stands last here")
    labels = task_labels(task)
    if len(labels) > MOST_LABELS:
        import_notes.note_fault(
            f"{place}.valid_conditions", _("has more than %(most)s members", most=f"{MOST_LABELS:,}")
        )
        return []
    for at, branch in _with_label_branches(labels, others, last):
        rule = _branch_rule_or_none(branch, at, key, keys, import_notes)
        if rule is not None:
            rules.append(rule)
    return rules


Branch = tuple[str, Mapping[str, Any]]
"""With its place."""


def _with_label_branches(labels: Iterable[str], others: list[Branch], last: list[Branch]) -> Iterator[Branch]:
    """Yield the branches with one for each word that may be chosen, before the first that takes it, else that of the
    default: any other answer is a failure (B12)."""
    added: dict[int, list[Branch]] = {}
    for label in dict.fromkeys(labels):
        takers = (index for index, (_at, branch) in enumerate(others) if _accepts_label(branch, label))
        index = next(takers, len(others))
        for at, branch in [*others[index : index + 1], *last][:1]:
            if branch.get("operator") != "equals":
                added.setdefault(index, []).append((at, {**branch, "operator": "equals", "when": label}))
    for index, branch_entry in enumerate(others):
        yield from (*added.get(index, ()), branch_entry)
    yield from (*added.get(len(others), ()), *last)


def _accepts_label(branch: Mapping[str, Any], label: str) -> bool:
    operator, value = OPERATORS.get(text_or_none(branch.get("operator")) or "", ""), branch.get("when")
    if operator in ORDERED:
        pair = json_number_or_none(label), json_number_or_none(str(value))
        return None not in pair and COMMON[operator].holds(*pair)
    return operator in COMMON and COMMON[operator].holds(label, value)


def _failure_rules(
    task: Mapping[str, Any],
    transition: Mapping[str, Any],
    place: str,
    key: str,
    keys: Mapping[str, str],
    import_notes: ImportNotes,
) -> list[Json]:
    """A failing handler never reaches a branch: after its retries it goes to `on_failure`, or the chain fails (B19)."""
    again = import_notes.whole_number_or_loss(
        task.get("retry_on_failure"), f"{place}.retry_on_failure", least=0
    )
    after = transition.get("on_failure") or ""
    target = "failed"
    if after:
        if text_or_none(after) is None or after not in keys:
            import_notes.note_fault(
                f"{place}.transition.on_failure", _("there is no task %(id)s", id=jsontext.dumps(after)[:80])
            )
            return []
        target = keys[after]
    if again:
        retry = {
            "id": import_notes.claim_rule_id(f"{key}-retry", "rule"),
            "label": "Retry",
            "when": dict(FAILED),
            "to": key,
        }
        return [{**retry, "max_retries": again, "on_exhausted": {"to": target}}]
    if after:
        return [
            {
                "id": import_notes.claim_rule_id(f"{key}-on-failure", "rule"),
                "label": "on_failure",
                "when": dict(FAILED),
                "to": target,
            }
        ]
    return []


def _branch_rule_or_none(
    branch: Mapping[str, Any], at: str, key: str, keys: Mapping[str, str], import_notes: ImportNotes
) -> Json | None:
    goto, operator, expected = (
        branch.get("goto") or "end",
        text_or_none(branch.get("operator")),
        branch.get("when", ""),
    )
    if text_or_none(goto) is None or (goto != "end" and goto not in keys):
        import_notes.note_fault(f"{at}.goto", _("there is no task %(id)s", id=shortened_json(goto)))
        return None
    condition: Json | None = None
    if operator == "edge_traversed_at_least":
        condition = _edge_condition_or_none(branch, at, keys, import_notes)
    elif operator in OPERATORS:
        condition = output_test_or_none(str(operator), expected, at, import_notes)
    elif operator != "default":
        import_notes.note_fault(
            f"{at}.operator",
            _("%(operator)s is no operator of a branch", operator=jsontext.dumps(operator)[:60]),
        )
        return None
    if condition is None and operator != "default":
        return None
    # A failing handler reaches no branch (B19).
    guard: Json = {"not": dict(FAILED)}
    compose = _compose_document_or_none(branch.get("compose"), f"{at}.compose", keys, import_notes)
    expected_text = expected if isinstance(expected, str) else jsontext.dumps(expected)
    label = f"{operator} {expected_text}".strip() if operator != "default" else "default"
    return {
        "id": import_notes.claim_rule_id(f"{key}-{expected or operator}", "rule"),
        "label": label,
        "when": guard if condition is None else {"all": [guard, condition]},
        "to": "completed" if goto == "end" else keys[goto],
        **({"compose": [compose]} if compose else {}),
        **unread_parts(
            branch, (*READ_OF_BRANCH, *(("edge",) if operator == "edge_traversed_at_least" else ()))
        ),
    }


def _edge_condition_or_none(
    branch: Mapping[str, Any], at: str, keys: Mapping[str, str], import_notes: ImportNotes
) -> Json | None:
    source, arrow, target = str(branch.get("edge") or "").partition("->")
    least = str(branch.get("when", "")).strip()
    if not arrow or source not in keys or target not in keys or not least.isdecimal() or len(least) > 9:
        import_notes.note_fault(f"{at}.edge", "has to be like task->task, with a whole number in when")
        return None
    return {"edge": {"from": keys[source], "to": keys[target], "at_least": int(least)}}


def output_test_or_none(operator: str, expected: Any, at: str, import_notes: ImportNotes) -> Json | None:
    op, value = OPERATORS[operator], expected
    if op in ("gt", "lt"):
        try:
            value = jsontext.loads(str(expected))
        except jsontext.JsonTextError:
            value = None
        # A number that no double holds exactly comes as a Decimal, which has `as_tuple`.
        if isinstance(value, bool) or (
            not isinstance(value, (int, float)) and not hasattr(value, "as_tuple")
        ):
            import_notes.note_fault(f"{at}.when", "has to be a number")
            return None
    elif operator == "in_range":
        bounds = _RANGE.fullmatch(str(expected))
        if bounds is None:
            import_notes.note_fault(f"{at}.when", "has to be a range like 3-5")
            return None
        value = f"{bounds[1]},{bounds[2]}"
    elif not isinstance(value, str):
        value = jsontext.dumps(value)
    if value == "tool_call" or value == "tool-call":
        other = {"tool_call": "tool-call", "tool-call": "tool_call"}[value]
        if value == "tool_call":
            import_notes.note_loss(
                f"{at}.when", _("a chat here says %(other)s, which is another word", other=other)
            )
    return {"eval": {"op": op, "value": value}}


def _compose_document_or_none(
    compose: Any, at: str, keys: Mapping[str, str], import_notes: ImportNotes
) -> Json | None:
    compose = import_notes.object_or_loss(compose, at)
    if not compose:
        return None
    name, strategy = compose.get("with_var"), str(compose.get("strategy") or "override")
    if not isinstance(name, str) or not name:
        import_notes.note_fault(f"{at}.with_var", "has to name a variable")
        return None
    if strategy.startswith(JSON_PATH):
        return {"var": name, "path": strategy.removeprefix(JSON_PATH)}
    if strategy not in STRATEGIES:
        import_notes.note_fault(f"{at}.strategy", _("%(strategy)s is no strategy", strategy=strategy[:60]))
        return None
    if name in keys:
        import_notes.note_loss(
            at,
            _(
                "“%(name)s” is what a task said, which is no variable here: this branch fails until one has that name",
                name=name,
            ),
        )
    return {"var": name, "strategy": strategy}


def _seconds_or_none(value: Any, at: str, import_notes: ImportNotes) -> float | None:
    """A duration as Go writes it, or nanoseconds (T12)."""
    if value in (None, "", 0):
        return None
    if type(value) is int:
        # Never 0, which would be no limit at all.
        return max(value / 1e9, 0.001)
    if isinstance(value, str) and _DURATION.fullmatch(value):
        return sum(float(number) * SECONDS[unit] for number, unit in _PART.findall(value)) or None
    import_notes.note_loss(
        at,
        _(
            "%(given)s is no duration: the task has no time limit of its own",
            given=jsontext.dumps(value)[:60],
        ),
    )
    return None


def _title_text(identity: str) -> str:
    text = re.sub(r"[_-]+", " ", identity).strip() or identity
    return text[:1].upper() + text[1:]
