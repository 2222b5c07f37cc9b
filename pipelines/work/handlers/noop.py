"""Work of kind `noop`: nothing, at once; also of a visit whose work somebody pushed."""

from __future__ import annotations

from pipelines.work.spec.handler_io import Outcome, Sink, Spec


async def run(spec: Spec, sink: Sink) -> Outcome:
    if by := spec.work.get("pushed_by"):
        return {"result": "success", "eval": "pushed", "summary": f"{by} pushed to the branch of the task."}
    return {"result": "success"}
