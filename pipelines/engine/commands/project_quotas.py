"""Quotas of a project: what is used up keeps the next task from starting (law §8)."""

from __future__ import annotations

from pipelines.errors import Conflict
from pipelines.models import Project
from pipelines.queries.project_quotas import quota_uses


class QuotaReached(Conflict):
    """Refusal of one task more than a project may start, or than its money allows."""


def check_no_quota_used_up(project: Project) -> None:
    """Raises QuotaReached with the quota, what is used of it, and the remedy. The number counter of the project is
    locked by the caller, so that two that start at once are counted one after the other."""
    for use in quota_uses(project):
        if use.is_used_up:
            raise QuotaReached(
                f"The quota of {project.name} is used up: {use.sentence}. The next task can start"
                f" {use.quota.following} (UTC), or when an admin raises it under Settings › General."
            )
