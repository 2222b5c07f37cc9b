"""Parts of a form that every kind of trigger has: the start form of the line, a title, and what is wrong."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from pipelines import access
from pipelines.models import Line, Trigger, User
from pipelines.ports.vault.value_lookup import ValueScope
from pipelines.queries import versions
from pipelines.routing.basics.wording import as_sentence, people_text
from pipelines.routing.document.line import Input, Problem
from pipelines.web.tasks import uploads
from pipelines.web.tasks.start import repository_choices_by_input, start_fields

Typed = Mapping[str, str]


def live_inputs(line: Line) -> Sequence[Input]:
    return versions.parsed_version(line.live).inputs if line.live else ()


def stored_shared_fields(trigger: Trigger) -> dict[str, str]:
    """Return these parts of the form of a trigger that there is."""
    inputs = {
        f"inputs.{key}": json.dumps(value) if isinstance(value, Mapping) else value
        for key, value in trigger.inputs.items()
    }
    once = {"one_at_a_time": "on"} if trigger.one_at_a_time else {}
    return {"title": trigger.title, **once, **inputs}


def shared_form_context(
    line: Line,
    user: User,
    typed: Typed,
    problems: Sequence[Problem],
    own: Mapping[str, str],
    *,
    is_fresh: bool = False,
    elsewhere: Collection[str] = (),
) -> dict[str, Any]:
    """Return what the templates of all kinds need. `own`: the fields of the form that show what is wrong with them, and
    the path of that. `is_fresh`: the inputs begin with their defaults. `elsewhere`: paths of problems that the form
    shows otherwise."""
    offered = repository_choices_by_input(line)
    reach = ValueScope(line.project.owner_id, line.project_id, line.pk)
    fields = start_fields(
        live_inputs(line), None if is_fresh else typed, problems, reach=reach, repositories=offered
    )
    known = {*own.values(), *(field.name for field in fields), *elsewhere}
    return {
        "faults": {
            name: [as_sentence(people_text(p.message)) for p in problems if p.path == path]
            for name, path in own.items()
        },
        "other_faults": [
            as_sentence(people_text(problem)) for problem in problems if problem.path not in known
        ],
        "fields": fields,
        "upload_to": uploads.upload_url(line.project),
        "may_connect": offered and access.is_permitted(user, "repositories", line.project),
    }
