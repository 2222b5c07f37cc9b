"""The handler `agent`, with programs that write what the real ones wrote: real processes, no model."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pipelines.work.handlers import agent
from pipelines.work.spec.handler_io import Attempt
from tests.waiting import eventually
from tests.work.agents.conftest import Programs, ran
from tests.work.agents.test_recordings import RECORDINGS
from tests.work.conftest import Collected, alive


async def test_what_a_program_says_is_a_claim_and_what_it_did_are_facts(
    program: Programs, sink: Collected
) -> None:
    program("claude", "show('claude-ok'); open('made.txt', 'w').write('stub-done')")
    outcome = await ran(program.spec("claude"), sink)
    assert (outcome["exit_code"], outcome["summary"]) == (0, "I made made.txt.")
    assert "result" not in outcome
    assert outcome["facts"]["agent"]["final_event"] is True
    assert outcome["facts"]["commands"]["run"] == 1
    assert outcome["usage"]["cost_usd"] == 0.00134
    assert bytes(sink.out) == (RECORDINGS / "claude-ok.jsonl").read_bytes()


@pytest.mark.parametrize(
    ("preset", "name", "denied", "failed"),
    [
        ("claude", "claude-denied", 1, 0),
        ("opencode", "opencode-auto-rejected", 1, 0),
        ("codex", "codex-command-failed", 0, 1),
        ("gemini", "gemini-no-shell", 0, 0),
    ],
)
async def test_exit_code_0_and_a_claim_are_not_all_that_is_reported(
    program: Programs, sink: Collected, preset: str, name: str, denied: int, failed: int
) -> None:
    program(preset, f"show({name!r})")
    outcome = await ran(program.spec(preset, model="stub/model"), sink)
    assert outcome["exit_code"] == 0
    assert not list(program.attempt.workspace.iterdir())
    commands = outcome["facts"]["commands"]
    assert (commands["denied"], commands["failed"]) == (denied, failed)


async def test_a_program_that_does_not_end_after_its_final_event_is_ended(
    program: Programs, sink: Collected, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent, "FINAL_SECONDS", 0.1)
    program("claude", "show('claude-ok'); time.sleep(600)")
    outcome = await ran(program.spec("claude"), sink)
    assert outcome["result"] == "success"
    assert "exit_code" not in outcome


async def test_a_model_that_does_not_answer_is_asked_some_times_and_no_more(
    program: Programs, sink: Collected
) -> None:
    line = {"type": "system", "subtype": "api_retry", "max_retries": 1000}
    program(
        "claude",
        f"for n in range(7): print(json.dumps({line!r} | {{'attempt': n + 1}}), flush=True)\ntime.sleep(600)",
    )
    outcome = await ran(program.spec("claude"), sink)
    assert (outcome["result"], outcome["failure_type"]) == ("failure", "provider_unavailable")
    assert outcome["facts"]["agent"]["provider"] == "unavailable"
    assert any("did not answer 7 times in a row" in note for note in sink.notes)


async def test_a_model_that_does_not_answer_is_not_waited_for_longer_than_that(
    program: Programs, sink: Collected, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent, "UNANSWERED_SECONDS", 0.05)
    line = json.dumps({"type": "error", "message": "Reconnecting... waiting for network"})
    program("codex", f"while True: print({line!r}, flush=True); time.sleep(0.1)")
    outcome = await ran(program.spec("codex"), sink)
    assert (outcome["result"], outcome["failure_type"]) == ("failure", "provider_unavailable")


@pytest.mark.parametrize(
    ("preset", "body", "why"),
    [
        ("claude", "show('claude-provider-down-cut')", "provider_unavailable"),
        ("codex", "show('codex-provider-down'); sys.exit(1)", "provider_unavailable"),
        ("opencode", "show('opencode-provider-down'); sys.exit(1)", "provider_unavailable"),
        ("gemini", "print('Please set an Auth method.', file=sys.stderr); sys.exit(41)", "no_final_event"),
        ("claude", "print('not JSON')", "no_final_event"),
    ],
)
async def test_an_end_without_an_answer_is_a_failure_with_its_type(
    program: Programs, sink: Collected, preset: str, body: str, why: str
) -> None:
    program(preset, body)
    outcome = await ran(program.spec(preset, model="a/b"), sink)
    assert (outcome["result"], outcome["failure_type"]) == ("failure", why)
    if preset == "gemini":
        assert outcome["summary"].endswith("Its last words: Please set an Auth method.")


async def test_a_program_that_costs_more_than_it_may_is_stopped(program: Programs, sink: Collected) -> None:
    part = {"tokens": {"input": 10, "output": 1}, "cost": 0.4}
    program(
        "opencode",
        f"for n in range(3): print(json.dumps({{'type': 'step_finish', 'part': {part!r}}}), flush=True)"
        "\ntime.sleep(600)",
    )
    outcome = await ran(program.spec("opencode", model="a/b", cost=1.0), sink)
    assert (outcome["result"], outcome["failure_type"]) == ("failure", "budget_exceeded")
    assert outcome["facts"]["usage"]["cost_usd"] == pytest.approx(1.2)


async def test_nothing_is_started_when_nothing_is_left_to_spend(program: Programs, sink: Collected) -> None:
    program("claude", "open('made.txt', 'w')")
    outcome = await ran(program.spec("claude", cost=0.0), sink)
    assert (outcome["result"], outcome["failure_type"]) == ("failure", "budget_exceeded")
    assert not list(program.attempt.workspace.iterdir())


async def test_a_program_that_is_not_there_says_what_to_install(program: Programs, sink: Collected) -> None:
    spec = program.spec("codex")
    outcome = await ran(replace(spec, env={**spec.env, "PATH": str(program.folder)}), sink)
    assert (outcome["failure_type"], outcome["exit_code"]) == ("command_not_started", 127)
    assert outcome["summary"] == (
        "Codex could not be started: there is no program codex on this worker. "
        "Install codex on the worker, or choose another agent."
    )


TOLD = """
said = {'argv': sys.argv[1:], 'stdin': sys.stdin.read(), 'home': os.environ['HOME'], 'env': sorted(os.environ)}
open(os.environ['HOME'] + '/told.json', 'w').write(json.dumps(said))
"""


def told(program: Programs) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((program.attempt.home / "told.json").read_text())
    return found


async def test_home_is_apart_from_the_workspace(program: Programs, sink: Collected) -> None:
    program("claude", TOLD + "show('claude-ok')")
    await ran(program.spec("claude", prompt="Wörter"), sink)
    assert told(program)["stdin"] == "Wörter"
    assert told(program)["home"] == str(program.attempt.home)
    assert not list(program.attempt.workspace.iterdir())


async def test_a_prompt_that_is_an_argument_leaves_standard_input_empty(
    program: Programs, sink: Collected
) -> None:
    program("copilot", TOLD)
    await ran(program.spec("copilot", prompt="--help me"), sink)
    assert told(program)["stdin"] == ""
    assert " --help me" in told(program)["argv"]


async def test_a_prompt_in_a_file_is_read_there(program: Programs, sink: Collected) -> None:
    program("aider", "print(open(sys.argv[sys.argv.index('--message-file') + 1]).read())")
    outcome = await ran(program.spec("aider", prompt="Do it well."), sink)
    assert (outcome["exit_code"], outcome["summary"]) == (0, "Do it well.")


async def test_a_session_goes_on_with_the_remark_alone(program: Programs, sink: Collected) -> None:
    program("claude", TOLD + "show('claude-ok')")
    program.attempt.home.mkdir()
    (program.attempt.home / "session").touch()
    spec = program.spec("claude", session="44bef7bc-7a15", remark="Mind the gap.\n")
    await ran(spec, sink)
    assert told(program)["argv"][-4:] == ["--resume", "44bef7bc-7a15", "--allowedTools", "Bash"]
    assert told(program)["stdin"] == "Mind the gap.\n"


async def test_without_its_home_a_session_is_begun_afresh(program: Programs, sink: Collected) -> None:
    program("claude", TOLD + "show('claude-ok')")
    await ran(program.spec("claude", session="44bef7bc-7a15", remark="Mind the gap."), sink)
    assert "--resume" not in told(program)["argv"]
    assert told(program)["stdin"] == "Make made.txt"


async def test_a_cancelled_agent_leaves_no_process(program: Programs, sink: Collected) -> None:
    program("claude", "print(os.getpid(), flush=True); time.sleep(600)")
    running = asyncio.create_task(agent.run(program.spec("claude"), sink))
    await eventually(lambda: b"\n" in sink.out)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not alive(int(sink.out))


async def test_output_and_signals_come_from_what_it_says_last(program: Programs, sink: Collected) -> None:
    says = 'Done.\n```json\n{"high": 2}\n```\n{"flux:signal": {"verdict": "needs_human", "reason": "Which?"}}'
    message = {"type": "item.completed", "item": {"id": "1", "type": "agent_message", "text": says}}
    end = {"type": "turn.completed", "usage": {}}
    program("codex", f"print(json.dumps({message!r})); print(json.dumps({end!r}))")
    outcome = await ran(replace(program.spec("codex"), output_keys=("high",)), sink)
    assert outcome["output"] == {"high": 2}
    assert outcome["signals"] == [{"verdict": "needs_human", "reason": "Which?"}]


ANY: dict[str, Any] = {}
LISTED = {"type": "array", "items": {"type": "string"}}
STRICT = {"anyOf": [*({"type": name} for name in ("string", "number", "boolean", "null")), LISTED]}


@pytest.mark.parametrize(
    ("preset", "value", "risk"),
    [("claude", ANY, {"level": 2}), ("codex", STRICT, 2)],
    ids=["claude", "codex"],
)
async def test_a_program_without_tools_is_held_to_the_output_keys_by_its_own_option(
    program: Programs, sink: Collected, preset: str, value: Any, risk: Any
) -> None:
    keep = """
