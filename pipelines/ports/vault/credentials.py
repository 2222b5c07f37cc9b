"""Secrets that are credentials: of a repository, of its host, or of what a host sends. They are for git and the host
alone, and no station gets one (house §5)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from django.db.models import Q

from pipelines.models import Project, Repository, StoredValue

FIELDS = ("credential", "host_credential", "hook_secret")


def repository_by_credential_secret(
    names: Collection[str], *, owner: int, project: int, stored: Mapping[str, StoredValue]
) -> dict[str, str]:
    """Return {name of a secret: the repository that uses it as its credential} of those names that are one.

    A name counts in its own project, at whatever place it is stored; that of another project of the owner where
    the value is the owner's, which both get. `stored`: the value that counts for each name here. One statement,
    none without names."""
    if not names:
        return {}
    any_field = Q()
    for field in FIELDS:
        any_field |= Q(**{f"{field}__in": names})
    repositories = Repository.objects.filter(any_field, project__owner=owner)
    uses: dict[str, str] = {}
    for project_id, repository, *fields in repositories.order_by("pk").values_list(
        "project_id", "name", *FIELDS
    ):
        for name in {field for field in fields if field in names}:
            # A project of the same owner has another secret of this name, unless both get the owner's
            shared = name in stored and stored[name].owner_id is not None
            if project_id == project or shared:
                uses.setdefault(name, repository)
    return uses


def repository_by_credential_value(project: Project, values: Iterable[StoredValue]) -> dict[int, str]:
    """Return {id of a value: the repository that uses it as its credential} of the values that a project can get."""
    values = list(values)
    shared = {value.name: value for value in values if value.owner_id is not None}
    names = {value.name for value in values if value.kind == StoredValue.ValueKind.SECRET}
    here = repository_by_credential_secret(names, owner=project.owner_id, project=project.pk, stored={})
    elsewhere = repository_by_credential_secret(
        shared.keys(), owner=project.owner_id, project=project.pk, stored=shared
    )
    return {
        value.pk: uses[value.name]
        for value in values
        if value.name in (uses := elsewhere if value.owner_id is not None else here)
    }
