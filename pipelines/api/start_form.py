"""The start form of a line over HTTP: what a task is started with, as the page of the form shows it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel

from pipelines.api.auth import Request
from pipelines.api.lookup import LINE, Operations, action_required
from pipelines.engine.commands.inputs import title_from_inputs
from pipelines.errors import Conflict
from pipelines.models import Line
from pipelines.ports.vault.value_lookup import ValueScope
from pipelines.queries import versions
from pipelines.web.tasks.start import (
    StartField,
    default_input_values,
    repository_choices_by_input,
    start_fields,
)

router = Operations("tasks", (401, 403, 404, 409))


class StartFieldOut(BaseModel):
    """`help`: what the line says, and what the field takes. `default`: what the form begins with, else null.
    `choices`: of a `secret` the names that are stored for the line, of the repository that the tasks work in the
    addresses that are connected. `minimum` and `maximum`: of a text its characters,
    of a file its MiB. `accept`: endings of the names of files."""

    key: str
    type: str
    label: str
    help: str
    required: bool
    default: Any
    choices: list[str]
    minimum: int | None
    maximum: int | None
    pattern: str
    accept: list[str]

    @classmethod
    def of(cls, field: StartField) -> StartFieldOut:
        definition = field.input
        return cls(
            key=definition.key,
            type=definition.type,
            label=field.label,
            help=field.help_text,
            required=definition.required,
            default=field.default,
            choices=list(_choice_texts_of_field(field)),
            minimum=definition.minimum,
            maximum=field.max_size_mib if definition.type == "file" else definition.maximum,
            pattern=definition.pattern,
            accept=list(definition.accept),
        )


def _choice_texts_of_field(field: StartField) -> Iterable[str]:
    if field.repositories is not None:
        return (row.title for row in field.repositories)
    return field.secrets if field.input.type == "secret" else field.input.choices


class StartFormOut(BaseModel):
    """`version`: of the line that is live, on which a task is started. `title`: what a task is called that is given
    none, while the form is as it begins."""

    version: int
    title: str
    fields: list[StartFieldOut]


@router.get(
    LINE + "/start-form",
    response=StartFormOut,
    summary="The form that starts a task",
)
@action_required("submit")
def start_form(request: Request, line: Line) -> StartFormOut:
    """The inputs of the live version. What is filled in is sent as `inputs` of a new task."""
    if line.live is None:
        raise Conflict("This line has no published version yet; publish it first.")
    inputs = versions.parsed_version(line.live).inputs
    reach = ValueScope(line.project.owner_id, line.project_id, line.pk)
    fields = start_fields(inputs, None, reach=reach, repositories=repository_choices_by_input(line))
    return StartFormOut(
        version=line.live.number,
        title=title_from_inputs(line.name, inputs, default_input_values(fields)),
        fields=[StartFieldOut.of(field) for field in fields],
    )
