"""Projects over HTTP: which there are, a new one, its name, archive and owner."""

from __future__ import annotations

from datetime import date, time
from decimal import Decimal
from typing import Annotated

from django.utils import timezone
from pydantic import BaseModel, Field

from pipelines import access
from pipelines.api.auth import Request, require_person
from pipelines.api.lookup import CHANGES, PROJECT, Operations, action_required
from pipelines.api.schemas import StrictBody
from pipelines.errors import Forbidden, NotFound
from pipelines.models import Project
from pipelines.people import projects, working_time
from pipelines.people.working_time import WorkingHours
from pipelines.queries.project_quotas import quota_uses
from pipelines.queries.retention import preview_retention

QUOTA_FIELDS = ("day_tasks", "month_tasks", "day_cost_usd")
router = Operations("projects", CHANGES)
Days = Annotated[int, Field(ge=1, le=projects.MOST_DAYS)]


class WorkingTimeOut(BaseModel):
    """`work_days`: 1 is Monday, 7 is Sunday. A `work_until` of 00:00 is the end of the day."""

    time_zone: str
    work_days: list[int]
    work_from: str
    work_until: str
    days_off: list[date]


class WorkingTimeIn(StrictBody):
    """Working time, complete; existing due times stay as they are."""

    time_zone: str
    work_days: list[int]
    work_from: time
    work_until: time
    days_off: list[date] = []


class ProjectOut(BaseModel):
    """`second_factor`: every member has to have one. `month_cost_usd`: what the runs of a month may cost together, null
    for any amount. `day_tasks`, `month_tasks`, `day_cost_usd`: quotas, null for none; what is used says `…/quotas`.
    `file_days`, `record_days`: the retention, null for ever; what it would delete now says `…/retention`.
    `working_time`: what due times of gates count that say `business`."""

    owner: str
    key: str
    name: str
    archived: bool
    second_factor: bool
    month_cost_usd: float | None
    day_tasks: int | None
    month_tasks: int | None
    day_cost_usd: float | None
    file_days: int | None
    record_days: int | None
    working_time: WorkingTimeOut

    @classmethod
    def of(cls, project: Project) -> ProjectOut:
        return cls(
            owner=project.owner.key,
            key=project.key,
            name=project.name,
            archived=project.archived_at is not None,
            second_factor=project.second_factor,
            month_cost_usd=None if project.month_cost_usd is None else float(project.month_cost_usd),
            day_tasks=project.day_tasks,
            month_tasks=project.month_tasks,
            day_cost_usd=None if project.day_cost_usd is None else float(project.day_cost_usd),
            file_days=project.file_days,
            record_days=project.record_days,
            working_time=WorkingTimeOut(**WorkingHours.of(project).to_dict()),
        )


class QuotaOut(BaseModel):
    """`quota`: day_tasks, month_tasks, day_cost_usd or month_cost_usd; `limit` null: there is none. `used_up`: no task
    starts."""

    quota: str
    used: float
    limit: float | None
    used_up: bool


class ProjectIn(StrictBody):
    key: str
    name: str


class ProjectChange(StrictBody):
    """Change of a project. Omitted fields stay; null removes a limit, a quota or a retention."""

    name: str | None = None
    archived: bool | None = None
    second_factor: bool | None = None
    month_cost_usd: Decimal | None = None
    day_tasks: int | None = None
    month_tasks: int | None = None
    day_cost_usd: Decimal | None = None
    file_days: int | None = None
    record_days: int | None = None
    working_time: WorkingTimeIn | None = None


class TransferIn(StrictBody):
    """Key of the owner that gets the project."""

    owner: str


@router.get("/projects", response=list[ProjectOut], summary="List projects")
def index(request: Request) -> list[ProjectOut]:
    """List the projects of which the caller is a member, the archived ones too."""
    who = request.auth
    return [
        ProjectOut.of(project)
        for project in access.visible_projects_with_owner(who)
        if access.is_permitted(who, "view", project)
    ]


