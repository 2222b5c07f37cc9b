"""Permissions to see and act: one table, used by every window (house §1). Superuser status gives nothing in a
project.

Roles are a set (`models.people.included_roles`). Requirements of a gate are the engine's to settle
(`engine/moves/entitlement.py`): here `decide` only covers who may try.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, TypeAlias

from allauth.mfa.models import Authenticator
from django.contrib.auth.models import AnonymousUser
from django.db.models import BigIntegerField, CharField, Exists, OuterRef, QuerySet

from pipelines.errors import Forbidden, NotFound
from pipelines.models import ApiToken, Line, LineVersion, Membership, Owner, Project, Role, Task, User
from pipelines.models.people import included_roles, roles_granting
from pipelines.models.plumbing.compiled_queries import array_field, compiled
from pipelines.models.tasks import tasks_with_display_status

Who: TypeAlias = User | ApiToken | AnonymousUser
READERS = "_membership_of_reader"
"""Attribute of a project that was found for a person: their membership, read with it, so that no page asks for it
again."""
SECOND_FACTORS = (Authenticator.Type.TOTP, Authenticator.Type.WEBAUTHN)
"""Recovery codes only stand in for one of these."""

V, O, D, A = Role.VIEWER, Role.OPERATOR, Role.DESIGNER, Role.ADMIN  # noqa: E741
# The table: which role an action needs, and which scope a bearer token needs besides.
TABLE: dict[str, tuple[Role, str]] = {
    #  action    role  scope
    "view": (V, "read"),
    "submit": (O, "submit"),
    "operate": (O, "report"),  # retry, cancel, answer, complete, hold
    "report": (O, "report"),  # outcomes of jobs, by machines
    "design": (D, "design"),  # drafts, import
    "comment": (V, "design"),  # on the parts of a line: who may look may speak, and it changes nothing
    "publish": (D, "design"),
    "execute": (
        D,
        "design",
    ),  # publish stations that run code: needs the flag `execute` of the membership, too
    "decide": (V, "decide"),  # a gate may ask any member by name or group
    "secrets": (A, "settings"),  # store and delete secrets and variables; nobody reads a secret
    "repositories": (A, "settings"),  # connect repositories, change and test them
    "settings": (A, "settings"),  # name of a project, archive, transfer
    "admin": (A, ""),  # members, tokens, settings: never by a bearer token
}
# What a machine never does, whatever its role and scopes.
NEVER_BY_MACHINE = ("decide", "execute", "comment", "secrets", "repositories", "settings", "admin")


def is_permitted(who: Who, action: str, project: Project) -> bool:
    """Return whether `who` may do `action` (a key of TABLE) in this project."""
    needed, scope = TABLE[action]
    if isinstance(who, ApiToken):
        return _token_may(who, action, needed, scope, project)
    if action == "execute":
        return _is_member_with_role(who, project, needed, execute=True)
    return _is_member_with_role(who, project, needed)


def require_permission(who: Who, action: str, project: Project) -> None:
    """Raises NotFound where `who` has no part in the project, Forbidden where only the role or scope is missing."""
    if is_permitted(who, action, project):
        return
    # A stranger is not told that there is such a project.
    raise Forbidden if roles_with_included_in(who, project) else NotFound


def roles_with_included_in(who: Who, project: Project) -> frozenset[str]:
    """Every role of a person (or of the bearer of a token) in a project, those included too; none for a stranger."""
    if isinstance(who, ApiToken):
        if who.kind == ApiToken.TokenKind.MACHINE:
            return included_roles([who.role]) if who.project_id == project.pk else frozenset()
        # It opens the addresses of runners alone.
        if who.kind == ApiToken.TokenKind.RUNNER:
            return frozenset()
        return (
            roles_with_included_in(who.user, project)
            if who.user and who.project_id in (None, project.pk)
            else frozenset()
        )
    membership = _active_membership_or_none(who, project)
    return included_roles(membership.roles) if membership else frozenset()


def can_in_every_project_of_owner(who: Who, action: str, owner: Owner) -> bool:
    """Return whether `who` may do `action` for all projects of an owner: in each of them, those that are
    archived too."""
    projects = list(owner.projects.all())
    return bool(projects) and all(is_permitted(who, action, project) for project in projects)


def owners_to_create_in(who: Who) -> QuerySet[Owner]:
    """Return the owners under which a person may create a project: beside one that they administer, since its
    secrets reach them there already. An administrator of the installation may create one anywhere."""
    person = _user_of_unbound_settings_token_or_none(who) if isinstance(who, ApiToken) else who
    if person is None or not person.is_authenticated or not person.is_active:
        return Owner.objects.none()
    if person.is_staff:
        return Owner.objects.order_by("key")
    # Secrets of the owner reach every project of it: who administers one may read them already
    admins = Membership.objects.filter(user=person, roles__contains=[Role.ADMIN])
    return Owner.objects.filter(projects__memberships__in=admins).distinct().order_by("key")


def people_user_may_name(person: User) -> QuerySet[User]:
    """Return the people whom somebody may name: those who share a project with them. An administrator of the
    installation knows everybody."""
    active = User.objects.filter(is_active=True)
    if person.is_staff:
        return active
    return active.filter(memberships__project__in=visible_projects_with_owner(person)).distinct()


def _user_of_unbound_settings_token_or_none(token: ApiToken) -> User | None:
    """Return the person that a token acts as outside of any existing project: None if it is bound to one, or
    lacks the scope."""
    scope = TABLE["settings"][1]
    return token.user if token.project_id is None and scope in token.scopes else None


def visible_projects_with_owner(who: Who) -> QuerySet[Project]:
    projects = Project.objects.select_related("owner").order_by("owner__key", "key")
    if isinstance(who, ApiToken):
        return _visible_to_token_bearer(who, projects)
    if not who.is_authenticated or not who.is_active:
        return projects.none()
    return projects.filter(memberships__user=who)


def projects_where_role_allows(user: User, action: str) -> QuerySet[Project]:
    """The projects in which a person may do `action`: one query for all of them. Not for `execute`."""
    needed, _scope = TABLE[action]
    if not user.is_active:
        return Project.objects.none()
    return Project.objects.filter(memberships__user=user, memberships__roles__overlap=roles_granting(needed))


def project_id_query_where_role_allows(user: Any, action: str) -> QuerySet[Membership, Any]:
    """Select the projects in which the person with this id may do `action`, for a part of a statement. Not for
    `execute`."""
    needed, _scope = TABLE[action]
    memberships = Membership.objects.filter(
        user=user, user__is_active=True, roles__overlap=roles_granting(needed)
    )
    return memberships.values("project_id")


def visible_projects_read_at_once(person: User | AnonymousUser) -> list[Project]:
    """Return `visible_projects` for a person who is signed in."""
    return _projects_of_user(user=person.pk) if person.is_active else []


def ids_of_projects_where_role_allows(user: User, action: str) -> set[int]:
    """The ids of `projects_where_role_allows`."""
    needed, _scope = TABLE[action]
    return (
        set(_project_ids_where_user_has_role(user=user.pk, roles=roles_granting(needed)))
        if user.is_active
        else set()
    )


def visible_project_by_keys(who: Who, owner_key: str, project_key: str) -> Project:
    """Down the path Owner › Project, never by bare id. Raises NotFound."""
    if isinstance(who, User):
        project = None
        membership = (
            _memberships_by_project_keys.first(user=who.pk, owner=owner_key, key=project_key)
            if who.is_active
            else None
        )
        if membership is not None:
            project = membership.project
            vars(project)[READERS] = membership
    else:
        project = visible_projects_with_owner(who).filter(owner__key=owner_key, key=project_key).first()
    # Of what somebody may not see nobody is told that it exists
    if project is None:
        raise NotFound
    return project


def line_of_visible_project_by_keys(who: Who, owner_key: str, project_key: str, line_key: str) -> Line:
    """Raises NotFound."""
    return line_of_permitted_project(visible_project_by_keys(who, owner_key, project_key), line_key)


def line_of_permitted_project(project: Project, key: str) -> Line:
    """Return the line of a project from `visible_project_by_keys`. Raises NotFound."""
    line = _lines_by_key(project=project.pk, key=key)
    if not line:
        raise NotFound
    line[0].project = project
    return line[0]


def version_of_permitted_line(line: Line, number: str | int) -> LineVersion:
    """Return the version of a line from `line_of_visible_project_by_keys`. Raises NotFound."""
    text = str(number)
    # So short that the column can hold it
    plain = text.isascii() and text.isdigit() and len(text) < 9
    rows = line.versions.select_related("published_by")
    version = rows.filter(number=int(text)).first() if plain else None
    if version is None:
        raise NotFound("This line has no such version.")
    return version


def task_of_line_by_name(who: Who, owner_key: str, project_key: str, line_key: str, name: str) -> Task:
    """`name`: the `WI-…` number. Raises NotFound, also for a task of another line."""
    task = task_by_number_in_project(who, owner_key, project_key, name)
    if task.line.key != line_key:
        raise NotFound
    return task


def task_by_number_in_project(who: Who, owner_key: str, project_key: str, name: str) -> Task:
    """A task by its number alone, which is unique in the project. Raises NotFound."""
    return task_of_permitted_project(visible_project_by_keys(who, owner_key, project_key), name)


def task_of_permitted_project(project: Project, name: str) -> Task:
    """Find a task of a project that was found by `visible_project_by_keys`. Raises NotFound."""
    number = task_number_or_none(project, name)
    task = _tasks_by_number.first(project=project.pk, number=number) if number is not None else None
    if task is None:
        raise NotFound
    task.project = task.line.project = project
    return task


def memberships_lacking_required_factor(user_ids: Collection[int]) -> QuerySet[Membership]:
    """Memberships of projects that require a second factor, of those of these people who have none."""
    return _those_lacking_required_factor(Membership.objects.filter(user__in=user_ids))


def _those_lacking_required_factor(memberships: QuerySet[Membership]) -> QuerySet[Membership]:
    bound_memberships = memberships.filter(project__second_factor=True)
    return bound_memberships.exclude(user__authenticator__type__in=SECOND_FACTORS)


def user_and_project_ids_of_members(
    user_ids: Collection[int], project_ids: Collection[int] | None
) -> set[tuple[int, int]]:
    """Return which of these people may see which of these projects, or of all: (user id, project id). People
    who lack a second factor that a project of theirs requires see none, until it is set up."""
    memberships = Membership.objects.filter(user__in=user_ids, user__is_active=True)
    memberships = memberships.exclude(user__in=memberships_lacking_required_factor(user_ids).values("user"))
    if project_ids is not None:
        memberships = memberships.filter(project__in=project_ids)
    return set(memberships.values_list("user_id", "project_id"))


def task_number_or_none(project: Project, name: str) -> int | None:
    """42 for `WI-{project}-42`, None for anything else."""
    digits = name.removeprefix(f"WI-{project.key}-")
    # Any 18 digits fit a bigint.
    plain = digits != name and digits.isascii() and digits.isdigit() and len(digits) < 19
    # No leading zeros: a task has one name.
    return int(digits) if plain and str(int(digits)) == digits else None


def _is_member_with_role(
    who: User | AnonymousUser, project: Project, needed: Role, *, execute: bool = False
) -> bool:
    membership = _active_membership_or_none(who, project)
    if membership is None or needed not in included_roles(membership.roles):
        return False
    return membership.execute or not execute


def _active_membership_or_none(who: User | AnonymousUser, project: Project) -> Membership | None:
    if not who.is_authenticated or not who.is_active:
        return None
    known: Membership | None = vars(project).get(READERS)
    # The project may have been found for somebody else.
    if known is not None and known.user_id == who.pk:
        return known
    return _memberships_of_user_in_project.first(project=project.pk, user=who.pk)


@compiled(project=BigIntegerField(), user=BigIntegerField())
def _memberships_of_user_in_project(project: Any, user: Any) -> QuerySet[Membership]:
    return Membership.objects.filter(project=project, user=user)


@compiled(user=BigIntegerField())
def _projects_of_user(user: Any) -> QuerySet[Project]:
    return (
        Project.objects.select_related("owner").filter(memberships__user=user).order_by("owner__key", "key")
    )


@compiled(user=BigIntegerField(), roles=array_field(CharField()))
def _project_ids_where_user_has_role(user: Any, roles: Any) -> QuerySet[Membership, int]:
    memberships = Membership.objects.filter(user=user, roles__overlap=roles)
    return memberships.values_list("project_id", flat=True)


@compiled(user=BigIntegerField(), owner=CharField(), key=CharField())
def _memberships_by_project_keys(user: Any, owner: Any, key: Any) -> QuerySet[Membership]:
    within = Membership.objects.filter(project__owner__key=owner, project__key=key, user=user)
    return within.select_related("project__owner")


@compiled(project=BigIntegerField(), key=CharField())
def _lines_by_key(project: Any, key: Any) -> QuerySet[Line]:
    return Line.objects.filter(project=project, key=key).select_related("live")


@compiled(project=BigIntegerField(), number=BigIntegerField())
def _tasks_by_number(project: Any, number: Any) -> QuerySet[Task]:
    tasks = tasks_with_display_status(Task.objects.filter(project=project, number=number))
    return tasks.select_related("line", "pinned", "requester", "follows")


@compiled(user=BigIntegerField())
def user_with_lacks_factor_query(user: Any) -> QuerySet[User]:
    """Read who signed in. `lacks_factor`: whether they are in `memberships_lacking_required_factor`."""
    return User.objects.filter(pk=user).annotate(
        lacks_factor=Exists(_those_lacking_required_factor(Membership.objects.filter(user=OuterRef("pk"))))
    )


def _token_may(token: ApiToken, action: str, needed: Role, scope: str, project: Project) -> bool:
    """A token acts within its scopes: a person's as that person, a machine's with its own role."""
    if token.revoked_at is not None or not scope or scope not in token.scopes:
        return False
    # None: a person's token that holds in all of their projects
    if token.project_id not in (None, project.pk):
        return False
    if token.kind == ApiToken.TokenKind.MACHINE:
        return action not in NEVER_BY_MACHINE and needed in included_roles([token.role])
    return token.user is not None and is_permitted(token.user, action, project)


def _visible_to_token_bearer(token: ApiToken, projects: QuerySet[Project]) -> QuerySet[Project]:
    """Return the projects that the token's bearer may see. Every scope shows the projects that it acts in;
    `read` alone shows what is in them."""
    if token.revoked_at is not None or not token.scopes:
        return projects.none()
    # A token never reaches further than the one project it was made for
    if token.project_id is not None:
        projects = projects.filter(pk=token.project_id)
    if token.kind == ApiToken.TokenKind.MACHINE:
        return projects
    if token.user is None or not token.user.is_active:
        return projects.none()
    return projects.filter(memberships__user=token.user)
