"""Signals of running commands, with real processes (law §5 step 3, dialects D8 to D14 and D20)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from pipelines.work.handlers import command
from pipelines.work.results.signals import LONGEST_LINE, MOST, SignalReader, outcome_fields, signals_in
from pipelines.work.spec.handler_io import ProcessLimits, Spec
from tests.work.conftest import Collected, alive

Make = Callable[..., Spec]
HOLD = {"verdict": "hold", "reason": "needs_human", "meta": {"question": "Which one?"}}


def line(signal: Any) -> str:
    return json.dumps({"flux:signal": signal})


def given_back(text: str) -> str:
    """A line of stream-json in which a tool gives back a text, named twice as the program does it."""
    block = {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": text}]}
    message = {"role": "user", "content": [block]}
    return json.dumps({"type": "user", "message": message, "tool_use_result": {"stdout": text, "stderr": ""}})


def say(*lines: str, then: str = "time.sleep(600)") -> str:
    """A program that writes these lines and goes on."""
    return f"import time\nfor line in {list(lines)!r}: print(line, flush=True)\n{then}"


# What a line says


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (line(HOLD), [HOLD]),
        (line(HOLD) + "\r", [HOLD]),
        ('{ "flux:signal" : {"verdict": "abort"} }', [{"verdict": "abort"}]),
        (given_back("before\n" + line(HOLD) + "\nafter"), [HOLD]),
        (json.dumps({"type": "tool_result", "content": line(HOLD)}), [HOLD]),
        (json.dumps({"type": "user", "tool_use_result": line(HOLD)}), [HOLD]),
        # not at the start of a line
        (" " + line(HOLD), []),
        ("| " + line(HOLD), []),
        (given_back("said: " + line(HOLD)), []),
        (given_back("a\u2028" + line(HOLD)), []),
        # what the model itself says is no tool's output
        (
            json.dumps({"type": "assistant", "message": {"content": [{"type": "text", "text": line(HOLD)}]}}),
            [],
        ),
        # no signal at all: plain log
        ('{"flux:signal": "abort"}', []),
        ('{"flux:signal": {"verdict": "abort"}', []),
        ('{"flux:signal": {"verdict": "abort"}} trailing', []),
        ('{"signal": 1}', []),
        ("flux:signal", []),
    ],
)
def test_D20_only_a_line_of_its_own_is_a_signal(text: str, expected: list[Any]) -> None:
    assert signals_in(text) == expected


def test_an_unknown_verdict_is_kept_as_it_was_said() -> None:
    assert signals_in(line({"verdict": "wait"})) == [{"verdict": "wait"}]
    assert signals_in(line({})) == [{}]


def test_a_reason_that_is_no_text_does_not_take_its_signal_away() -> None:
    said = {"verdict": "hold", "reason": 7, "meta": "Which one?", "summary": "Half done."}
    assert signals_in(line(said)) == [{"verdict": "hold", "summary": "Half done."}]


def test_lines_are_found_however_the_stream_is_cut() -> None:
    whole = f"a\n{line(HOLD)}\nb\n{line({'verdict': 'abort'})}".encode()
    for size in (1, 7, 64, len(whole)):
        reader = SignalReader()
        found = [each for at in range(0, len(whole), size) for each in reader.feed(whole[at : at + size])]
        assert [*found, *reader.end()] == [HOLD, {"verdict": "abort"}]


def test_a_line_that_is_too_long_is_no_signal_and_hides_none_after_it() -> None:
    reader = SignalReader()
    long = b'{"flux:signal": {"verdict": "abort", "x": "' + b"z" * LONGEST_LINE + b'"}}\n'
    assert reader.feed(long + line(HOLD).encode() + b"\n") == [HOLD]


def test_a_signal_carries_summary_and_usage() -> None:
    said = {**HOLD, "summary": "Half done.", "cost_usd": 0.25, "tokens_in": 10, "tokens_out": "many"}
    assert outcome_fields(said) == {"summary": "Half done.", "usage": {"cost_usd": 0.25, "tokens_in": 10}}


# What a running command does


async def test_D8_a_signal_is_acted_on_while_the_command_runs(spec: Make, sink: Collected) -> None:
    program = say(line(HOLD), then="import os; print(os.getpid(), flush=True); time.sleep(600)")
    outcome = await command.run(spec(program, limits=ProcessLimits(signal_grace=0.2, grace=1)), sink)
    assert outcome["signals"] == [HOLD]
    assert not alive(int(sink.out.decode().splitlines()[-1]))
    assert any("The signal hold" in note for note in sink.notes)


async def test_D8_a_signal_inside_stream_json_is_acted_on(spec: Make, sink: Collected) -> None:
    program = say(given_back(line({"verdict": "abort", "reason": "wrong ticket"})))
    outcome = await command.run(spec(program, limits=ProcessLimits(signal_grace=600, grace=600)), sink)
    assert (outcome["signals"], outcome["exit_code"]) == (
        [{"verdict": "abort", "reason": "wrong ticket"}],
        137,
    )


async def test_D8_the_first_valid_signal_decides_and_later_ones_are_recorded(
    spec: Make, sink: Collected
) -> None:
    lines = [line({"verdict": "wait"}), line({"verdict": "rework"}), line({"verdict": "abort"})]
    outcome = await command.run(spec(say(*lines, then="pass")), sink)
    assert [signal["verdict"] for signal in outcome["signals"]] == ["wait", "rework", "abort"]
    assert outcome["exit_code"] == 0, "an abort that comes second kills nothing"


async def test_D8_what_was_reported_beside_a_signal_is_kept(spec: Make, sink: Collected) -> None:
    document = {"verdict": "pass", "summary": "All done.", "usage": {"tokens_in": 5}}
    signal = {"verdict": "hold", "summary": "Half done.", "tokens_in": 7, "cost_usd": 1.5}
    write = f"import os; open(os.environ['GATELINE_RESULT'], 'w').write({json.dumps(document)!r})"
    outcome = await command.run(spec(say(line(signal), then=write)), sink)
    assert (outcome["summary"], outcome["verdict"]) == ("All done.", "pass")
    assert (outcome["usage"]["tokens_in"], outcome["usage"]["cost_usd"]) == (5, 1.5)


async def test_D12_an_abort_takes_the_whole_group_with_it(spec: Make, sink: Collected) -> None:
    program = (
        "import signal, subprocess, sys, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        f"print(child.pid, flush=True); print({line({'verdict': 'abort'})!r}, flush=True)\n"
        "time.sleep(600)"
    )
    outcome = await command.run(spec(program, limits=ProcessLimits(signal_grace=600, grace=600)), sink)
    assert outcome["exit_code"] == 137
    assert not alive(int(sink.out.split(b"\n")[0]))


async def test_a_last_line_without_its_end_counts(spec: Make, sink: Collected) -> None:
    program = f"import sys; sys.stdout.write({line(HOLD)!r})"
    assert (await command.run(spec(program), sink))["signals"] == [HOLD]


async def test_standard_error_gives_no_signals(spec: Make, sink: Collected) -> None:
    program = f"import sys; print({line(HOLD)!r}, file=sys.stderr)"
    assert "signals" not in await command.run(spec(program), sink)


async def test_D20_a_flood_of_invalid_signals_hides_no_valid_one(spec: Make, sink: Collected) -> None:
    program = say(*[line({"verdict": "wait"})] * (MOST + 50), line({"verdict": "abort"}))
    outcome = await command.run(spec(program, limits=ProcessLimits(signal_grace=600, grace=600)), sink)
    assert (len(outcome["signals"]), outcome["signals"][-1]) == (MOST + 1, {"verdict": "abort"})
