"""Follows of the person in front of a page: what they follow of it."""

from __future__ import annotations

from typing import Any

from django import template

from pipelines.models import Line, Task
from reviews.notifications.following import followed_station_keys_or_line, follows_task

register = template.Library()


@register.simple_tag(takes_context=True)
def followed_of(context: dict[str, Any], line: Line) -> set[str]:
    """Keys of stations, "" for the line itself; one statement."""
    return followed_station_keys_or_line(context["request"].user, line)


@register.simple_tag(takes_context=True)
def is_followed(context: dict[str, Any], task: Task) -> bool:
    return follows_task(context["request"].user, task)


@register.filter
def followed_in(station: str, followed: set[str]) -> bool:
    return station in followed
