"""Programs that answer a question about an outcome: a hook of the workspace, or the evaluator of a worker.

The question comes on standard input. What the program writes, errors included, is the explanation. Its outcome is that
of the question's own job: `eval` is the word, `feedback` the text (law §3; ALP A26 to A28)."""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass, field

from pipelines.work.handlers import command
from pipelines.work.handlers.program_start import starting_program
from pipelines.work.language_models.answer_text import parsed_verdict
from pipelines.work.processes.process import CannotStart, Process
from pipelines.work.results.output import Unreadable, parse_storable_json
from pipelines.work.results.text import escaped_for_storage
from pipelines.work.spec.handler_io import Outcome, Sink, Spec

TEXT_CHARACTERS = 20_000
READ_BYTES = 64 * 1024
KEPT_BYTES = 1024 * 1024
# A stopped question needs little time to clean up.
GRACE_SECONDS = 2.0


@dataclass
class ProgramAnswer:
    """Answer of a program: both streams as they came, `code` (None: it never ran to an end), and the trouble
    that stopped it."""

    out: bytearray = field(default_factory=bytearray)
    both: bytearray = field(default_factory=bytearray)
    code: int | None = None
    trouble: str = ""
    started: bool = False

    @property
    def text(self) -> str:
        """The text, its beginning if it is long, with the trouble at its end."""
        output = _cut_text(escaped_for_storage(self.both.decode(errors="replace")).strip())
        return "\n".join(part for part in (output, self.trouble) if part)


def _cut_text(text: str) -> str:
    return text if len(text) <= TEXT_CHARACTERS else text[:TEXT_CHARACTERS] + "\n[the rest was cut]"


async def run_hook(spec: Spec, sink: Sink) -> Outcome:
    """Exit code 0 passes; anything else, a hook that is missing or one that takes too long blocks."""
    began = time.monotonic()
    answer = await _run_program(spec, sink, confined=True)
    # What cannot be asked has not agreed
    word = "pass" if answer.code == 0 and not answer.trouble else "block"
    return _facts_of_exit_and_duration(answer, began) | {
        "result": "success",
        "eval": word,
        "feedback": answer.text,
    }


async def run_evaluator(spec: Spec, sink: Sink) -> Outcome:
    """The last yes or no on standard output; without one, or if the program fails, nobody has answered."""
    began = time.monotonic()
    answer = await _run_program(spec, sink, confined=False)
    verdict = parsed_verdict(answer.out.decode(errors="replace"))
    # A program that failed has said nothing, whatever it wrote before
    if answer.trouble or answer.code != 0 or not verdict.word:
        why = answer.trouble or (
            f"The evaluator ended with exit code {answer.code}."
            if answer.code
            else "It said neither yes nor no."
        )
        return _facts_of_exit_and_duration(answer, began) | no_answer_outcome(why)
    why = _cut_text(escaped_for_storage(verdict.why))
    return _facts_of_exit_and_duration(answer, began) | {
        "result": "success",
        "eval": verdict.word,
        "feedback": why,
    }


@dataclass(frozen=True)
class ToolRules:
    """Rules by which the run of a gate's tool is read and repeated. `parse`: exit_code, text or json;
    `success_on`: exit codes after which the output is read; `backoff`: seconds before a repeat."""

    parse: str
    success_on: tuple[int, ...]
    retries: int
    backoff: float


async def run_tool(spec: Spec, sink: Sink, tool_rules: ToolRules) -> Outcome:
    """The raw result of a gate's tool; `routing.decide.steps.gates` decides what it means. `failure_type`: timeout,
    not_started or parse_error."""
    began = time.monotonic()
    for repeat in range(tool_rules.retries + 1):
        if repeat:
            await sink.note(f"[gateline] Once more, {repeat} of {tool_rules.retries}.")
            await asyncio.sleep(tool_rules.backoff)
        answer = await _run_program(spec, sink, confined=True)
        outcome = (
            _facts_of_exit_and_duration(answer, began)
            | {"feedback": answer.text}
            | _outcome_of_answer(answer, tool_rules)
        )
        if answer.code in tool_rules.success_on and "failure_type" not in outcome:
            break
    return outcome


