"""The figures of health over HTTP (AEEF E28)."""

from __future__ import annotations

from django.utils import timezone
from pydantic import BaseModel

from pipelines.api.auth import Request
from pipelines.api.lookup import PROJECT, Operations
from pipelines.models import Project
from pipelines.queries.health import health_figures

router = Operations("health", (401, 403, 404))


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
    response=list[FigureOut],
    summary="How a project does",
)
def health_figures_of_project(request: Request, project: Project, line: str = "") -> list[FigureOut]:
    """Return the figures of all lines, or of the one named."""
    return [
        FigureOut(
            key=figure.key,
            value=figure.value,
            threshold=figure.threshold,
            alert=figure.is_alert,
            todo=figure.todo,
            of=figure.of,
            seconds=list(figure.seconds) if figure.seconds else None,
        )
        for figure in health_figures(project, timezone.now(), line)
    ]
