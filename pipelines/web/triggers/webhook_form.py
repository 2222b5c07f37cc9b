"""Form of a webhook: what calls it, and what is taken from its body, with an example that shows what the paths find."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from pipelines.lines.triggers import TriggerRequest
from pipelines.models import Line, Trigger, User
from pipelines.routing.document.line import Problem
from pipelines.web.tasks.start import input_values
from pipelines.web.triggers import mapped_form, shared_form
from pipelines.web.triggers.shared_form import Typed
from pipelines.work.hosts import standard_webhooks
from pipelines.work.triggers import mapping, starting
from pipelines.work.triggers.signatures import SIGNATURES, STANDARD

OWN: Final = {
    "name": "options.name",
    "signature": "options.signature",
    "secret": "secret",
    "title": "title",
}
BLANK: Final = dict.fromkeys((*OWN, "one_at_a_time", "example"), "")


def request_of(line: Line, typed: Typed) -> TriggerRequest:
    """Return what the form asks for, unchecked. A secret is made where none is typed."""
    return TriggerRequest(
        {
            "name": typed.get("name", ""),
            "signature": typed.get("signature", ""),
            **mapped_form.paths_of(line, typed),
        },
        typed.get("title", ""),
        input_values(shared_form.inputs_of(line), typed),
        one_at_a_time="one_at_a_time" in typed,
        secret=typed.get("secret", "").strip() or standard_webhooks.new_secret(),
        example=typed.get("example", "").strip(),
    )


def fresh(line: Line, user: User, query: Typed) -> dict[str, str]:
    """Return a new form, with the signature that the address names."""
    signature = query.get("signature", "")
    return {"signature": signature if signature in SIGNATURES else STANDARD}


def stored(trigger: Trigger) -> dict[str, str]:
    """Return the form of a trigger that there is."""
    options = trigger.options
    return {
        "name": options["name"],
        "signature": options["signature"],
        "example": starting.example_of(trigger),
        **mapped_form.stored(options),
        **shared_form.stored(trigger),
    }


def context_of(
    line: Line, user: User, typed: Typed, problems: Sequence[Problem], *, is_fresh: bool = False
) -> dict[str, Any]:
    """Return the context of `triggers/webhook.html`. `is_fresh`: the inputs begin with their defaults."""
    paths = mapped_form.fields_of(line, typed, problems, mapping.MISSING)
    elsewhere = [f"options.{field.name.removeprefix(mapped_form.AT)}" for field in paths]
    return {
        **shared_form.context_of(line, user, typed, problems, OWN, is_fresh=is_fresh, elsewhere=elsewhere),
        **mapped_form.example_of(line, typed),
        "typed": {**BLANK, **typed},
        "paths": paths,
        "signatures": [(signature.key, signature.label) for signature in SIGNATURES.values()],
    }
