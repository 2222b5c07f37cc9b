"""Work of kind `error`: fails with the given message, as a failure that rules can route (dialect B, `raise_error`)."""

from __future__ import annotations

from pipelines.work.spec.handler_io import Outcome, Sink, Spec

RAISED = "raised"


async def run(spec: Spec, sink: Sink) -> Outcome:
    message = str(spec.work.get("message", ""))
    return {
        "result": "failure",
        "failure_type": str(spec.work.get("failure_type") or RAISED),
        "summary": message,
    }
