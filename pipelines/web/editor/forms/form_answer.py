"""Answer of a form: the typed text is tried, the readers' result is stored, and the form is rendered from
that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from pipelines.routing.document.line import Problem
from pipelines.web.editor.forms import fragment_paths
from pipelines.web.editor.forms.fields import FieldRefused, FormField
from pipelines.web.editor.forms.form import (
    FormSetting,
    FragmentProblems,
    PartForm,
    Rows,
    Section,
    flat_fields,
    flat_rows,
    form_problems,
)
from pipelines.web.editor.forms.form_request import FormRequest, RowAction

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


class _FilledForm:
    """A form over a fragment, each part of it made once."""

    def __init__(self, form: PartForm, fragment: Any, setting: FormSetting) -> None:
        self.form, self.fragment, self.setting = form, fragment, setting

    def with_fragment(self, fragment: Any) -> _FilledForm:
        return self if fragment is self.fragment else _FilledForm(self.form, fragment, self.setting)

    @cached_property
    def sections(self) -> Sequence[Section]:
        return self.form.sections(self.fragment, self.setting)

    @cached_property
    def items(self) -> list[FormField | Rows]:
        return [item for section in self.sections for item in section.fields]

    @cached_property
    def fields(self) -> dict[str, FormField]:
        return {field.name: field for field in flat_fields(self.items, self.fragment)}

    @cached_property
    def problems(self) -> FragmentProblems:
        return form_problems(self.form, self.fragment, self.setting)

    def with_typed(self, typed: Typed, wrong: dict[str, list[Problem]]) -> _FilledForm:
        """The form over the fragment with what can be read of the typed; what cannot goes to `wrong`."""
        fragment = self.fragment
        for name, texts in typed.items():
            try:
                fragment = self.fields[name].with_typed(fragment, texts)
            except FieldRefused as fault:
                wrong[name] = [Problem(name, fault.message, fault.hint)]
        return self.with_fragment(fragment)


def answer_form(form: PartForm, form_request: FormRequest, setting: FormSetting) -> FormAnswer:
    before = _FilledForm(form, form_request.fragment, setting)
    typed = {name: texts for name, texts in form_request.typed.items() if name in before.fields}
    after, refused, wrong = _filled_form_refused_texts_and_problems(before, typed)
    if form_request.peek:
        # A peek writes nothing: all that was typed stays in the form.
        after, refused = before, typed
    changed = [before.fields[name] for name in typed if name not in refused]
    label = ", ".join(dict.fromkeys(form_field.label for form_field in changed if form_field.label))
    focus = ""
    if form_request.deed is not None and not form_request.peek:
        fragment, refused, wrong, deed_label, focus = _fragment_refusals_problems_label_and_focus(
            form_request.deed, before.items, after.fragment, refused, wrong
        )
        after, label = before.with_fragment(fragment), deed_label or label
    return _form_answer(after, refused, wrong, label, focus)


def _filled_form_refused_texts_and_problems(
    before: _FilledForm, typed: Typed
) -> tuple[_FilledForm, Typed, dict[str, list[Problem]]]:
    """The form with what the readers take of the typed; what they do not, and why."""
    wrong: dict[str, list[Problem]] = {}
    tried = before.with_typed(typed, wrong)
    for problem in tried.problems.faults:
        name = field_of_problem(problem.path, tried.fields)
        if name in typed:
            wrong.setdefault(name, []).append(problem)
    if not wrong:
        return tried, {}, {}
    accepted = {name: texts for name, texts in typed.items() if name not in wrong}
    # Written once more without what was refused: one wrong field keeps no other from being stored.
    return before.with_typed(accepted, {}), {name: list(typed[name]) for name in wrong}, wrong


def field_of_problem(path: str, fields: Mapping[str, FormField]) -> str:
    """The field that shows a problem: the longest name that the path begins with, else the rest of its row or form."""
    covering = next((name for name, form_field in fields.items() if path in form_field.covers), "")
    # `limits` begins `limits.expected` and `limits[0]`, but not “limits_of”.
    inside = [name for name in fields if path.startswith(name) and path[len(name) :][:1] in ("", ".", "[")]
    # A name with a star at its end is the field for the rest of a row or of the form.
    rests = [
        name
        for name in fields
        if name.endswith("*") and path and path.startswith(name[:-1].removesuffix("."))
    ]
    return covering or max(inside, key=len, default="") or max(rests, key=len, default="")


def _fragment_refusals_problems_label_and_focus(
    deed: RowAction,
    items: Sequence[FormField | Rows],
    fragment: Any,
    refused: Typed,
    wrong: dict[str, list[Problem]],
) -> tuple[Any, Typed, dict[str, list[Problem]], str, str]:
    rows = next((entry for entry in flat_rows(items, fragment) if entry.name == deed.rows), None)
    if rows is None:
        return fragment, refused, wrong, "", ""
    members = rows.members(fragment)
    if deed.do == "add":
        fragment = fragment_paths.fragment_with_value_at(
            fragment, rows.at, [*members, rows.new(fragment, deed.kind)]
        )
        return fragment, refused, wrong, rows.add or rows.label, f"{rows.name}[{len(members)}]"
    if deed.index >= len(members):
        return fragment, refused, wrong, "", ""
    order = [*range(len(members))]
    if deed.do == "remove":
        order.remove(deed.index)
        # The row that moved into its place, or the last one
        focus = f"{rows.name}[{min(deed.index, len(order) - 1)}]" if order else rows.name
    else:
        to = max(0, min(len(members) - 1, deed.index + (-1 if deed.do == "up" else 1)))
        order.insert(to, order.pop(deed.index))
        focus = f"{rows.name}[{to}].{deed.do}"
    left = [members[index] for index in order]
    now = {f"{rows.name}[{was}]": f"{rows.name}[{at}]" for at, was in enumerate(order)}
    # None: the row was removed, and the text typed in it goes with it.
    rename = {f"{rows.name}[{index}]": now.get(f"{rows.name}[{index}]") for index in range(len(members))}
    fragment = fragment_paths.fragment_with_value_at(
        fragment, rows.at, left if left or rows.keeps_empty else fragment_paths.MISSING
    )
    return fragment, _rename_rows(refused, rename), _rename_rows(wrong, rename), rows.label, focus


def _rename_rows(by_name: Mapping[str, T], rename: Mapping[str, str | None]) -> dict[str, T]:
    """Move the text typed in a row along with its row, or drop it with the row."""
    renamed: dict[str, T] = {}
    for name, value in by_name.items():
        row = next((prefix for prefix in rename if name.startswith(f"{prefix}.")), None)
        to = "" if row is None else rename[row]
        if to is not None:
            renamed[name if row is None else to + name[len(row) :]] = value
    return renamed


def _form_answer(
    form: _FilledForm, refused: Typed, wrong: Mapping[str, list[Problem]], label: str, focus: str
) -> FormAnswer:
    known = form.fields
    rejected = {name: list(texts) for name, texts in refused.items() if name in known}
    problems: dict[str, list[Problem]] = {}
    for problem in (*form.problems.faults, *form.problems.later):
        name = field_of_problem(problem.path, known)
        # What was typed and refused is not what the fragment holds: its problems are of the older value
        if name not in rejected:
            problems.setdefault(name, []).append(problem)
    problems.update({name: wrong.get(name, []) for name in rejected})
    stored = {name: known[name].control_values_for_fragment(form.fragment) for name in rejected}
    return FormAnswer(form.fragment, form.sections, problems, rejected, label, focus, stored)
