"""Part of a form that says which inputs are taken from a document by path, and what the paths find in an example."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pipelines.errors import Invalid
from pipelines.models import Line
from pipelines.routing.basics import jsontext
from pipelines.routing.basics.wording import as_sentence, people_text
from pipelines.routing.document.line import Problem
from pipelines.web.triggers.shared_form import Typed, live_inputs
from pipelines.work.triggers import mapping
from pipelines.work.triggers.kind import Options

AT: Final = "path."
MAX_VALUE = 300
"""Characters of a value that an example shows."""


@dataclass(frozen=True, slots=True)
class MappedPath:
    """Field for a path. `name`: in the form. `value`: of the path in the example; `fault`: why it finds none."""

    name: str
    label: str
    path: str
    is_required: bool = False
    errors: Sequence[str] = ()
    value: str = ""
    fault: str = ""

    @property
    def help(self) -> str:
        return {
            f"{AT}requester": "User name or mail address of who asked. They cannot approve the task.",
            f"{AT}only_if": "Starts a task only if this finds something.",
        }.get(self.name, "")


def mapping_options(line: Line, typed: Typed) -> dict[str, Any]:
    """Return the paths of the form as options of a trigger."""
    inputs = {field.key: typed.get(f"{AT}inputs.{field.key}", "") for field in live_inputs(line)}
    return {
        "inputs": {key: path for key, path in inputs.items() if path.strip()},
        **{name: typed.get(f"{AT}{name}", "") for name in mapping.PATHS},
    }


def stored_path_fields(options: Options) -> dict[str, str]:
    """Return the fields of the options of a trigger that there is."""
    inputs = {f"{AT}inputs.{key}": path for key, path in options["inputs"].items()}
    return inputs | {f"{AT}{name}": options[name] for name in mapping.PATHS}


def path_fields(
    line: Line, typed: Typed, problems: Sequence[Problem], document: Any, *, without: Collection[str] = ()
) -> list[MappedPath]:
    """Return the fields for the paths. `document`: the example, or MISSING. `without`: those of PATHS that are left
    out."""
    return [
        MappedPath(
            name,
            label,
            typed.get(name, ""),
            is_required,
            [
                as_sentence(people_text(problem.message))
                for problem in problems
                if problem.path == f"options.{name.removeprefix(AT)}"
            ],
            *_value_and_reason_at_path(typed.get(name, "").strip(), document),
        )
        for name, label, is_required in _path_names(line)
        if name.removeprefix(AT) not in without
    ]


def pasted_example_context(line: Line, typed: Typed) -> dict[str, Any]:
    """Return what the paths of the form find in the example that was pasted."""
    return example_context(line, typed, typed.get("example", "").strip())


def example_context(line: Line, typed: Typed, text: str) -> dict[str, Any]:
    """Return what the paths of the form find in this document: the context of `_example.html`."""
    document, fault = mapping.parsed_body_and_fault(text) if text else (mapping.MISSING, "")
    fields = path_fields(line, typed, (), document)
    only_if = next(field for field in fields if field.name == f"{AT}only_if")
    return {
        "example_fault": fault,
        "has_example": bool(text) and not fault,
        "found": [field for field in fields if field.path and field is not only_if],
        "starts_nothing": bool(only_if.path and (only_if.fault or only_if.value in ("null", "false"))),
    }


def _path_names(line: Line) -> Iterator[tuple[str, str, bool]]:
    yield f"{AT}title", mapping.PATHS["title"], False
    for field in live_inputs(line):
        if field.type not in mapping.FIXED_ONLY:
            yield f"{AT}inputs.{field.key}", field.label or field.key, field.required
    for name in ("requester", "only_if"):
        yield f"{AT}{name}", mapping.PATHS[name], False


def _value_and_reason_at_path(path: str, document: Any) -> tuple[str, str]:
    """Return the value that a path finds in the example, and why it finds none."""
    if not path or document is mapping.MISSING:
        return "", ""
    try:
        values = mapping.values_at_path(mapping.checked_path(path), document)
    except Invalid as fault:
        return "", as_sentence(people_text(fault.message))
    if not values:
        return "", "Finds nothing."
    texts = (value if isinstance(value, str) else jsontext.dumps(value, ascii_only=False) for value in values)
    text = ", ".join(texts)
    return text if len(text) <= MAX_VALUE else f"{text[: MAX_VALUE - 1]}…", ""
