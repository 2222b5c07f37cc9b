"""Operations on a project as a whole: create, rename, archive, restore, transfer to another owner."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils import timezone

from pipelines import access
from pipelines.errors import Conflict, Forbidden, Invalid
from pipelines.models import Membership, Owner, Project, RepositoryProtection, Role, User
from pipelines.models.people import slug
from pipelines.ports import audit
from pipelines.routing.document.line import Problem

MOST_COST = Decimal(10_000_000)
MOST_TASKS = 1_000_000_000
LONGEST_NAME = 200
LEAST_DAYS = {"file_days": 1, "record_days": 35}
"""Of a retention. Limits of a month, figures of health and the changes that were brought back look 35 days back."""
MOST_DAYS = 36_500


def create_project(owner: Owner, key: str, name: str, *, by: User) -> Project:
    """A project of this owner whose only member is its admin. They may publish programs there if they may anywhere in
    the projects of this owner, or administer the installation. Raises Forbidden, Invalid (path `key`, `name`), Conflict
    (the key is taken)."""
    if not access.owners_to_create_in(by).filter(pk=owner.pk).exists():
        raise Forbidden("To create a project of this owner you need the role Admin in one of its projects.")
    _check_key(key)
    name = _checked_name(name)
    runs = by.is_staff or Membership.objects.filter(user=by, project__owner=owner, execute=True).exists()
    # Only the database can tell: another request may take the key at the same moment
    try:
        with transaction.atomic():
            project = Project.objects.create(owner=owner, key=key, name=name)
            Membership.objects.create(project=project, user=by, roles=[Role.ADMIN], execute=runs)
            _record_in_audit("project.created", project, by)
    except IntegrityError as conflict:
        raise Conflict(f"{owner.key} already has a project “{key}”.") from conflict
    return project


def create_owner(key: str, name: str, *, by: User) -> Owner:
    """A name space for projects, which administrators of the installation add. Raises Forbidden, Invalid, Conflict."""
    if not by.is_staff:
        raise Forbidden("Only an administrator of the installation can add owners.")
    _check_key(key)
    try:
        with transaction.atomic():
            owner = Owner.objects.create(key=key, name=_checked_name(name))
            audit.record_administrative_act(
                "owner.created", by=by, at=timezone.now(), about=f"owner:{owner.pk}", name=owner.name
            )
    except IntegrityError as conflict:
        raise Conflict(f"An owner “{key}” already exists.") from conflict
    return owner


def rename_project(project: Project, name: str, *, by: User) -> None:
    """Another name for people; the key, which addresses and task numbers hold, stays. Raises Forbidden, Invalid."""
    access.require_permission(by, "settings", project)
    name = _checked_name(name)
    with transaction.atomic():
        stored = _lock_project(project)
        if stored.name != name:
            _record_in_audit(
                "project.renamed", stored, by, before={"name": stored.name}, after={"name": name}
            )
            stored.name = name
            stored.save(update_fields=["name"])
    # Only now: the caller's object never says what was rolled back
    project.name = name


def set_archived(project: Project, archived: bool, *, by: User) -> None:
    """Archive a project, or restore it. No line of an archived one takes a task or is published; tasks that run go on,
    and nothing is lost. Archiving twice keeps the first time. Raises Forbidden."""
    access.require_permission(by, "settings", project)
    with transaction.atomic():
        # A task that is being started holds the key of its project: it is waited for, and counts as started before.
        stored = _lock_project(project)
        if archived != (stored.archived_at is not None):
            stored.archived_at = timezone.now() if archived else None
            stored.save(update_fields=["archived_at"])
            _record_in_audit("project.archived" if archived else "project.restored", stored, by)
    project.archived_at = stored.archived_at


def require_second_factor(project: Project, required: bool, *, by: User) -> None:
    """Set whether a project requires a second factor: from the next request on a member without one can only
    set one up. Raises Forbidden."""
    access.require_permission(by, "settings", project)
    with transaction.atomic():
        stored = _lock_project(project)
        if stored.second_factor != required:
            stored.second_factor = required
            stored.save(update_fields=["second_factor"])
            _record_in_audit("project.factor_required" if required else "project.factor_optional", stored, by)
    project.second_factor = required


def set_monthly_cost_limit(project: Project, most: Decimal | None, *, by: User) -> None:
    """Limit what the runs of a month may cost together, in US dollars; None: no limit. Raises Forbidden,
    Invalid (path `month_cost_usd`)."""
    access.require_permission(by, "settings", project)
    if most is not None and not (0 <= most < MOST_COST):
        raise Invalid.at("month_cost_usd", "Enter an amount from 0 to 9,999,999.99.")
    # In cents, as the column keeps it: the record shows 1.00, not 1.
    most = None if most is None else most.quantize(Decimal("0.01"))
    with transaction.atomic():
        stored = _lock_project(project)
        if stored.month_cost_usd != most:
            before = {"month_cost_usd": _amount_text_or_none(stored.month_cost_usd)}
            after = {"month_cost_usd": _amount_text_or_none(most)}
            what = "project.cost_unlimited" if most is None else "project.cost_limited"
            _record_in_audit(what, stored, by, before=before, after=after)
            stored.month_cost_usd = most
            stored.save(update_fields=["month_cost_usd"])
    project.month_cost_usd = most


def change_quotas(project: Project, quotas: Mapping[str, int | Decimal | None], *, by: User) -> None:
    """Change quotas: tasks that may start on a day or in a month, and what a day may cost; None: no quota. What is left
    out stays. Raises Forbidden, Invalid (path: the quota)."""
    access.require_permission(by, "settings", project)
    problems = [problem for name, most in quotas.items() for problem in _quota_problems(name, most)]
    if problems:
        raise Invalid(problems)
    with transaction.atomic():
        stored = _lock_project(project)
        before = {name: _amount_text_or_none(getattr(stored, name)) for name in quotas}
        for name, most in quotas.items():
            setattr(stored, name, most.quantize(Decimal("0.01")) if isinstance(most, Decimal) else most)
        after = {name: _amount_text_or_none(getattr(stored, name)) for name in quotas}
        if before != after:
            stored.save(update_fields=list(quotas))
            _record_in_audit("project.quotas", stored, by, before=before, after=after)
    for name in quotas:
        setattr(project, name, getattr(stored, name))


def change_retention(project: Project, days: Mapping[str, int | None], *, by: User) -> None:
    """Change for how many days after their end logs and files of tasks are kept (`file_days`), and tasks themselves
    (`record_days`); None: for ever. What is left out stays. Raises Forbidden, Invalid (path: the retention)."""
    access.require_permission(by, "settings", project)
    problems = [
        Problem(name, f"Enter a number from {LEAST_DAYS[name]} to {MOST_DAYS:,}, or nothing.")
        for name, number in days.items()
        if number is not None and not LEAST_DAYS[name] <= number <= MOST_DAYS
    ]
    if problems:
        raise Invalid(problems)
    with transaction.atomic():
        stored = _lock_project(project)
        before = {name: _amount_text_or_none(getattr(stored, name)) for name in days}
        after = {name: _amount_text_or_none(number) for name, number in days.items()}
        if before != after:
            Project.objects.filter(pk=stored.pk).update(**days)
            _record_in_audit("project.retention", stored, by, before=before, after=after)
    for name, number in days.items():
        setattr(project, name, number)


def _quota_problems(name: str, most: int | Decimal | None) -> Iterator[Problem]:
    highest = MOST_COST if name == "day_cost_usd" else MOST_TASKS
    # A Decimal that is no number is in no order with others
    if most is not None and not (Decimal(most).is_finite() and 0 <= most < highest):
        text = (
            "an amount from 0 to 9,999,999.99"
            if highest is MOST_COST
            else f"a number from 0 to {MOST_TASKS - 1:,}"
        )
        yield Problem(name, f"Enter {text}.")


def _amount_text_or_none(most: Decimal | int | None) -> str | None:
    return None if most is None else str(most)


def transfer_to_owner(project: Project, owner_key: str, *, by: User) -> Owner:
    """Give the project to another owner: its addresses change, and what is stored for all projects of the owner is
    from now on the new one's. Members, lines, tasks and the project's own secrets stay. Raises Forbidden, Invalid (path
    `owner`: who asks may not create projects there), Conflict (the key is taken there)."""
    access.require_permission(by, "settings", project)
    owner = access.owners_to_create_in(by).filter(key=owner_key).first()
    if owner is None:
        raise Invalid.at("owner", "is not an owner in whose projects you have the role Admin")
    # Under another owner the protections of this one would no longer hold
    protected = RepositoryProtection.objects.filter(owner=project.owner_id).exists()
    if protected and not access.can_in_every_project_of_owner(by, "repositories", project.owner):
        raise Forbidden(
            f"{project.owner.name} protects its repositories. An administrator of all its projects transfers this one."
        )
    try:
        with transaction.atomic():
            stored = _lock_project(project)
            was, stored.owner = stored.owner.key, owner
            stored.save(update_fields=["owner"])
            if was != owner.key:
                _record_in_audit(
                    "project.transferred", stored, by, before={"name": was}, after={"name": owner.key}
                )
    except IntegrityError as conflict:
        raise Conflict(f"{owner.key} already has a project “{project.key}”.") from conflict
    project.owner = owner
    return owner


def _record_in_audit(what: str, project: Project, by: User, **data: Any) -> None:
    about = f"project:{project.pk}"
    audit.record_administrative_act(
        what, by=by, at=timezone.now(), project=project, about=about, name=project.name, **data
    )


def _lock_project(project: Project) -> Project:
    return Project.objects.select_for_update(of=("self",)).select_related("owner").get(pk=project.pk)


def _check_key(key: str) -> None:
    try:
        slug(key)
    except ValidationError as fault:
        raise Invalid.at("key", str(slug.message)) from fault


def _checked_name(name: str) -> str:
    """Return a checked name without the blanks around it."""
    # PostgreSQL takes no NUL in a text.
    if not 0 < len(name.strip()) <= LONGEST_NAME or "\x00" in name:
        raise Invalid.at("name", f"Enter a name of at most {LONGEST_NAME} characters.")
    return name.strip()
