"""Table of the forms of triggers by kind. One line adds one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from pipelines.lines.triggers import TriggerRequest
from pipelines.models import Line, Trigger, User
from pipelines.routing.document.line import Problem
from pipelines.web.triggers import schedule_form, webhook_form
from pipelines.web.triggers.shared_form import Typed


class FormContext(Protocol):
    def __call__(
        self, line: Line, user: User, typed: Typed, problems: Sequence[Problem], *, is_fresh: bool = False
    ) -> dict[str, Any]: ...


@dataclass(frozen=True, slots=True)
class TriggerFormKind:
    """Form of a kind of trigger. `fresh`: a new one, with what its address says; `stored`: of a trigger that there is;
    `request_of`: what it asks for, unchecked; `context_of`: what its template shows. `noun`: in buttons and titles."""

    noun: str
    template: str
    fresh: Callable[[Line, User, Typed], dict[str, str]]
    stored: Callable[[Trigger], dict[str, str]]
    request_of: Callable[[Line, Typed], TriggerRequest]
    context_of: FormContext


FORMS: Final = {
    "schedule": TriggerFormKind(
        "schedule",
        "triggers/schedule.html",
        schedule_form.fresh,
        schedule_form.stored,
        schedule_form.request_of,
        schedule_form.context_of,
    ),
    "webhook": TriggerFormKind(
        "webhook",
        "triggers/webhook.html",
        webhook_form.fresh,
        webhook_form.stored,
        webhook_form.request_of,
        webhook_form.context_of,
    ),
}
FIRST: Final = "schedule"
