"""Boxes that choose a task among several, for one command (static/ts/pages/bulk.ts)."""

from __future__ import annotations

from functools import lru_cache

from django.urls import get_script_prefix, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from pipelines.models import Task


def choice_value(task: Task, token_id: int | str = "") -> str:
    """Return where the API has the task, and which position of it is meant."""
    keys = task.project.owner.key, task.project.key, task.line.key
    return f"{_task_address(*keys, get_script_prefix())}{task.name} {token_id}".strip()


@lru_cache(maxsize=1024)
def _task_address(owner: str, project: str, line: str, _prefix: str) -> str:
    """`_prefix` is in the key of the cache: below another one the address is another."""
    return reverse("api-1:task", args=[owner, project, line, "-"]).removesuffix("-")


def choose_html(task: Task, token_id: int | str = "") -> SafeString:
    box = '<input type="checkbox" data-choose value="{}" aria-label="Select {}">'
    return format_html(box, choice_value(task, token_id), task.name)
