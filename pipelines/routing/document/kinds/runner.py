"""A runner of another system: it asks for the work over its own protocol (ALP's), and reports how it went."""

from __future__ import annotations

from pipelines.routing.document.work.keys import PROMPT, TextKey
from pipelines.routing.document.work.kind import ELSEWHERE, Kind
from pipelines.routing.document.work.model_keys import prompt_first_line

KIND = Kind(
    key="runner",
    name="External runner",
    about="A runner of ALP asks for the work and reports the result.",
    icon="satellite-dish",
    docs="kinds.md#runner",
    title="External runner",
    keys={
        "system": TextKey(
            label="System",
            help="What its agent is told of its part.",
            longest=PROMPT,
            template=True,
            rows=3,
        ),
        "prompt": TextKey(
            label="Prompt",
            help="A template: {{task.title}}, {{input.key}}. Leave empty for the title and description.",
            longest=PROMPT,
            template=True,
            rows=5,
        ),
    },
    fields=("prompt", "system"),
    done_by=ELSEWHERE,
    calls=True,
    actor="agent",
    says=prompt_first_line,
    silent="It gets the title and description of the task.",
)
