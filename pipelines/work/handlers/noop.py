"""Work of kind `noop`: nothing, at once."""

from __future__ import annotations

from pipelines.work.spec.base import Outcome, Sink, Spec


async def run(spec: Spec, sink: Sink) -> Outcome:
    return {"result": "success"}
