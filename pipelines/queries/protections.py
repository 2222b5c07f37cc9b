"""Protections of the repositories of a project (law §14)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final
from urllib.parse import unquote, urlsplit

from django.db.models import Q, QuerySet

from pipelines.models import Project, Repository, RepositoryProtection
from pipelines.queries import versions
from pipelines.routing.analysis.lint.subject import LintSubject
from pipelines.routing.guarantees.guarantee_proofs import GuaranteeAnswer
from pipelines.routing.guarantees.protection import ADMIN, OWNER, Protection, protection_answers

SAME_HOSTS: Final[Mapping[str, str]] = {
    "www.github.com": "github.com",
    "ssh.github.com": "github.com",
    "www.gitlab.com": "gitlab.com",
    "altssh.gitlab.com": "gitlab.com",
    "altssh.bitbucket.org": "bitbucket.org",
}
"""Other names under which public hosts serve the same repositories."""


def canonical_address(address: str) -> str:
    """Return one name for a repository, whichever way it is addressed: the host and the path, or the folder itself."""
    if address.startswith("/"):
        return os.path.realpath(address)
    if "://" in address:
        parts = urlsplit(address)
        host, path = parts.hostname or "", parts.path
    else:
        # The short form of ssh: git@example.com:team/app.git
        server, _colon, path = address.partition(":")
        host = server.rpartition("@")[2]
    # A host name with a dot at its end is the same host.
    host = host.lower().rstrip(".")
    return f"{SAME_HOSTS.get(host, host)}/{_canonical_repository_path(path)}"


def _canonical_repository_path(path: str) -> str:
    """Return the path that a server reads: without escapes, empty steps, and steps that lead back."""
    steps: list[str] = []
    for step in unquote(path).lower().split("/"):
        if step == "..":
            del steps[-1:]
        elif step not in ("", "."):
            steps.append(step)
    return "/".join(steps).removesuffix(".git")


def protections_by_repository(project: Project) -> dict[str, Protection]:
    """{name of a repository: what holds for it}: of the project and of its owner, all together; none of others."""
    rows = list(_protection_rows_of_project_or_owner(project).order_by("pk"))
    if not rows:
        return {}
    names = Repository.objects.filter(project=project).order_by("name").values_list("name", "address")
    together = {name: _combined_protection(rows, canonical_address(address)) for name, address in names}
    return {name: protection for name, protection in together.items() if protection}


def repository_protection(repository: Repository) -> Protection:
    place = canonical_address(repository.address)
    return _combined_protection(
        _protection_rows_of_project_or_owner(repository.project).filter(place__in=("", place)).order_by("pk"),
        place,
    )


def _protection_rows_of_project_or_owner(project: Project) -> QuerySet[RepositoryProtection]:
    return RepositoryProtection.objects.filter(Q(project=project.pk) | Q(owner=project.owner_id))


def _combined_protection(rows: Iterable[RepositoryProtection], place: str) -> Protection:
    protection = Protection()
    for row in rows:
        if row.place in ("", place):
            protection |= protection_from_row(row)
    return protection


def protection_from_row(row: RepositoryProtection) -> Protection:
    return Protection.from_dict(row.rules, OWNER if row.owner_id else ADMIN)


@lru_cache(maxsize=64)
def protection_proofs(version: int, repository: str, protection: Protection) -> tuple[GuaranteeAnswer, ...]:
    """Prove what the protection asks of a version, which never changes."""
    return protection_answers(
        LintSubject(versions.parsed_line_by_version_id(version)), repository, protection
    )
