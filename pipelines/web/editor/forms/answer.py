"""One answer of a form: what was typed is tried, what the readers take is kept, and the form is shown as it is then."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pipelines.routing.document.line import Problem
from pipelines.web.editor.forms import places
from pipelines.web.editor.forms.asked import Deed, FormRequest
from pipelines.web.editor.forms.fields import FieldRefused, FormField
from pipelines.web.editor.forms.form import PartForm, Rows, Section, Setting, examine, fields_of, rows_of

T = TypeVar("T")
Typed = Mapping[str, Sequence[str]]


@dataclass
class FormAnswer:
    """`refused`: fields whose typed text is kept in the form only, with what was typed; `problems` by field name, ""
    for those that no field shows; `label`: what was changed, for undo."""

    fragment: Any
    sections: Sequence[Section]
    problems: dict[str, list[Problem]]
    refused: dict[str, list[str]]
    label: str = ""
    focus: str = ""
    stored: dict[str, list[str]] = field(default_factory=dict)


def answer(form: PartForm, asked: FormRequest, setting: Setting) -> FormAnswer:
    before = form.sections(asked.fragment, setting)
    items = [item for section in before for item in section.fields]
    known = _fields(before, asked.fragment)
    typed = {name: texts for name, texts in asked.typed.items() if name in known}
    fragment, refused, wrong = _tried(form, asked.fragment, known, typed, setting)
    if asked.peek:
        fragment, refused = asked.fragment, typed
    changed = [known[name] for name in typed if name not in refused]
    label = ", ".join(dict.fromkeys(each.label for each in changed if each.label))
    focus = ""
    if asked.deed is not None and not asked.peek:
        fragment, refused, wrong, deed_label, focus = _done(asked.deed, items, fragment, refused, wrong)
        label = deed_label or label
    return _shown(form, fragment, setting, refused, wrong, label, focus)


def _tried(
    form: PartForm, fragment: Any, known: Mapping[str, FormField], typed: Typed, setting: Setting
) -> tuple[Any, dict[str, list[str]], dict[str, list[Problem]]]:
    """The fragment with what can be read of the typed; what cannot, and why."""
    wrong: dict[str, list[Problem]] = {}
    tried = _written(fragment, known, typed, wrong)
    fields = _fields(form.sections(tried, setting), tried)
    for problem in examine(form, tried, setting).faults:
        name = owner_of(problem.path, fields)
        if name in typed:
            wrong.setdefault(name, []).append(problem)
    kept = {name: texts for name, texts in typed.items() if name not in wrong}
    refused = {name: list(typed[name]) for name in wrong}
    return (_written(fragment, known, kept, {}) if refused else tried), refused, wrong


def _written(
    fragment: Any, known: Mapping[str, FormField], typed: Typed, wrong: dict[str, list[Problem]]
) -> Any:
    for name, texts in typed.items():
        try:
            fragment = known[name].written(fragment, texts)
        except FieldRefused as fault:
            wrong[name] = [Problem(name, fault.message, fault.hint)]
    return fragment


def _fields(sections: Sequence[Section], fragment: Any) -> dict[str, FormField]:
    items = [item for section in sections for item in section.fields]
    return {each.name: each for each in fields_of(items, fragment)}


def owner_of(path: str, fields: Mapping[str, FormField]) -> str:
    """The field that shows a problem: the longest name that the path begins with, else the rest of its row or form."""
    named = next((name for name, each in fields.items() if path in each.covers), "")
    inside = [name for name in fields if path.startswith(name) and path[len(name) :][:1] in ("", ".", "[")]
    rests = [
        name
        for name in fields
        if name.endswith("*") and path and path.startswith(name[:-1].removesuffix("."))
    ]
    return named or max(inside, key=len, default="") or max(rests, key=len, default="")


def _done(
    deed: Deed,
    items: Sequence[FormField | Rows],
    fragment: Any,
    refused: dict[str, list[str]],
    wrong: dict[str, list[Problem]],
) -> tuple[Any, dict[str, list[str]], dict[str, list[Problem]], str, str]:
    rows = next((each for each in rows_of(items, fragment) if each.name == deed.rows), None)
    if rows is None:
        return fragment, refused, wrong, "", ""
    members = rows.members(fragment)
    if deed.do == "add":
        fragment = places.put(fragment, rows.at, [*members, rows.new(fragment, deed.kind)])
        return fragment, refused, wrong, rows.add or rows.label, f"{rows.name}[{len(members)}]"
    if deed.index >= len(members):
        return fragment, refused, wrong, "", ""
    order = [*range(len(members))]
    if deed.do == "remove":
        order.remove(deed.index)
        focus = f"{rows.name}[{min(deed.index, len(order) - 1)}]" if order else rows.name
    else:
        to = max(0, min(len(members) - 1, deed.index + (-1 if deed.do == "up" else 1)))
        order.insert(to, order.pop(deed.index))
        focus = f"{rows.name}[{to}].{deed.do}"
    left = [members[index] for index in order]
    now = {f"{rows.name}[{was}]": f"{rows.name}[{at}]" for at, was in enumerate(order)}
    rename = {f"{rows.name}[{index}]": now.get(f"{rows.name}[{index}]") for index in range(len(members))}
    fragment = places.put(fragment, rows.at, left if left or rows.keeps_empty else places.MISSING)
    return fragment, _moved(refused, rename), _moved(wrong, rename), rows.label, focus


def _moved(by_name: Mapping[str, T], rename: Mapping[str, str | None]) -> dict[str, T]:
    """What was typed in a row goes with its row, or away with it."""
    found: dict[str, T] = {}
    for name, value in by_name.items():
        row = next((each for each in rename if name.startswith(f"{each}.")), None)
        to = "" if row is None else rename[row]
        if to is not None:
            found[name if row is None else to + name[len(row) :]] = value
    return found


def _shown(
    form: PartForm,
    fragment: Any,
    setting: Setting,
    refused: dict[str, list[str]],
    wrong: Mapping[str, list[Problem]],
    label: str,
    focus: str,
) -> FormAnswer:
    sections = form.sections(fragment, setting)
    known = _fields(sections, fragment)
    refused = {name: texts for name, texts in refused.items() if name in known}
    found = examine(form, fragment, setting)
    problems: dict[str, list[Problem]] = {}
    for problem in (*found.faults, *found.later):
        name = owner_of(problem.path, known)
        if name not in refused:
            problems.setdefault(name, []).append(problem)
    problems.update({name: wrong.get(name, []) for name in refused})
    stored = {name: known[name].shown(fragment) for name in refused}
    return FormAnswer(fragment, sections, problems, refused, label, focus, stored)