if "--output-schema" in sys.argv:
    schema = open(sys.argv[sys.argv.index("--output-schema") + 1]).read()
    open(os.environ["HOME"] + "/schema.json", "w").write(schema)
"""
    program(preset, f"{TOLD}{keep}show('{preset}-structured')")
    spec = replace(program.spec(preset), output_keys=("plan", "risk", "git"))
    outcome = await ran(spec, sink)
    argv = told(program)["argv"]
    if preset == "claude":
        schema = argv[argv.index("--json-schema") + 1]
    else:
        schema = (program.attempt.home / "schema.json").read_text()
    assert json.loads(schema) == {
        "type": "object",
        "properties": {"plan": value, "risk": value},
        "required": ["plan", "risk"],
        "additionalProperties": False,
    }
    assert outcome["output"] == {"plan": "Count by account", "risk": risk}
    assert "output" not in outcome["facts"], "nothing of it was lost"


@pytest.mark.parametrize(
    "more", [{"output_keys": ()}, {"output_keys": ("git",)}, {"result_document": "required"}]
)
async def test_nobody_is_held_to_keys_that_are_not_asked_for_or_come_in_a_document(
    program: Programs, sink: Collected, more: dict[str, Any]
) -> None:
    program("claude", TOLD + "show('claude-ok')")
    await ran(replace(program.spec("claude"), **{"output_keys": ("plan",), **more}), sink)
    assert "--json-schema" not in told(program)["argv"]


async def test_a_program_that_breaks_the_form_has_given_no_output(program: Programs, sink: Collected) -> None:
    program("claude", "show('claude-ok')")
    outcome = await ran(replace(program.spec("claude"), output_keys=("plan",)), sink)
    assert "output" not in outcome and outcome["summary"] == "I made made.txt."


async def test_tokens_cost_what_the_station_says_where_the_program_says_nothing(
    program: Programs, sink: Collected
) -> None:
    program("codex", "show('codex-ok')")
    found = (await ran(program.spec("codex"), sink))["facts"]["usage"]
    assert found["price"] == "none" and "cost_usd" not in found
    outcome = await ran(program.spec("codex", price=(2.0, 8.0)), sink)
    usage = outcome["facts"]["usage"]
    cost = (usage["tokens_in"] * 2 + usage["tokens_out"] * 8) / 1_000_000
    assert (usage["price"], usage["cost_usd"]) == ("table", round(cost, 6))
    assert outcome["usage"]["cost_usd"] == usage["cost_usd"] > 0


async def test_a_program_is_stopped_by_the_price_of_its_station(
    program: Programs, sink: Collected, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Its tokens come with its final event, after which it is let end by itself for a while.
    monkeypatch.setattr(agent, "FINAL_SECONDS", 0.1)
    program("codex", "show('codex-ok'); time.sleep(60)")
    outcome = await ran(program.spec("codex", price=(1e6, 1e6), cost=0.01), sink)
    assert outcome["failure_type"] == "budget_exceeded"


async def test_a_secret_that_a_program_reads_from_a_file_is_there_while_it_runs_alone(
    program: Programs, sink: Collected, attempt: Attempt, tmp_path: Path
) -> None:
    path = ".config/gcloud/application_default_credentials.json"
    program("claude", f"print('key', open(os.environ['HOME'] + '/{path}').read())\nshow('claude-ok')")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    attempt.home.mkdir(parents=True, exist_ok=True)
    (attempt.home / ".config").symlink_to(elsewhere)
    await ran(program.spec("claude", files={path: "the key of an account"}), sink)
    assert b"key the key of an account" in sink.out
    assert not (attempt.home / path).exists() and list(elsewhere.iterdir()) == []
