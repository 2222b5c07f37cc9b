"""Work of kind `agent`: a coding agent's program, called as its preset says, with its stream read while it runs.

What it says of itself is its claim. Facts are what its stream tells and what Gateline did: commands and tokens as it
reports them, whether its final event came, whether its model answered."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pipelines.routing.basics.facts import OF_MONTH, OF_RUN, OF_TASK, REPORT, facts_with_claim
from pipelines.work.agents import sign_in
from pipelines.work.agents.acp_conversation import AcpConversation
from pipelines.work.agents.call_arguments import ToolCommand, acp_servers, can_resume
from pipelines.work.agents.facts import REPORTED, agent_facts, facts_so_far, reported_or_computed_cost
from pipelines.work.agents.line_feed import LineFeed, last_message_output
from pipelines.work.agents.permission_desk import PermissionDesk
from pipelines.work.agents.stream import Stream
from pipelines.work.agents.streams import STREAMS
from pipelines.work.agents.streams.acp import Acp
from pipelines.work.agents.task_tools import TaskTools
from pipelines.work.handlers import command
from pipelines.work.handlers.agent_program import agent_program_spec
from pipelines.work.handlers.agent_tools import ToolSocket, listening_for_tools
from pipelines.work.handlers.program_start import NotPrepared, starting_program
from pipelines.work.processes.process import CannotStart, ProcessEnd
from pipelines.work.results import document, output
from pipelines.work.results.files import remove_path
from pipelines.work.results.signals import MOST, is_valid
from pipelines.work.results.text import escaped_for_storage
from pipelines.work.spec.agent_call import AgentCall, LentFiles
from pipelines.work.spec.handler_io import Outcome, Sink, Spec

FINAL_SECONDS: Final = 15.0
"""That a program may take to end after its final event."""
MOST_RETRIES: Final = 6
"""Times in a row that it may ask a model that does not answer."""
UNANSWERED_SECONDS: Final = 120.0
"""That it may go on asking: the pauses between its tries grow."""
QUESTION_SECONDS: Final = 90.0
"""That it may take to end once it asked a person: its model has a last turn."""
ENDS: Final[Mapping[str, Outcome]] = {
    "success": {"exit_code": 0},
    "failure": {"result": "failure"},
    "blocked": {"result": "blocked"},
}
"""What it says of how the work went, as an outcome."""
KEPT_STEPS: Final = 200
LIMITS: Final = {
    "": "the cost limit",
    OF_RUN: "the cost limit of the run",
    OF_TASK: "the cost limit of its task",
    OF_MONTH: "the cost limit of this month",
}
LONGEST_SUMMARY: Final = 2_000
LAST_WORDS: Final = 300


async def run(spec: Spec, sink: Sink) -> Outcome:
    """Call the program and follow it (law §13). Cancelling the call kills everything that it started."""
    assert spec.agent is not None
    call, began = spec.agent, time.monotonic()
    if call.cost is not None and call.cost <= 0:
        await sink.note(f"[gateline] Nothing is left of {LIMITS[call.limit]}.")
        return outcome_of_spent_budget(call)
    # A session lies in the agent's HOME: without files there is nothing to continue.
    resumed = can_resume(call) and await asyncio.to_thread(_has_files, spec.attempt.home)
    prompt = call.remark if resumed else spec.prompt
    if resumed:
        await sink.note("[gateline] The agent's session is continued.")
    async with listening_for_tools(spec, call, sink) as tools:
        words = tools.command if tools else None
        made = await asyncio.to_thread(agent_program_spec, spec, call, prompt, resumed, words)
        outcome = await _run_with_files(made, call, tools, sink)
    took = {"duration_sec": round(time.monotonic() - began, 3)}
    outcome["usage"] = {**outcome.get("usage", {}), **took}
    return outcome


async def _run_with_files(made: Spec, call: AgentCall, tools: ToolSocket | None, sink: Sink) -> Outcome:
    home = made.attempt.home
    try:
        await asyncio.to_thread(_write_files, home, call.files)
        if call.signed_in is None:
            return await _run_watched(made, call, tools, sink)
        return await _run_signed_in(made, call, call.signed_in, tools, sink)
    finally:
        # Shielded: secrets are taken out also where the call is cancelled.
        await asyncio.shield(asyncio.to_thread(_remove_files, home, call.files))


async def _run_signed_in(
    made: Spec, call: AgentCall, lent: LentFiles, tools: ToolSocket | None, sink: Sink
) -> Outcome:
    """Run it with the sign-in of this machine's user, which is taken back however it ends."""
    try:
        await asyncio.to_thread(lent.lend)
        outcome = await _run_watched(made, call, tools, sink)
    except sign_in.NotSignedIn as error:
        outcome = {**command.outcome_of_failed_start(made, str(error)), "summary": str(error)}
        await sink.note(f"[gateline] {error}")
    except BaseException:
        await asyncio.shield(asyncio.to_thread(lent.remove_lent_sign_in))
        raise
    if note := await asyncio.shield(asyncio.to_thread(lent.remove_lent_sign_in)):
        await sink.note(f"[gateline] {note}")
    return outcome


