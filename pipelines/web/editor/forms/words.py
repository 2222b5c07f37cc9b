"""Words that several forms offer."""

from __future__ import annotations

from collections.abc import Iterable

from django.utils.translation import gettext as _

from pipelines.web.editor.forms.form import Setting


def routes(setting: Setting, prefix: str) -> list[tuple[str, str]]:
    """`route:<station>` for every station of the line."""
    return [(f"{prefix}:{key}", _("Go to %s") % name) for key, name in setting.names.options("stations")]


def exhausted(targets: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """What becomes of a task when a budget is spent; `targets` with their names."""
    return [
        ("", _("as the line's policy says")),
        ("fail", _("the task fails")),
        ("stuck", _("the task is stuck")),
        ("escalate", _("it is escalated")),
        *((f"to:{key}", _("it goes to %s") % name) for key, name in targets),
    ]