@router.post("/owners/{owner}/projects", response={201: ProjectOut}, summary="Create a project")
def create(request: Request, owner: str, payload: ProjectIn) -> ProjectOut:
    """The caller becomes its admin. It needs the role Admin in another project of the owner."""
    target_owner = access.owners_to_create_in(request.auth).filter(key=owner).first()
    if target_owner is None:
        if access.visible_projects_with_owner(request.auth).filter(owner__key=owner).exists():
            raise Forbidden(
                "To create a project of this owner you need the role Admin in one of its projects."
            )
        # Without a project of this owner the caller is not even told that there is one.
        raise NotFound
    made = projects.create_project(target_owner, payload.key, payload.name, by=require_person(request.auth))
    return ProjectOut.of(made)


@router.get(PROJECT, response=ProjectOut, summary="One project")
def show(request: Request, project: Project) -> ProjectOut:
    return ProjectOut.of(project)


@router.get(PROJECT + "/quotas", response=list[QuotaOut], summary="Quotas of a project")
def list_quota_uses(request: Request, project: Project) -> list[QuotaOut]:
    """List the use of each, today and this month as UTC has them. A start beyond one is refused (409)."""
    return [
        QuotaOut(
            quota=use.quota.key,
            used=float(use.used),
            limit=None if use.limit is None else float(use.limit),
            used_up=use.is_used_up,
        )
        for use in quota_uses(project, with_unlimited=True)
    ]


class RetentionOut(BaseModel):
    """`file_tasks`, `record_tasks`: from how many tasks that ended the retention deletes logs and files now, and how
    many it purges; null: it keeps them for ever. Those that later tasks need stay longer."""

    file_days: int | None
    record_days: int | None
    file_tasks: int | None
    record_tasks: int | None


@router.get(PROJECT + "/retention", response=RetentionOut, summary="What a retention would delete")
@action_required("settings")
def count_tasks_retention_would_purge(
    request: Request, project: Project, file_days: Days | None = None, record_days: Days | None = None
) -> RetentionOut:
    """Count the tasks from which the retention of the project would delete something now; with `file_days` or
    `record_days`, one of these numbers instead. Nothing is deleted."""
    days = {"file_days": file_days, "record_days": record_days}
    if file_days is None and record_days is None:
        days = {"file_days": project.file_days, "record_days": project.record_days}
    preview = preview_retention(project, **days, now=timezone.now())
    return RetentionOut(**days, file_tasks=preview.files, record_tasks=preview.records)


@router.patch(PROJECT, response=ProjectOut, summary="Change a project")
@action_required("settings")
def change(request: Request, project: Project, payload: ProjectChange) -> ProjectOut:
    """Its name, whether it is archived, whether it requires a second factor, what a month may cost, and when people
    work. No line of an archived project takes tasks; those that run go on."""
    by = require_person(request.auth)
    if payload.name is not None:
        projects.rename_project(project, payload.name, by=by)
    if payload.archived is not None:
        projects.set_archived(project, payload.archived, by=by)
    if payload.second_factor is not None:
        projects.require_second_factor(project, payload.second_factor, by=by)
    # Null takes the limit away, and absent leaves it
    if "month_cost_usd" in payload.model_fields_set:
        projects.set_monthly_cost_limit(project, payload.month_cost_usd, by=by)
    quotas = {name: getattr(payload, name) for name in QUOTA_FIELDS if name in payload.model_fields_set}
    if quotas:
        projects.change_quotas(project, quotas, by=by)
    retention = {
        name: getattr(payload, name) for name in projects.LEAST_DAYS if name in payload.model_fields_set
    }
    if retention:
        projects.change_retention(project, retention, by=by)
    if payload.working_time is not None:
        working_time.change_working_hours(project, WorkingHours(**payload.working_time.model_dump()), by=by)
    return ProjectOut.of(project)


@router.post(PROJECT + "/transfer", response=ProjectOut, summary="Transfer a project")
@action_required("settings")
def transfer(request: Request, project: Project, payload: TransferIn) -> ProjectOut:
    """Transfer the project to another owner in whose projects the caller has the role Admin. Its addresses
    change."""
    projects.transfer_to_owner(project, payload.owner, by=require_person(request.auth))
    return ProjectOut.of(project)
