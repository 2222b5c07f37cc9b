"""Effects of publishing a document, over HTTP: for a check on a merge request that changes one."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel

from pipelines.api.auth import Request
from pipelines.api.difference import DifferenceOut
from pipelines.api.lint import DOCUMENT, FindingOut, GuaranteeOut, document_text
from pipelines.api.lookup import PROJECT, Operations, costly_operation
from pipelines.lines.publish_plan import plan_of_publishing
from pipelines.models import Project

router = Operations("lines")


class PlannedChangeOut(BaseModel):
    what: Literal["added", "removed", "changed", "order"]
    affects: Literal["routing", "work", "form", "words", "layout"]
    sentence: str


class PlannedTaskOut(BaseModel):
    """A running task that migrating would touch; `effect` and `words` as in the impact of a version."""

    task: str
    title: str
    version: int
    effect: str
    words: list[str]


class PlannedImpactOut(BaseModel):
    """`tasks`: the first ones of `total`."""

    counts: dict[str, int]
    needs_mapping: dict[str, int]
    may_need_mapping: dict[str, int]
    tasks: list[PlannedTaskOut]
    total: int


class PlannedCostOut(BaseModel):
    """Dollars that a task may cost at most, as a text; "" where nothing limits it, null where nothing costs."""

    before: str | None
    now: str | None


class PlanOut(BaseModel):
    """`live`: the number of the version that it would replace, null where nothing is live; then `changes`,
    `difference`, `backtest` and `impact` are null. `verdict`: refused (errors), same (nothing changes), acknowledge
    (warnings), ready. `backtest`: of the newest recorded decisions, as the back-test tells its result."""

    line: str
    live: int | None
    verdict: Literal["refused", "same", "acknowledge", "ready"]
    counts: dict[str, int]
    findings: list[FindingOut]
    guarantees: list[GuaranteeOut]
    cost: PlannedCostOut
    changes: list[PlannedChangeOut] | None
    difference: DifferenceOut | None
    backtest: dict[str, Any] | None
    impact: PlannedImpactOut | None


@router.post(
    PROJECT + "/plan",
    response=PlanOut,
    summary="What publishing a document would do",
    openapi_extra=DOCUMENT,
)
@costly_operation
def plan_posted_document(request: Request, project: Project) -> dict[str, Any]:
    """The body is a line document, YAML or JSON; its key names the line. Nothing is stored or published. A document
    that cannot be read is no error: its findings say why."""
    return plan_of_publishing(project, document_text(request)).to_dict()
