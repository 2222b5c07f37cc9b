"""Work of kind `command`: a program with its arguments, never a shell."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath

from pipelines.routing.basics.facts import OUTPUT
from pipelines.routing.document.kinds.command import KIND as COMMAND
from pipelines.work.handlers.program_start import NotPrepared, argv_with_services, starting_program
from pipelines.work.processes.image_root import argv_in_root, has_program
from pipelines.work.processes.isolation import CannotIsolate
from pipelines.work.processes.process import CannotStart, Launch, Process, ProcessEnd
from pipelines.work.results import document, output, text_counts
from pipelines.work.results.signals import MOST, Signal, SignalReader, is_valid, outcome_fields
from pipelines.work.results.text import escaped_for_storage
from pipelines.work.spec.handler_io import Outcome, Sink, Spec
from pipelines.work.spec.preparation import ServiceProgram

NOT_FOUND = 127  # as a shell has it
READ_BYTES = 64 * 1024
NO_DOCUMENT = "This station did not produce a valid result document."


async def run(spec: Spec, sink: Sink) -> Outcome:
    """Start the command, stream what it writes, stop it when its time is up, and say how it ended (law §2).

    Cancelling the call kills everything that the command started, and returns only then."""
    began = time.monotonic()
    try:
        async with starting_program(spec, sink, command_launch) as (connected_spec, process):
            watch = Watch(connected_spec, sink, process)
            outcome = await watch.until_the_end()
    except CannotStart as error:
        await sink.note(f"[gateline] The command could not be started: {error}")
        outcome = outcome_of_failed_start(spec, str(error))
    except NotPrepared as error:
        await sink.note(f"[gateline] {error}")
        outcome = outcome_of_failed_preparation(str(error))
    usage = outcome.get("usage")
    outcome["usage"] = (usage if isinstance(usage, dict) else {}) | {
        "duration_sec": round(time.monotonic() - began, 3)
    }
    return outcome


def outcome_of_failed_start(spec: Spec, why: str) -> Outcome:
    return {
        "result": "failure",
        "exit_code": NOT_FOUND,
        "failure_type": "command_not_started",
        "summary": f"{escaped_for_storage(spec.argv[0])} could not be started: {why}",
    }


def outcome_of_failed_preparation(why: str) -> Outcome:
    """Return the outcome where the surroundings of the program failed, and not the program."""
    return {"result": "failure", "failure_type": "prepare_failed", "summary": why}


def outcome_over_limit(spec: Spec, limit: str) -> Outcome:
    """The outcome of a command that exceeded a limit, whatever it reported before it was killed."""
    summary = spec.resources.exceeded_message(limit)
    fields = {"result": "failure", "verdict": "fail", "eval": "error"}
    return {**fields, "failure_type": "resource_limit", "summary": summary}


def command_launch(spec: Spec) -> Launch:
    """:raises CannotStart: no such program or folder; the isolation cannot be set up"""
    cwd = working_folder(spec)
    argv, access = (program_path(spec, cwd), *spec.argv[1:]), spec.access
    try:
        if spec.image:
            argv = argv_in_image(spec, spec.image, argv, cwd)
        if spec.services:
            argv = argv_with_services(
                argv, [_service_in_image(spec, service, cwd) for service in spec.services], spec.attempt
            )
        if spec.images:
            access = replace(access, roots=tuple(image.root for image in spec.images.values()))
        wrapped = spec.isolation.isolated_command(argv, spec.attempt.root, cwd, access)
    except CannotIsolate as error:
        raise CannotStart(str(error)) from error
    # No program can be started with one, and Python would raise an error of its own.
    if any("\x00" in part for part in (*argv, *spec.env, *spec.env.values())):
        raise CannotStart("an argument or a variable holds a NUL character")
    return Launch(
        wrapped.argv,
        spec.env,
        cwd,
        wrapped.levels,
        wrapped.no_new_privileges,
        stdin=spec.prompt is not None,
        limits=spec.resources.limits_for_supervisor(spec.attempt.root),
    )


def argv_in_image(spec: Spec, name: str, argv: Sequence[str], cwd: Path) -> tuple[str, ...]:
    """:raises CannotIsolate"""
    return argv_in_root(argv, spec.images[name], spec.attempt.root, cwd, spec.isolation)


def _service_in_image(spec: Spec, service: ServiceProgram, cwd: Path) -> ServiceProgram:
    """A service with what puts it, and its health command, into its image."""
    if not service.image:
        return service
    argv, health = (
        argv_in_image(spec, service.image, command, cwd) if command else ()
        for command in (service.argv, service.health)
    )
    return replace(service, argv=argv, health=health)


def working_folder(spec: Spec) -> Path:
    """The working folder, links resolved, inside the workspace."""
    workspace = spec.attempt.workspace.resolve()
    cwd = (workspace / spec.cwd).resolve()
    if not cwd.is_relative_to(workspace):
        raise CannotStart(f"the folder {spec.cwd} lies outside the workspace")
    if not cwd.is_dir():
        raise CannotStart(f"there is no folder {spec.cwd} in the workspace")
    return cwd


def program_path(spec: Spec, cwd: Path) -> str:
    """The program's path: looked up on the station's PATH, or relative to its working folder."""
    name = spec.argv[0]
    if spec.image:
        here = str(cwd / name) if "/" in name else name
        image = spec.images[spec.image]
        if not has_program(image.root, here, image.path, spec.attempt.root):
            raise CannotStart(
                f"there is no program {escaped_for_storage(name)} in the image {escaped_for_storage(spec.image)}"
            )
        return here
    if "/" in name:
        program_path = shutil.which(str(cwd / name))
    else:
        program_path = shutil.which(name, path=spec.env.get("PATH", os.defpath))
    if program_path is None:
        raise CannotStart(f"there is no program {escaped_for_storage(name)} on this worker")
    return program_path


@dataclass
class Watch:
    """Watch over a running command: its streams, its time limits, and what it reported."""

    spec: Spec
    sink: Sink
    process: Process
    heard_at: float = field(default_factory=time.monotonic)
    text: bytearray = field(default_factory=bytearray)
    text_cut: bool = False
    tails: dict[str, bytes] = field(default_factory=dict)
    """The end of each stream."""
    signals: list[Signal] = field(default_factory=list)
    cancelled: str = ""
    text_output: output.TextOutput = field(default_factory=output.TextOutput)
    signals_left_out: int = 0
    _reader: SignalReader = field(default_factory=SignalReader)
    _hurry: asyncio.TimerHandle | None = None

    async def until_the_end(self) -> Outcome:
        clocks = asyncio.create_task(self._stop_after_limits())
        prompt = asyncio.create_task(self._write_prompt())
        try:
            # Read to the end before the wait: a full pipe would hold up the program.
            async with asyncio.TaskGroup() as streams:
                streams.create_task(self._copy_output_to_log("out", self.process.stdout))
                streams.create_task(self._copy_output_to_log("err", self.process.stderr))
            ended = await self.process.wait()
        finally:
            if self._hurry is not None:
                self._hurry.cancel()
            for task in (clocks, prompt):
                task.cancel()
            await asyncio.gather(clocks, prompt, return_exceptions=True)
        if ended.survivors:
            await self.sink.note(f"[gateline] Could not be killed: {ended.survivors}")
        if ended.limit:
            await self.sink.note(f"[gateline] {self.spec.resources.exceeded_message(ended.limit)}")
        result_document = await asyncio.to_thread(
            document.read_document,
            self.spec.attempt,
            self.spec.limits.document_bytes,
            self.spec.document_style,
        )
        outcome = self._outcome(ended, result_document)
        for note in self._log_lines_on_unused_output(outcome):
            await self.sink.note(note)
        return outcome

    async def _copy_output_to_log(self, name: str, stream: asyncio.StreamReader) -> None:
        while data := await stream.read(READ_BYTES):
            self.heard_at = time.monotonic()
            self.tails[name] = (self.tails.get(name, b"") + data)[-text_counts.TAIL :]
            # Before the log, which may lag behind: an abort takes effect at once.
            notes = self._record_output(data) if name == "out" else []
            await self.sink.write(name, data)
            for note in notes:
                await self.sink.note(note)
        if name == "out":
            for note in self._record_signals_and_return_notes(self._reader.end()):
                await self.sink.note(note)

    def _record_output(self, data: bytes) -> list[str]:
        room = self.spec.limits.text_bytes - len(self.text)
        self.text += data[:room]
        self.text_cut = self.text_cut or len(data) > room
        return self._record_signals_and_return_notes(self._reader.feed(data))

    def _record_signals_and_return_notes(self, signals: list[Signal]) -> list[str]:
        """Record signals, as many as an outcome has room for; lines for the log."""
        notes = []
        for signal in signals if self.spec.heeds_signals else ():
            decided = any(map(is_valid, self.signals))
            # The first valid one is kept however many came before it: it decides (law §5 step 3).
            if len(self.signals) >= MOST and (decided or not is_valid(signal)):
                self.signals_left_out += 1
                continue
            self.signals.append(signal)
            if not is_valid(signal):
                notes.append("[gateline] A signal without a known verdict was ignored.")
            elif not decided:
                notes.append(self._apply_signal_and_return_notes(str(signal["verdict"])))
        return notes

    def _apply_signal_and_return_notes(self, verdict: str) -> str:
        """Apply the first valid signal: on abort the command is killed at once, otherwise it has some time to end by
        itself (law §5 step 3)."""
        # law §5 step 3: abort ends all of it, so that nothing has to be written first
        if verdict == "abort":
            self.process.kill()
            return "[gateline] The signal abort: the command is killed."
        grace = self.spec.limits.signal_grace
        loop = asyncio.get_running_loop()
        self._hurry = loop.call_later(grace, self.process.stop, self.spec.limits.grace)
        return f"[gateline] The signal {verdict}: the command has {grace:g} s to end by itself."

    async def _stop_after_limits(self) -> None:
        """Stop the command when it has been silent, or has run, for too long."""
        limits, began = self.spec.limits, time.monotonic()
        while True:
            dues = [("max_timeout", began + limits.total)] if limits.total else []
            dues += [("idle_timeout", self.heard_at + limits.idle)] if limits.idle else []
            if not dues:
                return
            reason, due = min(dues, key=lambda one: one[1])
            # Something may be heard meanwhile, which moves the due time.
            if (left := due - time.monotonic()) > 0:
                await asyncio.sleep(left)
                continue
            self.cancelled = reason
            self.process.stop(limits.grace)
            seconds = limits.total if reason == "max_timeout" else limits.idle
            await self.sink.note(f"[gateline] Stopped: {reason} after {seconds:g} s.")
            return

    async def _write_prompt(self) -> None:
        if self.process.stdin is None or self.spec.prompt is None:
            return
        try:
            self.process.stdin.write(self.spec.prompt.encode(errors="backslashreplace"))
            await self.process.stdin.drain()
        except (BrokenPipeError, ConnectionResetError):
            pass  # The program closed its input without reading it, which is allowed.
        finally:
            self.process.stdin.close()

    def _outcome(self, ended: ProcessEnd, result_document: document.Document) -> Outcome:
        outcome, code = dict(result_document.fields), ended.code
        if self.signals:
            # Those on standard output came while it ran, before the result document was read.
            outcome["signals"] = [*self.signals, *outcome.get("signals", [])]
            self._add_signal_fields(outcome)
        if result_document.error:
            outcome["output_error"] = result_document.error
            outcome = output.outcome_with_output_facts(
                outcome, {"unreadable": output.shortened_reason(result_document.error)}
            )
        elif "output" not in outcome and self.spec.result_document != "required":
            self.text_output = self._output_from_text()
            outcome = self.text_output.outcome_with_output(outcome)
        if code is not None:
            outcome["exit_code"] = code
        if self.cancelled:
            outcome["result"], outcome["reason"] = "cancelled", self.cancelled
        elif ended.limit:
            outcome |= outcome_over_limit(self.spec, ended.limit)
        elif code is None:
            outcome["result"], outcome["failure_type"] = "failure", "supervisor_lost"
        elif module := module_that_was_not_found_or_empty(self.spec.argv, code, self.tails.get("err", b"")):
            why = f"the package {escaped_for_storage(module)} is not installed there"
            outcome |= {**outcome_of_failed_start(self.spec, why), "exit_code": code}
        if self.spec.result_document == "required" and code == 0 and "output" not in outcome:
            why = f" {result_document.error}" if result_document.error else ""
            outcome.setdefault("summary", NO_DOCUMENT + why)
        if (
            code == 0
            and self.spec.kind == COMMAND.key
            and (passed := text_counts.passed_tests_text(*self.tails.values()))
        ):
            outcome.setdefault("summary", passed)
        return outcome

    def _output_from_text(self) -> output.TextOutput:
        text = self.text.decode(errors="replace")
        cut = f"the text is longer than {self.spec.limits.text_bytes} bytes, and the rest was not searched"
        text_output = output.output_in_text(
            text, self.spec.output_keys, self.spec.prompt or "", cut if self.text_cut else ""
        )
        return output.output_with_remark_on_replaced_bytes(text_output, self.text)

    def _log_lines_on_unused_output(self, outcome: Outcome) -> list[str]:
        """Lines for the log on output that was there and is not in the outcome."""
        unreadable = outcome.get("facts", {}).get(OUTPUT, {}).get("unreadable")
        why = [f"Output could not be read: {unreadable}"] if unreadable else []
        if self.spec.heeds_signals and self._reader.unread:
            why.append(f"Lines that begin as a signal and could not be read: {self._reader.unread}")
        if self.signals_left_out:
            why.append(f"Signals beyond the first {MOST} that were left out: {self.signals_left_out}")
        return [f"[gateline] {remark}" for remark in (*why, *self.text_output.remarks)]

    def _add_signal_fields(self, outcome: Outcome) -> None:
        """Fields of the deciding signal besides its verdict; the result document takes precedence."""
        signal_fields = outcome_fields(next(filter(is_valid, self.signals), {}))
        usage = {**signal_fields.pop("usage", {}), **outcome.get("usage", {})}
        outcome |= {**signal_fields, **outcome, **({"usage": usage} if usage else {})}


# Modules of Python that a station is to run, and that are not installed for its interpreter.


INTERPRETER = re.compile(r"python[\d.]*")


def module_that_was_not_found_or_empty(argv: Sequence[str], code: int | None, errors: bytes) -> str:
    """Return the module of a `python -m module` that the interpreter did not find; "" where it ran, or runs none."""
    options = argv[1:]
    if code != 1 or "-m" not in options[:-1] or not INTERPRETER.fullmatch(PurePath(argv[0]).name):
        return ""
    module = options[options.index("-m") + 1]
    last_words = f": No module named {module}".encode()
    # A module that runs and lacks another one has a traceback before these words.
    return module if errors.strip().endswith(last_words) and b"Traceback" not in errors else ""
