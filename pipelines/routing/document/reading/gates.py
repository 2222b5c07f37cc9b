"""Gates of a document: checks, mode, approval (law §6)."""

from __future__ import annotations

from typing import Any

from pipelines.routing.basics.problems import join
from pipelines.routing.basics.values import named
from pipelines.routing.document import checks, operators
from pipelines.routing.document.checks import Check, Group
from pipelines.routing.document.model import FLUX_OFFERS, OFFERS, WORDS, Approval, Due, Gate, Requirement
from pipelines.routing.document.reading.names import Names, note_twins, read_key
from pipelines.routing.document.reading.policy import read_route
from pipelines.routing.document.reading.reader import Problems, Reader
from pipelines.routing.document.reading.tools import read_tool

MODES = ("auto", "manual", "checks_then_manual", "skip")
DUE = ("remind", "escalate", "reject")
REQUIREMENTS = ("role", "group", "user")
MAX_VOTES = 100


class GateReader:
    """`preset` decides which words a gate offers where it does not say."""

    def __init__(self, names: Names, preset: str) -> None:
        self.names = names
        self.preset = preset

    def __call__(self, reader: Reader) -> Gate:
        key = read_key(reader)
        group = _checks(reader)
        tool = reader.one("tool", read_tool)
        gate = Gate(
            key=key,
            name=reader.text("name", key),
            description=reader.text("description"),
            mode=reader.choice(
                "mode", MODES, "manual" if group is None and tool is None else "checks_then_manual"
            ),
            requires_approval=reader.flag("requires_approval", True),
            checks=group,
            approval=reader.one("approval", _approval) or Approval(),
            offers=self._offers(reader),
            on_reject=read_route(
                reader, "on_reject", ("fail", "rework", "reviewer_chooses"), "route", self.names
            ),
            due=reader.one("due", _due),
            notify=reader.texts("notify"),
            tool=tool,
            extra=reader.object("extra"),
        )
        reader.done()
        return gate

    def _offers(self, reader: Reader) -> tuple[str, ...]:
        given = reader.texts("offers")
        for index, word in enumerate(given):
            if word not in WORDS:
                path = join(reader.at("offers"), index)
                reader.problems.note(path, f"has to be one of {', '.join(WORDS)}")
        note_twins(reader, "offers", given, "the word")
        if reader.given.get("offers") == []:
            reader.note("offers", "a gate offers at least one word", "leave the key out for the usual ones")
        return given or (FLUX_OFFERS if self.preset == "flux" else OFFERS)


def _checks(reader: Reader) -> Group | None:
    value = reader.raw("checks")
    return _group(value, reader.at("checks"), reader.problems, 1) if reader.has("checks") else None


def _group(value: Any, path: str, problems: Problems, depth: int) -> Group | None:
    if type(value) is not dict or len(value) != 1 or next(iter(value)) not in ("all", "any"):
        problems.note(path, "a group of checks is {all: […]} or {any: […]}")
        return None
    if depth > checks.MAX_NESTING:
        problems.note(path, f"groups of checks nest at most {checks.MAX_NESTING} deep")
        return None
    [(kind, members)] = value.items()
    if type(members) is not list:
        problems.note(join(path, kind), f"has to be a list of checks, not {named(members)}")
        return None
    read = [_member(m, join(join(path, kind), i), problems, depth) for i, m in enumerate(members)]
    return Group(kind, tuple(member for member in read if member is not None))


def _member(value: Any, path: str, problems: Problems, depth: int) -> Check | Group | None:
    if type(value) is dict and ("all" in value or "any" in value):
        return _group(value, path, problems, depth + 1)
    return _check(Reader(value, path, problems))


def _check(reader: Reader) -> Check:
    field = reader.text("field", required=True)
    operator = reader.choice("operator", checks.OPERATORS, "exists")
    if not reader.has("operator"):
        reader.note("operator", "is missing")
    value = reader.raw("value")
    check = Check(
        field=field,
        operator=operator,
        value=None if operator == "exists" else value,
        severity=reader.choice("severity", checks.SEVERITIES, "required"),
        action=reader.choice("action", checks.ACTIONS, "hold"),
        label=reader.text("label"),
        prepared=_prepared(operator, value, reader),
    )
    reader.done()
    return check


def _prepared(operator: str, value: Any, reader: Reader) -> Any:
    if operator == "exists":
        return None
    if not reader.has("value"):
        reader.note("value", "is missing")
        return None
    try:
        return operators.prepare(operator, value)
    except operators.OperandError as error:
        reader.note("value", str(error))
        return None


def _approval(reader: Reader) -> Approval:
    usual = Approval()
    rounds = reader.count("max_rounds", usual.max_rounds)
    approval = Approval(
        who=reader.each("who", _requirement) or usual.who,
        requester_may=reader.flag("requester_may"),
        producer_may=reader.flag("producer_may"),
        reason_required=reader.flag("reason_required"),
        max_rounds=usual.max_rounds if rounds is None else rounds,
    )
    if reader.given.get("who") == []:
        reader.note("who", "names nobody", "leave the key out for one reviewer")
    reader.done()
    return approval


def _requirement(reader: Reader) -> Requirement:
    kinds = [kind for kind in REQUIREMENTS if reader.has(kind)]
    if len(kinds) != 1:
        reader.problems.note(reader.path, "has to name one of role, group, user")
        reader.known.update(dict.fromkeys(reader.given))
        return Requirement("role", "")
    [kind] = kinds
    name = reader.text(kind, required=True, longest=150)
    count = reader.count("count", 1, least=1) or 1
    if count > (1 if kind == "user" else MAX_VOTES):
        most = "1 for a user" if kind == "user" else str(MAX_VOTES)
        reader.note("count", f"is at most {most}")
    reader.done()
    return Requirement(kind, name, count)


def _due(reader: Reader) -> Due:
    after = reader.duration("after")
    if not reader.has("after"):
        reader.note("after", "is missing")
    due = Due(after or 0, reader.choice("then", DUE, "remind"))
    reader.done()
    return due