def _outcome_of_answer(answer: ProgramAnswer, tool_rules: ToolRules) -> Outcome:
    if answer.trouble:
        kind = "timeout" if answer.started else "not_started"
        return {"result": "failure", "failure_type": kind, "summary": answer.trouble[:2000]}
    text = answer.out.decode(errors="replace")
    result = {"result": "success" if answer.code == 0 else "failure"}
    if tool_rules.parse == "exit_code" or answer.code not in tool_rules.success_on:
        return result
    if tool_rules.parse == "text":
        return result | {"output": escaped_for_storage(text)[:TEXT_CHARACTERS]}
    try:
        return result | {"output": parse_storable_json(text, "output")}
    except Unreadable as error:
        return {"result": "failure", "failure_type": "parse_error", "summary": str(error)[:2000]}


def no_answer_outcome(why: str) -> Outcome:
    """No answer: a person is asked, and sees why."""
    return {"result": "failure", "failure_type": "no_answer", "summary": why[:2000]}


def _facts_of_exit_and_duration(answer: ProgramAnswer, began: float) -> Outcome:
    code = {} if answer.code is None else {"exit_code": answer.code}
    return {**code, "usage": {"duration_sec": round(time.monotonic() - began, 3)}}


async def _run_program(spec: Spec, sink: Sink, *, confined: bool) -> ProgramAnswer:
    answer = ProgramAnswer()
    try:
        # Hooks and tools are of the workspace; an evaluator is the worker's own command.
        if confined:
            refuse_program_outside_workspace(spec)
        async with starting_program(spec, sink, command.command_launch) as (_connected_spec, process):
            # By this a time-out differs from a program that could not be started.
            answer.started = True
            await _collect_answer_until_end(spec, sink, process, answer)
    except CannotStart as error:
        answer.trouble = f"It could not be started: {error}"
    if answer.trouble:
        await sink.note(f"[gateline] {answer.trouble}")
    return answer


def refuse_program_outside_workspace(spec: Spec) -> None:
    """A path that names the program lies in the workspace, links resolved; a bare name is looked up as for commands.

    :raises CannotStart: it leads out of it"""
    name, workspace = spec.argv[0], spec.attempt.workspace.resolve()
    if "/" in name and not (command.working_folder(spec) / name).resolve().is_relative_to(workspace):
        raise CannotStart(f"the program {escaped_for_storage(name)} lies outside the workspace")


async def _collect_answer_until_end(spec: Spec, sink: Sink, process: Process, answer: ProgramAnswer) -> None:
    clock = asyncio.create_task(_stop_after_limit(spec, process, answer))
    prompt = asyncio.create_task(_write_question(spec, process))
    try:
        async with asyncio.TaskGroup() as streams:
            streams.create_task(_collect_output("out", process.stdout, sink, answer))
            streams.create_task(_collect_output("err", process.stderr, sink, answer))
        ended = await process.wait()
        answer.code = ended.code
        if ended.limit:
            answer.trouble = spec.resources.exceeded_message(ended.limit)
    finally:
        # The program has ended: there is nothing left to stop or to write to
        for task in (clock, prompt):
            task.cancel()
        await asyncio.gather(clock, prompt, return_exceptions=True)


async def _collect_output(name: str, stream: asyncio.StreamReader, sink: Sink, answer: ProgramAnswer) -> None:
    while data := await stream.read(READ_BYTES):
        # The explanation is the beginning of both streams.
        answer.both += data[: max(0, KEPT_BYTES - len(answer.both))]
        if name == "out":
            # The answer stands at the end.
            answer.out += data
            del answer.out[:-KEPT_BYTES]
        await sink.write(name, data)


async def _write_question(spec: Spec, process: Process) -> None:
    if process.stdin is None or spec.prompt is None:
        return
    with contextlib.suppress(
        BrokenPipeError, ConnectionResetError
    ):  # The program closed its input without reading it, which is allowed.
        process.stdin.write(spec.prompt.encode(errors="backslashreplace"))
        await process.stdin.drain()
    process.stdin.close()


async def _stop_after_limit(spec: Spec, process: Process, answer: ProgramAnswer) -> None:
    if spec.limits.total:
        await asyncio.sleep(spec.limits.total)
        answer.trouble = f"Stopped: it took longer than {spec.limits.total:g} s."
        process.stop(GRACE_SECONDS)
