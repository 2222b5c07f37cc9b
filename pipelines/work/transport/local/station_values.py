"""Secrets and variables for a job, looked up when a worker gets it and nowhere else (house §5)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from functools import lru_cache

from django.utils import timezone
from django.views.decorators.debug import sensitive_variables

from pipelines.models import Job, Purpose, Task
from pipelines.ports.vault import value_lookup
from pipelines.ports.vault.credentials import repository_by_credential_secret
from pipelines.ports.vault.store import SECRET, VARIABLE
from pipelines.queries import versions
from pipelines.queries.environments import task_repository_or_none
from pipelines.routing.document.kinds import secret_names, variable_names
from pipelines.routing.document.line import ParsedLine, Station
from pipelines.work.results.text import Masker
from pipelines.work.transport.protocol import NO_VALUES, StationValues


@sensitive_variables("known")
def job_values(job: Job) -> StationValues:
    """Return the values that the station of this job names, with what has to be masked. `job` with its task,
    project and owner loaded. A question about an outcome gets nothing, but what it prints is masked."""
    if _names_no_secret_or_variable(job.pinned_id):
        return NO_VALUES
    line = versions.parsed_line_by_version_id(job.pinned_id)
    own = [line.station(job.station)] if job.purpose == Purpose.STATION else []
    return station_values(job.task, line, own, _secret_references(job.pinned_id))


@sensitive_variables("known")
def station_values(
    task: Task, line: ParsedLine, own: list[Station], asked_for: Iterable[str]
) -> StationValues:
    """Return the values that these stations name, of a task with its project and owner loaded; `asked_for`:
    what all of the line name."""
    every = value_lookup.unique_names_behind_references(asked_for, task.inputs)
    settings = {name for station in own for name in variable_names(station.work)}
    credential, of_host = _secret_names_of_repository_and_host(task, line)
    secret_names = {name for name in (credential, of_host) if name}
    if not every and not settings and not secret_names:
        return NO_VALUES
    needed_secrets = set(value_lookup.secret_names_for(own, task.inputs))
    reach = value_lookup.ValueScope.scope_of_task(task)
    stored, plain = (
        reach.nearest_value_by_name(SECRET, [*every, *secret_names]),
        reach.nearest_value_by_name(VARIABLE, settings),
    )
    known = value_lookup.readable_secret_by_name(stored)
    # Asked at each start: a secret can become a credential after the line was published.
    withheld = repository_by_credential_secret(
        needed_secrets, owner=reach.owner, project=reach.project, stored=stored
    )
    granted = needed_secrets - withheld.keys()
    value_lookup.record_use_if_not_lately_recorded(
        [*(secret for name, secret in stored.items() if name in {*granted, *secret_names}), *plain.values()],
        timezone.now(),
    )
    return StationValues(
        secrets={name: value for name, value in known.items() if name in granted},
        withheld=withheld,
        variables={name: variable.content for name, variable in plain.items()},
        masked=tuple(known.values()),
        credential=known.get(credential, ""),
        host_credential=known.get(of_host, ""),
    )


# A published version never changes (house §2)
@lru_cache(maxsize=512)
def _names_no_secret_or_variable(version: int) -> bool:
    """Return whether no task of the version has a secret or a variable, as neither a station nor a repository
    names one."""
    line = versions.parsed_line_by_version_id(version)
    has_names = _secret_references(version) or any(variable_names(station.work) for station in line.stations)
    return line.workspace is None and not has_names


@lru_cache(maxsize=512)
def _secret_references(version: int) -> tuple[str, ...]:
    """References to secrets, of all stations of a version."""
    return secret_references(versions.parsed_line_by_version_id(version))


def secret_references(line: ParsedLine) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for station in line.stations for name in secret_names(station.work)))


def task_masker(task: Task) -> Masker:
    """Return the masker for what stations of the task left and a page shows: it hides each secret that one of
    them could get, by the versions of the line that it has run."""
    return masker_by_task_id([task])[task.pk]


def masker_by_task_id(tasks: Iterable[Task]) -> dict[int, Masker]:
    """The same of several tasks, by their ids."""
    known, ran = list(tasks), dict[int, set[int]]()
    # By its tokens: an index of jobs by task has those of stations alone.
    jobs = Job.objects.filter(token__task__in=known)
    for pk, pinned in jobs.values_list("task_id", "pinned_id").distinct():
        ran.setdefault(pk, set()).add(pinned)
    return maskers_by_versions(known, ran)


def maskers_by_versions(tasks: Iterable[Task], ran: Mapping[int, Set[int]]) -> dict[int, Masker]:
    """The same where it is known under which versions each of them ran."""
    return {task.pk: _masker_for_versions(task, {task.pinned_id, *ran.get(task.pk, ())}) for task in tasks}


def _masker_for_versions(task: Task, pinned: Iterable[int]) -> Masker:
    lines = [
        versions.parsed_line_by_version_id(version)
        for version in pinned
        if not _names_no_secret_or_variable(version)
    ]
    names = {name for line in lines for name in value_lookup.secret_names_for(line.stations, task.inputs)}
    names |= {name for line in lines for name in _secret_names_of_repository_and_host(task, line) if name}
    return Masker(
        value_lookup.readable_secret_by_name(
            value_lookup.ValueScope.scope_of_task(task).nearest_value_by_name(SECRET, names)
        ).values()
    )


def _secret_names_of_repository_and_host(task: Task, line: ParsedLine) -> tuple[str, str]:
    """The names of the secrets that the repository of the line asks for, and its host."""
    repository = task_repository_or_none(task, line) if line.workspace else None
    return (repository.credential, repository.name_of_host_secret) if repository else ("", "")
