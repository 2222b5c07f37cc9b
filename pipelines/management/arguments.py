"""Arguments that several commands have in common."""

from __future__ import annotations

from django.core.management.base import CommandError

from pipelines.models import Project


def project_by_owner_and_key(text: str) -> Project:
    """`owner/project`. Raises CommandError, naming the projects that there are."""
    owner, _slash, key = text.partition("/")
    project = Project.objects.select_related("owner").filter(owner__key=owner, key=key).first()
    if project is None:
        known = ", ".join(
            map(str, Project.objects.select_related("owner").order_by("owner__key", "key")[:20])
        )
        raise CommandError(f"There is no project “{text}”. Use one of: {known}")
    return project
