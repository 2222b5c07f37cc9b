"""Words that several forms offer."""

from __future__ import annotations

from collections.abc import Iterable

from pipelines.web.editor.forms.form import FormSetting


def station_route_options(setting: FormSetting, prefix: str) -> list[tuple[str, str]]:
    """`route:<station>` for every station of the line."""
    return [(f"{prefix}:{key}", f"Go to {name}") for key, name in setting.names.options("stations")]


def exhaustion_options(targets: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the choices for a task whose budget is spent; `targets` with their names."""
    return [
        ("", "as the line's policy says"),
        ("fail", "the task fails"),
        ("stuck", "the task is stuck"),
        ("escalate", "it is escalated"),
        *((f"to:{key}", f"it goes to {name}") for key, name in targets),
    ]
