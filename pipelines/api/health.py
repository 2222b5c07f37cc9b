"""The figures of health over HTTP (AEEF E28)."""

from __future__ import annotations

from django.utils import timezone
from ninja import Router
from pydantic import BaseModel

from pipelines.api.auth import Request
from pipelines.api.lookup import PROJECT, project_of
from pipelines.api.problems import ProblemOut
from pipelines.queries.health import figures

router = Router(tags=["health"])
ERRORS = dict.fromkeys((401, 403, 404), ProblemOut)


class FigureOut(BaseModel):
    """`value` null: too little is known. `alert`: it is more than `threshold`, strictly; then `todo` says what to do.
    `of`: which gate. `seconds`: the cycle time of late and the baseline."""

    key: str
    value: float | None
    threshold: float
    alert: bool
    todo: str
    of: str
    seconds: list[float] | None


@router.get(
    PROJECT + "/health",
    response={200: list[FigureOut], **ERRORS},
    summary="How a project does",
)
def health(request: Request, owner: str, project: str, line: str = "") -> list[FigureOut]:
    """Of all lines, or of the one named."""
    found = project_of(request, owner, project)
    return [
        FigureOut(
            key=each.key,
            value=each.value,
            threshold=each.threshold,
            alert=each.alert,
            todo=each.todo,
            of=each.of,
            seconds=list(each.seconds) if each.seconds else None,
        )
        for each in figures(found, timezone.now(), line)
    ]
