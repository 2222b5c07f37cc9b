"""The handler `command`, with real processes."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from pipelines.work.handlers import command
from pipelines.work.spec.handler_io import Attempt, ProcessLimits, Spec
from tests.waiting import LONG, eventually
from tests.work.conftest import PYTHON, Clock, Collected, alive

Make = Callable[..., Spec]


async def test_it_streams_both_outputs_and_reports_the_exit_code(spec: Make, sink: Collected) -> None:
    outcome = await command.run(
        spec("import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"), sink
    )
    assert (outcome["exit_code"], bytes(sink.out), bytes(sink.err)) == (3, b"out\n", b"err\n")
    assert "result" not in outcome
    assert outcome["usage"]["duration_sec"] > 0


async def test_output_arrives_while_the_command_still_runs(spec: Make, sink: Collected) -> None:
    program = "import time; print('early', flush=True); time.sleep(600)"
    task = asyncio.create_task(command.run(spec(program), sink))
    await eventually(lambda: b"early" in sink.out)
    assert not task.done()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_arguments_are_never_read_by_a_shell(spec: Make, sink: Collected) -> None:
    made = spec("import sys; print(sys.argv[1:])")
    await command.run(replace(made, argv=(*made.argv, "; echo $HOME", "`id`", "*")), sink)
    assert sink.out.decode() == "['; echo $HOME', '`id`', '*']\n"


async def test_the_prompt_comes_on_standard_input(spec: Make, sink: Collected) -> None:
    prompt = "Wörter\n" * 50_000
    outcome = await command.run(spec("import sys; print(len(sys.stdin.buffer.read()))", prompt=prompt), sink)
    assert (outcome["exit_code"], int(sink.out)) == (0, len(prompt.encode()))


async def test_without_a_prompt_standard_input_is_empty(spec: Make, sink: Collected) -> None:
    await command.run(spec("import sys; print(repr(sys.stdin.read()))"), sink)
    assert sink.out == b"''\n"


async def test_a_command_that_does_not_read_its_prompt_ends_well(spec: Make, sink: Collected) -> None:
    outcome = await command.run(spec("pass", prompt="x" * 5_000_000), sink)
    assert outcome["exit_code"] == 0


async def test_the_environment_is_only_what_was_given(
    spec: Make, sink: Collected, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_PASSWORD", "hunter2")
    made = spec("import os; print(sorted(os.environ))")
    await command.run(made, sink)
    assert set(json.loads(sink.out.decode().replace("'", '"'))) <= {*made.env, "LC_CTYPE"}


async def test_an_idle_command_is_cancelled(spec: Make, sink: Collected) -> None:
    program = "import time; print('x', flush=True); time.sleep(600)"
    outcome = await command.run(spec(program, limits=ProcessLimits(idle=0.5, grace=1)), sink)
    assert (outcome["result"], outcome["reason"]) == ("cancelled", "idle_timeout")


async def test_output_keeps_a_command_from_being_idle(
    spec: Make, sink: Collected, clock: Clock, attempt: Attempt
) -> None:
    program = (
        "import os, time\n"
        "for turn in range(8):\n"
        "    print('x', flush=True)\n"
        "    while not os.path.exists(f'go-{turn}'): time.sleep(0.01)"
    )
    running = asyncio.create_task(command.run(spec(program, limits=ProcessLimits(idle=0.05, grace=1)), sink))
    for turn in range(8):
        await eventually(lambda heard=turn + 1: sink.out.count(b"x") == heard)
        clock.now += 0.04
        (attempt.workspace / f"go-{turn}").touch()
    outcome = await running
    assert outcome["exit_code"] == 0
    assert "result" not in outcome


async def test_a_command_that_runs_too_long_is_cancelled_with_its_whole_group(
    spec: Make, sink: Collected, clock: Clock
) -> None:
    program = (
        "import os, signal, subprocess, sys, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'],"
        " start_new_session=True)\n"
        "print(child.pid, os.getpid(), flush=True)\n"
        "while True: print('busy', flush=True); time.sleep(0.05)"
    )
    limits = ProcessLimits(idle=5, total=0.7, grace=0.3)
    running = asyncio.create_task(command.run(spec(program, limits=limits), sink))
    await eventually(lambda: b"busy" in sink.out)
    clock.now += 1
    outcome = await running
    assert (outcome["result"], outcome["reason"]) == ("cancelled", "max_timeout")
    assert outcome["exit_code"] == 128 + signal.SIGKILL
    assert not any(alive(int(pid)) for pid in sink.out.split(b"\n")[0].split())
    assert any("max_timeout" in note for note in sink.notes)


@pytest.mark.parametrize("argv", [("no-such-program",), ("./missing",)])
async def test_a_program_that_is_not_there_is_a_failure_that_says_so(
    spec: Make, sink: Collected, argv: tuple[str, ...]
) -> None:
    outcome = await command.run(spec("", argv=argv), sink)
    assert (outcome["result"], outcome["exit_code"]) == ("failure", 127)
    assert outcome["failure_type"] == "command_not_started"
    assert argv[0] in outcome["summary"]


@pytest.mark.parametrize("cwd", ["..", "/", "a/../../..", "link"])
async def test_the_working_folder_stays_inside_the_workspace(
    spec: Make, sink: Collected, attempt: Attempt, cwd: str
) -> None:
    (attempt.workspace / "link").symlink_to("/tmp")
    outcome = await command.run(spec("print('ran')", cwd=cwd), sink)
    assert outcome["exit_code"] == 127
    assert "outside the workspace" in outcome["summary"]
    assert not sink.out


async def test_a_program_of_the_workspace_can_be_named_by_its_path(
    spec: Make, sink: Collected, attempt: Attempt
) -> None:
    script = attempt.workspace / "check"
    script.write_text(f"#!{PYTHON}\nimport os; print(os.getcwd())\n")
    script.chmod(0o755)
    await command.run(spec("", argv=("./check",)), sink)
    assert sink.out.decode().strip() == str(attempt.workspace.resolve())


WRITE = "import os; open(os.environ['GATELINE_RESULT'], 'w').write({text!r}); raise SystemExit({code})"


def document(text: str, code: int = 0) -> str:
    return WRITE.format(text=text, code=code)


async def test_the_result_document_fills_the_outcome(spec: Make, sink: Collected) -> None:
    said = {"output": {"high": 2}, "verdict": "fail", "summary": "two", "usage": {"tokens_in": 5}, "own": 1}
    outcome = await command.run(spec(document(json.dumps(said), 1)), sink)
    assert (outcome["output"], outcome["verdict"], outcome["summary"]) == ({"high": 2}, "fail", "two")
    assert (outcome["exit_code"], outcome["usage"]["tokens_in"]) == (1, 5)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('{"output": ', "line 1"),
        ("[1]", "one JSON object"),
        ('{"output": NaN}', "NaN"),
        ('{"a": 1, "a": 2}', "twice"),
        ('{"output": {"x": ["a\\u0000"]}}', "output.x[0]"),
        ('{"output": "\\ud800"}', "output"),
        ('{"output": ' + "[" * 120 + "]" * 120 + "}", "nested deeper"),
        ('{"verdict": "splendid"}', "verdict"),
        ('{"output": 1e400}', "out of range"),
    ],
)
async def test_a_faulty_result_document_is_an_output_error_with_its_place(
    spec: Make, sink: Collected, text: str, place: str
) -> None:
    outcome = await command.run(spec(document(text)), sink)
    assert place in outcome["output_error"]
    assert "output" not in outcome
    assert outcome["exit_code"] == 0


async def test_a_result_document_that_is_too_large_is_an_output_error(spec: Make, sink: Collected) -> None:
    made = spec(document(json.dumps({"output": "x" * 5000})), limits=ProcessLimits(document_bytes=1000))
    assert "larger than 1000 bytes" in (await command.run(made, sink))["output_error"]


@pytest.mark.parametrize("where", ["file", "folder"])
async def test_a_result_document_is_never_read_through_a_link(
    spec: Make, sink: Collected, tmp_path: Path, where: str
) -> None:
    secret = tmp_path / "elsewhere" / "document.json"
    secret.parent.mkdir()
    secret.write_text('{"output": "secret"}')
    turn = (
        f"os.symlink({str(secret)!r}, place)"
        if where == "file"
        else f"os.rmdir(os.path.dirname(place)); os.symlink({str(secret.parent)!r}, os.path.dirname(place))"
    )
    program = f"import os; place = os.environ['GATELINE_RESULT']; {turn}"
    outcome = await command.run(spec(program), sink)
    assert "secret" not in json.dumps(outcome.get("output", ""))
    assert outcome["output_error"]


async def test_a_pipe_in_place_of_the_result_document_holds_up_nobody(spec: Make, sink: Collected) -> None:
    program = "import os; os.mkfifo(os.environ['GATELINE_RESULT'])"
    async with asyncio.timeout(LONG):
        outcome = await command.run(spec(program), sink)
    assert "plain file" in outcome["output_error"]


@pytest.mark.parametrize(
    ("text", "keys", "found", "output"),
    [
        ('Well.\n```json\n{"a": 1, "b": 2}\n```\n', ("a",), True, {"a": 1}),
        ('```json\n{"x": 0}\n```\n\n```json\n{"a": 1}\n```', ("a",), True, {"a": 1}),
        ('```json\nnot json\n```\n```json\n[1]\n```\n```json\n{"a": 1}\n```', (), True, [1]),
        ('{"a": 1, "b": 2}', ("b",), True, {"b": 2}),
        ("[1, 2]", (), True, [1, 2]),
        ("plain words", ("a",), False, None),
        ("", (), False, None),
    ],
)
async def test_the_output_is_found_in_the_text(
    spec: Make, sink: Collected, text: str, keys: tuple[str, ...], found: bool, output: object
) -> None:
    outcome = await command.run(spec(f"print({text!r})", output_keys=keys), sink)
    assert ("output" in outcome, outcome.get("output")) == (found, output)
    assert "output_error" not in outcome


async def test_a_required_document_cannot_be_replaced_by_text(spec: Make, sink: Collected) -> None:
    outcome = await command.run(spec("print('{\"a\": 1}')", result_document="required"), sink)
    assert "output" not in outcome


def say(*signals: str) -> str:
    lines = "".join(f"print({line!r}, flush=True);" for line in signals)
    return f"import time; {lines} time.sleep(600)"


async def test_a_signal_gives_a_command_a_while_to_end_by_itself(spec: Make, sink: Collected) -> None:
    line = '{"flux:signal": {"verdict": "hold", "reason": "needs_human", "meta": {"question": "?"}}}'
    outcome = await command.run(spec(say(line), limits=ProcessLimits(signal_grace=0.5, grace=1)), sink)
    assert outcome["signals"] == [{"verdict": "hold", "reason": "needs_human", "meta": {"question": "?"}}]


async def test_an_abort_kills_at_once(spec: Make, sink: Collected) -> None:
    line = '{"flux:signal": {"verdict": "abort"}}'
    outcome = await command.run(spec(say(line), limits=ProcessLimits(signal_grace=600, grace=600)), sink)
    assert (outcome["signals"], outcome["exit_code"]) == ([{"verdict": "abort"}], 137)


async def test_a_signal_counts_only_at_the_start_of_a_line(spec: Make, sink: Collected) -> None:
    program = 'print(\'| {"flux:signal": {"verdict": "abort"}}\'); print(\'text {"flux:signal": 1}\')'
    assert "signals" not in await command.run(spec(program), sink)


async def test_text_of_many_megabytes_is_bounded(spec: Make, sink: Collected) -> None:
    program = "import sys\nfor _ in range(300): sys.stdout.write('z' * 9999 + '\\n')"
    made = spec(program, limits=ProcessLimits(text_bytes=100_000))
    outcome = await command.run(made, sink)
    assert outcome["exit_code"] == 0
    assert len(sink.out) == 3_000_000