async def _run_watched(made: Spec, call: AgentCall, tools: ToolSocket | None, sink: Sink) -> Outcome:
    try:
        async with starting_program(made, sink, command.command_launch) as (connected_spec, process):
            tool_command = tools.command if tools else None
            watch = AgentWatch(connected_spec, sink, process, call=call, tool_command=tool_command)
            if tools is None or watch.tools is None:
                outcome = await watch.until_the_end()
            else:
                async with tools.serving(watch.tools):
                    outcome = await watch.until_the_end()
    except CannotStart as error:
        outcome = {
            **command.outcome_of_failed_start(made, str(error)),
            "summary": not_started_message(call, made, str(error)),
        }
        await sink.note(f"[gateline] {outcome['summary']}")
    except NotPrepared as error:
        await sink.note(f"[gateline] {error}")
        outcome = command.outcome_of_failed_preparation(str(error))
    return outcome


def outcome_of_spent_budget(call: AgentCall) -> Outcome:
    """It was not started: others have spent what there was."""
    failed = _failed_outcome(
        "budget_exceeded", f"{call.preset.name} was not started: {LIMITS[call.limit]} is spent."
    )
    spent = {"tokens_in": 0, "tokens_out": 0, "cost_usd": 0, "price": REPORTED}
    return {**failed, "facts": {"usage": {**spent, **_fact_of_whose_limit(call)}}}


def _fact_of_whose_limit(call: AgentCall) -> dict[str, str]:
    return {"limit": call.limit} if call.limit else {}


def not_started_message(call: AgentCall, spec: Spec, why: str) -> str:
    return (
        f"{call.preset.name} could not be started: {why}. "
        f"Install {escaped_for_storage(Path(spec.argv[0]).name)} on the worker, or choose another agent."
    )


def _write_files(home: Path, files: Mapping[str, str]) -> None:
    """Stored secrets that a program reads from files. What an earlier visit left in their place is not followed."""
    for path, content in files.items():
        sign_in.write_private_file(home, path, content.encode())


def _remove_files(home: Path, files: Mapping[str, str]) -> None:
    for path in files:
        remove_path(home, path)


def _has_files(folder: Path) -> bool:
    return folder.is_dir() and any(folder.iterdir())


