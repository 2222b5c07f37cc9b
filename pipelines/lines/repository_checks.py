"""Checks of a line beside the repository of its project: problems that keep it from working there, and who may push."""

from __future__ import annotations

from pipelines import access
from pipelines.models import Line, Project, Repository, StoredValue, User
from pipelines.ports.vault import value_lookup
from pipelines.ports.vault.credentials import repository_by_credential_secret
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.document import line as routing
from pipelines.routing.document.kinds import secret_names
from pipelines.routing.document.kinds.deliver import KIND as DELIVER
from pipelines.routing.document.kinds.deliver import REQUEST
from pipelines.routing.document.line import Problem
from pipelines.work.hosts import table


def repository_problems(line: routing.ParsedLine, project: Project) -> list[Problem]:
    """Return the problems that keep a line from working in the repository that it names."""
    workspace = line.workspace
    # Which repository an input names is known only when a task starts.
    if workspace is None or workspace.input_key:
        return []
    path = "workspace.git.repository"
    repository = Repository.objects.filter(project=project, name=workspace.repository).first()
    if repository is None:
        message = _("the project has no repository “%(name)s”", name=workspace.repository)
        return [Problem(path, message, "connect it under Settings › Repositories, or choose another")]
    if repository.pushing == Repository.Pushing.NOBODY and does_line_push_branch(line):
        message = _("no line may push to %(name)s", name=repository.name)
        hint = "change “Who may publish lines that push” under Settings › Repositories › %(name)s"
        return [Problem(path, message, _(hint, name=repository.name))]
    if does_line_open_merge_requests(line) and not _is_host_known(repository):
        message = _("nobody knows which host keeps %(name)s", name=repository.name)
        return [Problem(path, message, "choose its host under Settings › Repositories, or only push")]
    return []


def credential_problems(document: routing.ParsedLine, line: Line) -> list[Problem]:
    """Return a problem for each station that names a credential of a repository as a secret of its own."""
    names = {name for station in document.stations for name in secret_names(station.work)}
    if not names:
        return []
    project = line.project
    reach = value_lookup.ValueScope(project.owner_id, project.pk, line.pk)
    stored = reach.nearest_value_by_name(StoredValue.ValueKind.SECRET, names)
    uses = repository_by_credential_secret(names, owner=project.owner_id, project=project.pk, stored=stored)
    return [
        Problem(
            f"stations[{index}].work",
            _(
                "%(secret)s is a credential of the repository %(repository)s",
                secret=name,
                repository=uses[name],
            ),
            "Store a secret of its own for this station: no station gets a credential.",
        )
        for index, station in enumerate(document.stations)
        for name in dict.fromkeys(secret_names(station.work))
        if name in uses
    ]


def _is_host_known(repository: Repository) -> bool:
    try:
        return table.find_host_key_and_page(repository.host, repository.address, repository.page) is not None
    except ValueError:
        return False


def does_line_open_merge_requests(line: routing.ParsedLine) -> bool:
    """Tell whether it opens pull or merge requests."""
    return any(station.kind == DELIVER.key and station.work.get("to") == REQUEST for station in line.stations)


def does_line_push_branch(line: routing.ParsedLine) -> bool:
    return any(station.kind == DELIVER.key for station in line.stations)


def may_user_publish_pushing_line(line: routing.ParsedLine, project: Project, user: User) -> bool:
    """Tell whether this person may publish a line that pushes to its repository; where an input names it, to any that
    is connected."""
    workspace = line.workspace
    if workspace is None or not does_line_push_branch(line):
        return True
    if access.is_permitted(user, "repositories", project):
        return True
    connected = Repository.objects.filter(project=project, pushing=Repository.Pushing.ADMIN)
    # Where an input names the repository it may be any that is connected
    restricted = connected if workspace.input_key else connected.filter(name=workspace.repository)
    return access.is_permitted(user, "execute", project) and not restricted.exists()
