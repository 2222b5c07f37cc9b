"""The positions of a task over HTTP: where it is, what would free it, and what a person is asked there."""

from __future__ import annotations

from datetime import datetime

from django.utils import timezone
from pydantic import BaseModel

from pipelines.api.auth import Request
from pipelines.api.lookup import TASK, Operations
from pipelines.engine.commands.inputs import form_fields_of_manual_station
from pipelines.engine.commands.supply_preconditions import fields_for_missing_metadata
from pipelines.models import Status, Task
from pipelines.queries import versions
from pipelines.queries.task_view import PositionView, TaskView
from pipelines.routing.document.line import Input

router = Operations("positions")
HERE = TASK + "/positions"


class FieldOut(BaseModel):
    key: str
    type: str
    label: str
    required: bool
    choices: list[str]

    @classmethod
    def of(cls, field: Input) -> FieldOut:
        return cls(
            key=field.key,
            type=field.type,
            label=field.label or field.key,
            required=field.required,
            choices=list(field.choices),
        )


class PositionOut(BaseModel):
    """Position of the task, or of one of its branches. `version` grows with every change; `waits_for` and
    `remedy` say in a sentence what would free it.

    `question`: what the call `answer` answers, with one of `answers` where it lists any. `missing`: what it is
    on hold for. `fields`: of the manual station, for `complete`, or of the missing metadata, for `metadata`."""

    id: int
    station: str
    status: str
    version: int
    since: datetime
    error: str | None
    waits_for: str | None
    remedy: str | None
    manual: bool
    question: str | None
    answers: list[str]
    missing: list[str]
    fields: list[FieldOut]


@router.get(HERE, response=list[PositionOut], summary="Where a task is")
def index(request: Request, task: Task) -> list[PositionOut]:
    """Its living positions: one, or one for each branch. None of a task that has ended."""
    return [_position_out(position) for position in TaskView(task, timezone.now()).positions]


def _position_out(position: PositionView) -> PositionOut:
    token, sentence = position.token, position.sentence
    return PositionOut(
        id=token.pk,
        station=token.station,
        status=token.status,
        version=token.version,
        since=token.entered_at,
        error=token.error or None,
        waits_for=sentence.text if sentence else None,
        remedy=(sentence.remedy or None) if sentence else None,
        manual=position.is_manual,
        question=_question_or_none(position),
        answers=list(position.answer_words),
        missing=list(token.wait.get("missing", ())) if token.status == Status.HELD else [],
        fields=[FieldOut.of(field) for field in (_form_inputs(position) or missing_metadata(position))],
    )


def _question_or_none(position: PositionView) -> str | None:
    if not position.can_be_answered:
        return None
    wait = position.token.wait
    question = wait.get("question") or (wait.get("evaluation") or {}).get("agentic", {}).get("question")
    return str(question) if question else None


def _form_inputs(position: PositionView) -> tuple[Input, ...]:
    if not position.is_manual or position.job is None:
        return ()
    return form_fields_of_manual_station(
        versions.parsed_line_by_version_id(position.job.pinned_id).station(position.job.station)
    )


def missing_metadata(position: PositionView) -> tuple[Input, ...]:
    return fields_for_missing_metadata(
        versions.parsed_line_by_version_id(position.token.task.pinned_id), position.token
    )
