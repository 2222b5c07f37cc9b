"""Table of the forms of triggers by kind. One line adds one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from pipelines.lines.triggers import TriggerRequest
from pipelines.models import Line, Trigger, User
from pipelines.routing.document.line import Problem
from pipelines.web.tasks.start import input_values_of_form
from pipelines.web.triggers import line_end_form, mapped_form, schedule_form, shared_form
from pipelines.web.triggers.shared_form import Typed
from pipelines.work.hosts import standard_webhooks
from pipelines.work.triggers import host_events, mapping, starting
from pipelines.work.triggers.signatures import SIGNATURES, STANDARD

# Form of a webhook: what calls it, and what is taken from its body, with an example that shows what the paths
# find.


OWN: Final = {
    "name": "options.name",
    "signature": "options.signature",
    "secret": "secret",
    "title": "title",
    **{name: f"options.{name}" for name in host_events.DEFAULTS},
}
BLANK: Final = dict.fromkeys((*OWN, "one_at_a_time", "example"), "")


def trigger_request(line: Line, typed: Typed) -> TriggerRequest:
    """Return what the form asks for, unchecked. A secret is made where none is typed."""
    return TriggerRequest(
        {
            "name": typed.get("name", ""),
            "signature": typed.get("signature", ""),
            **{name: typed.get(name, "") for name in host_events.DEFAULTS},
            **mapped_form.mapping_options(line, typed),
        },
        typed.get("title", ""),
        input_values_of_form(shared_form.live_inputs(line), typed),
        one_at_a_time="one_at_a_time" in typed,
        secret=typed.get("secret", "").strip() or standard_webhooks.new_secret(),
        example=typed.get("example", "").strip(),
    )


def new_form_values(line: Line, user: User, query: Typed) -> dict[str, str]:
    """Return a new form, with the signature that the address names."""
    signature = query.get("signature", "")
    return {"signature": signature if signature in SIGNATURES else STANDARD}


def stored_form_values(trigger: Trigger) -> dict[str, str]:
    """Return the form of a trigger that there is."""
    options = trigger.options
    return {
        "name": options["name"],
        "signature": options["signature"],
        **{name: options.get(name, "") for name in host_events.DEFAULTS},
        "example": starting.latest_or_pasted_body(trigger),
        **mapped_form.stored_path_fields(options),
        **shared_form.stored_shared_fields(trigger),
    }


def form_context(
    line: Line, user: User, typed: Typed, problems: Sequence[Problem], *, is_fresh: bool = False
) -> dict[str, Any]:
    """Return the context of `triggers/webhook.html`. `is_fresh`: the inputs begin with their defaults."""
    paths = mapped_form.path_fields(line, typed, problems, mapping.MISSING)
    elsewhere = [f"options.{field.name.removeprefix(mapped_form.AT)}" for field in paths]
    return {
        **shared_form.shared_form_context(
            line, user, typed, problems, OWN, is_fresh=is_fresh, elsewhere=elsewhere
        ),
        **mapped_form.pasted_example_context(line, typed),
        "typed": {**BLANK, **typed},
        "paths": paths,
        "events": [("", "Anything comes"), *host_events.EVENTS.items()],
        "signatures": [(signature.key, signature.label) for signature in SIGNATURES.values()],
    }


class FormContext(Protocol):
    def __call__(
        self, line: Line, user: User, typed: Typed, problems: Sequence[Problem], *, is_fresh: bool = False
    ) -> dict[str, Any]: ...


@dataclass(frozen=True, slots=True)
class TriggerFormKind:
    """Form of a kind of trigger. `fresh`: a new one, with what its address says; `stored`: of a trigger that there is;
    `request_of`: what it asks for, unchecked; `context_of`: what its template shows. `noun`: in buttons and titles.
    `example_of`: what its paths find in an example."""

    noun: str
    template: str
    fresh: Callable[[Line, User, Typed], dict[str, str]]
    stored: Callable[[Trigger], dict[str, str]]
    request_of: Callable[[Line, Typed], TriggerRequest]
    context_of: FormContext
    example_of: Callable[[Line, Typed], dict[str, Any]] = mapped_form.pasted_example_context


FORMS: Final = {
    "schedule": TriggerFormKind(
        "schedule",
        "triggers/schedule.html",
        schedule_form.new_form_values,
        schedule_form.stored_form_values,
        schedule_form.trigger_request,
        schedule_form.form_context,
    ),
    "webhook": TriggerFormKind(
        "webhook",
        "triggers/webhook.html",
        new_form_values,
        stored_form_values,
        trigger_request,
        form_context,
    ),
    "line_end": TriggerFormKind(
        "line trigger",
        "triggers/line_end.html",
        line_end_form.new_form_values,
        line_end_form.stored_form_values,
        line_end_form.trigger_request,
        line_end_form.form_context,
        line_end_form.example_context,
    ),
}
FIRST: Final = "schedule"
