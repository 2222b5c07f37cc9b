"""Work of kind `hook`: a program that is told of the task on standard input and says yes or no by its exit code
(dialects B11: evals `ok`, `failed`)."""

from __future__ import annotations

from dataclasses import replace

from pipelines.routing.basics import jsontext
from pipelines.work.handlers import command
from pipelines.work.spec.handler_io import Outcome, Sink, Spec


async def run(spec: Spec, sink: Sink) -> Outcome:
    """Exit code 0 is `ok`. What it did not say itself of its eval follows from that (law §2)."""
    payload = jsontext.dumps(spec.data)
    outcome = await command.run(replace(spec, prompt=payload + "\n"), sink)
    if outcome.get("result") == "cancelled" or "eval" in outcome:
        return outcome
    passed = outcome.get("exit_code") == 0 and outcome.get("result", "success") == "success"
    return {**outcome, "eval": "ok" if passed else "failed"}
