"""Form of a trigger that waits for the end of another line: which one, how it ends, and what is taken from its task."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from pipelines.lines.triggers import TriggerRequest
from pipelines.models import Line, Task, Trigger, User
from pipelines.routing.basics import jsontext
from pipelines.routing.document.line import Problem
from pipelines.web.tasks.start import input_values_of_form
from pipelines.web.triggers import mapped_form, shared_form
from pipelines.web.triggers.shared_form import Typed
from pipelines.work.triggers import ended_task, mapping
from pipelines.work.triggers.line_end import DEFAULTS, STATES, awaited_statuses

OWN: Final = {"source": "options.line", "state": "options.state", "title": "title"}
BLANK: Final = dict.fromkeys((*OWN, "one_at_a_time"), "")
WITHOUT: Final = ("requester",)
"""The requesters of the task that ended count, whoever they are."""


def source_choices(line: Line) -> list[tuple[str, str]]:
    """List the lines of the project whose ends a trigger of this one can wait for."""
    others = Line.objects.filter(project=line.project_id, archived_at=None).exclude(pk=line.pk)
    return list(others.order_by("name").values_list("key", "name"))


def trigger_request(line: Line, typed: Typed) -> TriggerRequest:
    """Return what the form asks for, unchecked."""
    return TriggerRequest(
        {
            "line": typed.get("source", ""),
            "state": typed.get("state", ""),
            **mapped_form.mapping_options(line, typed),
        },
        typed.get("title", ""),
        input_values_of_form(shared_form.live_inputs(line), typed),
        one_at_a_time="one_at_a_time" in typed,
    )


def new_form_values(line: Line, user: User, query: Typed) -> dict[str, str]:
    """Return a new form, with the line that the address names: `?kind=line_end&source=build`."""
    return {"source": query.get("source", ""), "state": str(DEFAULTS["state"])}


def stored_form_values(trigger: Trigger) -> dict[str, str]:
    """Return the form of a trigger that there is."""
    options = trigger.options
    return {
        "source": options["line"],
        "state": options["state"],
        **mapped_form.stored_path_fields(options),
        **shared_form.stored_shared_fields(trigger),
    }


def form_context(
    line: Line, user: User, typed: Typed, problems: Sequence[Problem], *, is_fresh: bool = False
) -> dict[str, Any]:
    """Return the context of `triggers/line_end.html`. `is_fresh`: the inputs begin with their defaults."""
    paths = mapped_form.path_fields(line, typed, problems, mapping.MISSING, without=WITHOUT)
    elsewhere = [f"options.{field.name.removeprefix(mapped_form.AT)}" for field in paths]
    sources = source_choices(line)
    typed = {**BLANK, "source": sources[0][0] if sources else "", **{key: v for key, v in typed.items() if v}}
    return {
        **shared_form.shared_form_context(
            line, user, typed, problems, OWN, is_fresh=is_fresh, elsewhere=elsewhere
        ),
        **example_context(line, typed),
        "typed": typed,
        "paths": paths,
        "sources": sources,
        "states": [(state, f"A task {words}") for state, words in STATES.items()],
    }


def example_context(line: Line, typed: Typed) -> dict[str, Any]:
    """Return what the paths of the form find in the task of the chosen line that ended last."""
    task = _latest_task_or_none(line, typed)
    text = jsontext.dumps(ended_task.task_document(task), indent=2, ascii_only=False) if task else ""
    return {
        **mapped_form.example_context(line, typed, text),
        "example_task": task,
        "example_text": text,
    }


def _latest_task_or_none(line: Line, typed: Typed) -> Task | None:
    """Return the task that ended last as the form says, else the one that ended last in any way."""
    known = Line.objects.filter(project=line.project_id, key__in=[key for key, _name in source_choices(line)])
    source = (
        known.filter(key=typed.get("source", "")).first() if typed.get("source", "").isprintable() else None
    )
    if source is None:
        return None
    state = typed.get("state", "")
    statuses = awaited_statuses({"state": state if state in STATES else DEFAULTS["state"]})
    return ended_task.latest_ended_task_or_none(source.pk, statuses) or ended_task.latest_ended_task_or_none(
        source.pk, awaited_statuses({"state": "any"})
    )
