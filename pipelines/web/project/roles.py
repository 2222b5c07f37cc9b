"""Roles on a page: boxes to tick, and the table of what each allows."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from pipelines import access
from pipelines.models import Role
from pipelines.models.people import INCLUDED, roles_granting

# What a row of the table of roles says of an action of `access.TABLE`.
ACTIONS = {
    "view": "See lines, tasks, logs and outputs",
    "comment": "Comment on lines",
    "submit": "Start tasks",
    "operate": "Answer, complete, retry, cancel",
    "design": "Edit and import lines",
    "publish": "Publish lines",
    "decide": "Approve or reject at gates that ask for reviewers",
    "repositories": "Connect, change and test repositories",
    "secrets": "Add and delete secrets and variables",
    "settings": "Rename, archive and transfer the project",
    "admin": "Change members, groups and tokens",
}
# What each role can do, in few words, where it is given.
SUMMARIES = {
    Role.VIEWER: "Sees lines, tasks and reviews, and can comment.",
    Role.OPERATOR: "Also starts, answers, retries and cancels tasks.",
    Role.DESIGNER: "Also edits and publishes lines.",
    Role.REVIEWER: "Can also approve or reject at gates.",
    Role.ADMIN: "All of these, and manages members and settings.",
}
# The role that gates ask for unless they say otherwise; the table of access says only who may try.
DECIDES = Role.REVIEWER


@dataclass(frozen=True, slots=True)
class RoleBox:
    """Role to tick. `by`: the name of a chosen role that includes it; `includes`: keys, with spaces between;
    `summary`: what it allows."""

    value: str
    word: str
    chosen: bool
    by: str
    includes: str
    summary: str


def role_boxes(chosen: Collection[str]) -> list[RoleBox]:
    boxes = []
    for role in Role:
        by = [str(other.label) for other in Role if other in chosen and role in INCLUDED[other]]
        includes = " ".join(sorted(INCLUDED[role]))
        summary = str(SUMMARIES[role])
        boxes.append(
            RoleBox(role.value, str(role.label), role in chosen, by[-1] if by else "", includes, summary)
        )
    return boxes


def role_table() -> list[dict[str, Any]]:
    """Rows of actions with a yes or no for each role, from the very table that decides."""
    rows = []
    for action, words in ACTIONS.items():
        needed = DECIDES if action == "decide" else access.TABLE[action][0]
        allowed = roles_granting(needed)
        rows.append({"words": words, "may": [role in allowed for role in Role.values]})
    return rows
