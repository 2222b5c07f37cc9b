"""The line's inputs: fields of the form that starts a task, with that form as people will see it. A manual station's
form has the same rows."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any

from pipelines.engine.commands.inputs import input_fault_text
from pipelines.models import Priority
from pipelines.routing.basics.problems import member_path
from pipelines.routing.document.inputs import INPUT, RULES, TEXT, TYPES, read_inputs
from pipelines.routing.document.line import Problem
from pipelines.web.editor.forms import fragment_paths
from pipelines.web.editor.forms.declared_fields import declared_control, labelled_choices, remaining_fields
from pipelines.web.editor.forms.fields import ChoiceField, FormField, TextField
from pipelines.web.editor.forms.form import (
    FormSetting,
    Fragment,
    PlacedFragment,
    Rows,
    Section,
    first_free_or_empty,
    member_values,
    sections_with_uncovered_rest,
    skeleton_document,
)
from pipelines.web.editor.forms.fragment_paths import Place
from pipelines.web.tasks import start

LONG_TEXT = "long_text"
PLAIN = (TEXT, LONG_TEXT, "date", "repository", "revision", "secret", "choice")
"""Types whose default is typed as it stands."""


@dataclass(frozen=True, kw_only=True)
class InputTypeField(ChoiceField):
    """Field for the type of an input. Bounds that the new type does not have are removed."""

    def with_typed(self, fragment: Any, typed: Sequence[str]) -> Any:
        changed = super().with_typed(fragment, typed)
        for rule, types in RULES.items():
            if typed and typed[0] not in types:
                changed = fragment_paths.fragment_with_value_at(
                    changed, (*self.at[:-1], rule), fragment_paths.MISSING
                )
        return changed


def input_rows(at: Place, label: str, add: str, empty: str, types: Collection[str] = TYPES) -> Rows:
    """`types`: those that a field here can have."""
    row = partial(_input_fields, types=types)
    return Rows(
        at=at, label=label, row=row, new=lambda fragment, kind: _new_input(fragment, at), title=input_title, add=add,
        empty=empty, folded=True,
    )  # fmt: skip


def input_title(member: Any, index: int) -> str:
    document = member if type(member) is dict else {}
    words = [document.get(key) for key in ("label", "key")]
    return next((word for word in words if type(word) is str and word), f"Field {index + 1}")


def _new_input(fragment: Fragment, at: Place) -> dict[str, Any]:
    used_keys = member_values(fragment, at, "key")
    numbers = count(len(used_keys) + 1)
    return {"key": first_free_or_empty((f"field-{number}" for number in numbers), used_keys), "type": "text"}


def _input_fields(fragment: Fragment, at: Place, *, types: Collection[str] = TYPES) -> list[FormField | Rows]:
    kind = fragment_paths.value_at(fragment, (*at, "type"))
    # Bounds that this type does not have, and that the document does not name either
    absent = [
        rule
        for rule, types in RULES.items()
        if (TEXT if kind is fragment_paths.MISSING else kind) not in types
        and fragment_paths.value_at(fragment, (*at, rule)) is fragment_paths.MISSING
    ]
    controls: list[FormField | Rows] = [
        declared_control(INPUT, at, "label"),
        declared_control(INPUT, at, "key", covers=(fragment_paths.path_name(at),)),
        declared_control(
            INPUT,
            at,
            "type",
            InputTypeField,
            options=[option for option in labelled_choices(TYPES) if option[0] in types],
        ),
    ]
    if "choices" not in absent:
        controls.append(declared_control(INPUT, at, "choices"))
    controls += [declared_control(INPUT, at, "required"), _default_field(at, kind)]
    return [*controls, *remaining_fields(INPUT, at, controls, excluded_keys=absent)]


def _default_field(at: Place, kind: Any) -> FormField:
    # Of other types, such as a number, the default is typed as JSON.
    if kind not in (*PLAIN, fragment_paths.MISSING):
        return declared_control(INPUT, at, "default", words=True)
    return declared_control(INPUT, at, "default", TextField, **({"rows": 3} if kind == LONG_TEXT else {}))


def problems_of_input_defaults(fragment: Fragment, at: Place) -> list[Problem]:
    """Return a problem for each default that a form starts with and would not accept from a person."""
    problems = []
    for index, line_input in enumerate(read_inputs(fragment_paths.value_at(fragment, at))):
        fault = (
            input_fault_text(line_input, line_input.default)
            if line_input.has_default and line_input.default is not None
            else ""
        )
        if fault:
            problems.append(Problem(member_path(fragment_paths.path_name((*at, index)), "default"), fault))
    return problems


class InputsForm:
    """The fragment is `{inputs: […]}`."""

    def sections(self, fragment: Fragment, setting: FormSetting) -> Sequence[Section]:
        fields = input_rows(
            ("inputs",),
            "Inputs",
            "Add a field",
            "A task of this line is started with a title only. Add what it needs to know.",
        )
        known = fragment_paths.value_at(fragment, ("inputs",))
        items = [fields] if type(known) is list or known is fragment_paths.MISSING else []
        sections = [Section(fields=items, open=True)]
        if type(known) is not list and known is not fragment_paths.MISSING:
            sections = list(sections_with_uncovered_rest(sections, fragment, "Everything else", ""))
        context = {
            "fields": start.start_fields(read_inputs(known), None),
            "typed": dict.fromkeys(start.OWN, "") | {"priority": Priority.MEDIUM},
            "faults": dict.fromkeys(start.OWN, ()),
            "priorities": Priority.choices,
        }
        preview = Section(title="Preview", open=True, template="editor/forms/preview.html", context=context)
        return [*sections, preview]

    def placed_fragment(self, fragment: Fragment, setting: FormSetting) -> PlacedFragment:
        document = skeleton_document(setting.names, inputs=fragment.get("inputs", []))
        return PlacedFragment(document, beside=frozenset({*document, "workspace"}) - {"inputs"})

    def extra_problems(self, fragment: Fragment, setting: FormSetting) -> Sequence[Problem]:
        return problems_of_input_defaults(fragment, ("inputs",))