@dataclass(kw_only=True)
class AgentWatch(command.Watch):
    """Watch over one running agent. `stopped`: why Gateline ended it, "" while it has not."""

    call: AgentCall
    tool_command: ToolCommand | None = None
    stopped: str = ""
    last_words: str = ""
    asking_since: float = 0.0
    stream: Stream = field(init=False)
    tools: TaskTools | None = field(init=False)
    _lines: LineFeed = field(init=False)
    _final: asyncio.TimerHandle | None = None

    def __post_init__(self) -> None:
        self.stream = STREAMS[self.call.preset.dialect](KEPT_STEPS)
        self._lines = LineFeed(self.stream)
        port = self.call.port
        if port is None:
            self.tools = None
            return
        policy = self.call.policy
        desk = PermissionDesk(policy, port, self._note_sign_of_life, self.sink.note) if policy else None
        self.tools = TaskTools(
            port, self.outcome_so_far, self.try_to_put_question, desk, self.spec.output_keys
        )

    def _note_sign_of_life(self) -> None:
        self.heard_at = time.monotonic()

    async def _write_prompt(self) -> None:
        writer, stream = self.process.stdin, self.stream
        if not isinstance(stream, Acp) or writer is None:
            return await super()._write_prompt()
        try:
            desk = self.tools.desk if self.tools and self.tool_command else None
            folder = str(self.spec.attempt.workspace.resolve())
            conversation = AcpConversation(self.call, stream, writer, desk)
            await conversation.prompt_and_wait_for_turn_end(
                folder, self.spec.prompt or "", acp_servers(self.tool_command)
            )
        except (BrokenPipeError, ConnectionResetError):
            pass  # how it ended says why
        finally:
            writer.close()

    # What its tools ask

    async def outcome_so_far(self, arguments: Mapping[str, Any]) -> Outcome:
        """Return the outcome with which it would end well now, with what it says: {outcome, output, summary}."""
        result_document = await asyncio.to_thread(
            document.read_document,
            self.spec.attempt,
            self.spec.limits.document_bytes,
            self.spec.document_style,
        )
        outcome = dict(result_document.fields)
        outcome |= ENDS[arguments.get("outcome", "success")]
        if self.signals:
            outcome["signals"] = [*self.signals, *outcome.get("signals", [])]
        reported = self.tools.reported if self.tools else None
        output_value = arguments.get("output", reported.output if reported else None)
        if output_value is not None and self.spec.result_document != "required":
            outcome.setdefault("output", output_value)
        if summary := arguments.get("summary", reported.summary if reported else ""):
            outcome.setdefault("summary", summary)
        return {**outcome, "facts": facts_so_far(self.call.preset, self.stream, self.call.price)}

    async def try_to_put_question(self, question: str) -> bool:
        """Ask a person, as by a signal (law §5 step 3): the program has some time to end by itself."""
        if not self.spec.heeds_signals or any(map(is_valid, self.signals)):
            return False
        self.signals.append({"verdict": "hold", "reason": "needs_human", "meta": {"question": question}})
        self._hurry = asyncio.get_running_loop().call_later(
            QUESTION_SECONDS, self.process.stop, self.spec.limits.grace
        )
        await self.sink.note("[gateline] The agent asks a person, and has some time to end by itself.")
        return True

    async def until_the_end(self) -> Outcome:
        try:
            return await super().until_the_end()
        finally:
            if self._final is not None:
                self._final.cancel()

    async def _copy_output_to_log(self, name: str, stream: asyncio.StreamReader) -> None:
        if name == "out":
            await super()._copy_output_to_log(name, stream)
            # The last line may lack its end.
            self._lines.feed_bytes(b"", final=True)
            return
        while data := await stream.read(command.READ_BYTES):
            self._note_sign_of_life()
            self.last_words = (self.last_words + data.decode("utf-8", "replace"))[-4 * LAST_WORDS :]
            await self.sink.write(name, data)

    def _record_output(self, data: bytes) -> list[str]:
        notes = super()._record_output(data)
        self._lines.feed_bytes(data)
        return [*notes, *self._stop_if_due_and_return_notes()]

    def _stop_if_due_and_return_notes(self) -> list[str]:
        """Judge by the stream so far, which may end the program."""
        stream, call = self.stream, self.call
        if self.stopped:
            return []
        if stream.final_event:
            loop = asyncio.get_running_loop()
            self.stopped = "final"
            self._final = loop.call_later(FINAL_SECONDS, self.process.stop, self.spec.limits.grace)
        # By itself it would go on trying until its time is up
        elif self._is_model_silent_too_long():
            self.stopped = "provider"
            self.process.stop(self.spec.limits.grace)
            return [f"[gateline] Stopped: the model did not answer {stream.retries} times in a row."]
        elif self._is_over_budget():
            assert call.cost is not None
            self.stopped = "budget"
            self.process.stop(self.spec.limits.grace)
            return [f"[gateline] Stopped: it cost more than ${call.cost:.2f}, {LIMITS[call.limit]}."]
        return []

    def _is_over_budget(self) -> bool:
        """Tell whether it cost more than it may, as far as anybody knows."""
        call = self.call
        return call.cost is not None and (reported_or_computed_cost(self.stream, call.price) or 0) > call.cost

    def _is_model_silent_too_long(self) -> bool:
        """Tell whether the model has been asked in vain often enough, or long enough."""
        if not self.stream.retries:
            self.asking_since = 0.0
            return False
        self.asking_since = self.asking_since or time.monotonic()
        long = time.monotonic() - self.asking_since > UNANSWERED_SECONDS
        return long or self.stream.retries > MOST_RETRIES

    def _output_from_text(self) -> output.TextOutput:
        reported = self.tools.reported if self.tools else None
        if reported is not None and reported.output is not None:
            return output.TextOutput(dict(reported.output))
        if self.stream.structured:
            return output.output_in_text(self.stream.structured, self.spec.output_keys)
        if self.call.preset.dialect == "text":
            return super()._output_from_text()
        return last_message_output(self.stream, self.spec.output_keys, self.spec.prompt or "")

    def _output_facts(self, outcome: Outcome) -> dict[str, Any]:
        """Return what was observed of its answer, besides whether it could be read (law §13)."""
        stream = self.stream
        if stream.refused:
            return {"refused": output.shortened_reason(stream.refused)}
        words = self.text.decode(errors="replace") if self.call.preset.dialect == "text" else stream.claim
        done = stream.final_event or not self.call.preset.final_event
        silent = done and not words.strip() and "output" not in outcome
        return {"empty": True} if silent and not self.cancelled and not outcome.get("output_error") else {}

    def _outcome(self, ended: ProcessEnd, result_document: document.Document) -> Outcome:
        stream, preset = self.stream, self.call.preset
        if self.spec.heeds_signals and len(self.signals) < MOST:
            # A signal in what it says last counts as one on a line of its own.
            self.signals += self._reader.feed(stream.claim.encode("utf-8", "replace") + b"\n")
        outcome = super()._outcome(ended, result_document)
        outcome = output.outcome_with_output_facts(outcome, self._output_facts(outcome))
        if self.stopped == "final" and outcome.get("exit_code") in KILLED and not self.cancelled:
            # It was over, and only did not end.
            del outcome["exit_code"]
            outcome["result"] = "failure" if stream.problem else "success"
        reported = self.tools.reported if self.tools else None
        if reported is not None:
            outcome.setdefault("summary", escaped_for_storage(reported.summary[:LONGEST_SUMMARY]))
        if summary := output.besides_output_or_empty(
            stream.claim, self.spec.output_keys, outcome.get("output")
        ):
            # The summary of a result document comes first.
            outcome.setdefault("summary", escaped_for_storage(summary[:LONGEST_SUMMARY]))
        # Law §13: what was cancelled is not judged by what it left.
        if outcome.get("result") != "cancelled":
            outcome |= self._failure_fields(outcome)
        used = {"tokens_in": stream.usage.tokens_in, "tokens_out": stream.usage.tokens_out}
        spent = reported_or_computed_cost(stream, self.call.price)
        cost = {} if spent is None else {"cost_usd": round(spent, 6)}
        outcome["usage"] = {**outcome.get("usage", {}), **used, **cost}
        facts = agent_facts(preset, stream, self.call.price)
        if outcome.get("failure_type") == "budget_exceeded":
            facts["usage"] |= _fact_of_whose_limit(self.call)
        if (
            # Law §2: an error beside a success is named.
            stream.error
            and outcome.get("exit_code", 0) == 0
            and outcome.get("result", "success") == "success"
        ):
            facts["agent"]["error"] = output.shortened_reason(stream.error)
        outcome["facts"] = {**outcome.get("facts", {}), **facts}
        if reported is not None:
            statement = {"outcome": reported.outcome, "summary": reported.summary}
            outcome["facts"] = facts_with_claim(REPORT, {"said": statement}, outcome["facts"])
        return outcome

    def _failure_fields(self, outcome: Outcome) -> Outcome:
        """Return what Gateline saw of it itself, which decides, whatever the program says and ends with (law §13)."""
        stream, preset = self.stream, self.call.preset
        if stream.over_budget or self.stopped == "budget":
            return _failed_outcome(
                "budget_exceeded", f"{preset.name} was stopped: it reached {LIMITS[self.call.limit]}."
            )
        if stream.usage.cost is None and self._is_over_budget():  # its tokens came with its final event
            return _failed_outcome(
                "budget_exceeded", f"{preset.name} cost more than {LIMITS[self.call.limit]} allows."
            )
        if stream.provider_down:
            return _failed_outcome("provider_unavailable", f"The model of {preset.name} did not answer.")
        if preset.final_event and not stream.final_event:
            last_words = escaped_for_storage(self.last_words.strip()[-LAST_WORDS:])
            words = f"{preset.name} ended before it was done."
            return _failed_outcome(
                "no_final_event", f"{words} Its last words: {last_words}" if last_words else words
            )
        if stream.has_no_fixer:
            return _failed_outcome("no_fixer", escaped_for_storage(stream.problem[:LONGEST_SUMMARY]))
        if stream.problem and outcome.get("exit_code") == 0:
            return _failed_outcome("agent_failed", escaped_for_storage(stream.problem[:LONGEST_SUMMARY]))
        return {}


# Exit codes of SIGTERM and SIGKILL, as a shell has them
KILLED: Final = (128 + 15, 128 + 9)


def _failed_outcome(failure_type: str, summary: str) -> Outcome:
    failed = {"result": "failure", "verdict": "fail", "eval": "error"}
    return {**failed, "failure_type": failure_type, "summary": summary}
