"""A failure that the line raises itself."""

from __future__ import annotations

from pipelines.routing.document.work.keys import TextKey
from pipelines.routing.document.work.kind import Kind

KIND = Kind(
    key="error",
    name="Error",
    about="It fails with a message of yours.",
    icon="octagon-x",
    docs="kinds.md#error",
    instant=True,
    title="Error",
    keys={
        "message": TextKey(
            label="Message",
            help="A template.",
            asked="say what went wrong",
            longest=10_000,
            template=True,
            rows=2,
        ),
        "failure_type": TextKey(
            label="Failure type",
            help="What rules may ask for.",
            placeholder="raised",
            longest=200,
            code=True,
        ),
    },
    evals=("error",),
    says=lambda station: str(station.work.get("message", "")),
)
