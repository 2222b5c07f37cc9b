"""The handler `agent`, with programs that write what the real ones wrote: real processes, no model."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from pipelines.routing.basics.outcome import read_outcome
from pipelines.routing.document.agents import PRESETS
from pipelines.work.agents.call import arguments, can_resume, settings
from pipelines.work.handlers import agent
from pipelines.work.spec.agent_call import AgentCall
from pipelines.work.spec.base import Attempt, ProcessLimits, Spec
from tests.waiting import eventually
from tests.work.agents.test_recordings import RECORDINGS
from tests.work.conftest import Collected, alive

WHERE = {"folder": "/w", "file": "/w/prompt.txt", "prompt": "Do it."}


@dataclass
class Programs:
    """Programs of these names on the PATH of the station."""

    folder: Path
    attempt: Attempt

    def __call__(self, name: str, body: str) -> None:
        path = self.folder / name
        head = f"#!{sys.executable} -IS\nimport os, sys, time, json\n"
        show = f"def show(name): print(open({str(RECORDINGS)!r} + '/' + name + '.jsonl').read(), end='', flush=True)\n"
        path.write_text(head + show + body, "utf-8")
        path.chmod(0o755)

    def spec(self, preset: str, prompt: str = "Make made.txt", **more: Any) -> Spec:
        call = AgentCall(PRESETS[preset], **more)
        env = {"PATH": f"{self.folder}{os.pathsep}{os.environ['PATH']}", "LANG": "C.UTF-8"}
        env["GATELINE_RESULT"] = str(self.attempt.result)
        return Spec(
            kind="agent",
            attempt=self.attempt,
            prompt=prompt,
            env=env,
            limits=ProcessLimits(grace=0.2, signal_grace=0.2),
            agent=call,
        )


@pytest.fixture
def program(tmp_path: Path, attempt: Attempt) -> Programs:
    folder = tmp_path / "bin"
    folder.mkdir()
    return Programs(folder, attempt)


async def ran(spec: Spec, sink: Collected) -> dict[str, Any]:
    outcome = await agent.run(spec, sink)
    read_outcome(outcome)
    return outcome


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


# What it is called with


def called(preset: str, *, resumed: bool = False, isolated: bool = True, **more: Any) -> tuple[str, ...]:
    return arguments(AgentCall(PRESETS[preset], **more), resumed=resumed, isolated=isolated, places=WHERE)


def test_allowed_commands_become_the_options_of_the_program() -> None:
    claude = called("claude", allow=("git", "uv run", "tool:WebFetch"))
    assert [part for part in claude if "(" in part or part == "WebFetch"] == [
        "Bash(git:*)",
        "Bash(uv run:*)",
        "WebFetch",
    ]
    assert called("gemini", allow=("git",))[-4:] == (
        *("--approval-mode", "auto_edit"),
        *("--allowed-tools", "run_shell_command(git)"),
    )
    found = settings(AgentCall(PRESETS["opencode"], allow=("git",)))["OPENCODE_CONFIG_CONTENT"]
    assert json.loads(found)["permission"]["bash"] == {"*": "deny", "git": "allow", "git *": "allow"}


def test_the_sandbox_of_codex_is_off_behind_ours_alone() -> None:
    off = "--dangerously-bypass-approvals-and-sandbox"
    assert off in called("codex", isolated=True)
    assert off not in called("codex", isolated=False)
    assert "workspace-write" in called("codex", isolated=False)


def test_options_stand_before_what_is_none() -> None:
    assert called("codex", model="m")[-4:] == ("--dangerously-bypass-approvals-and-sandbox", "-m", "m", "-")
    again = called("codex", resumed=True, session="01a2", remark="x")
    assert again[-3:] == ("resume", "01a2", "-")


@pytest.mark.parametrize("session", ["--dangerously", "-x", "a b", "", "a\nb", "x" * 200, "../x"])
def test_a_session_that_is_no_name_is_not_gone_on_with(session: str) -> None:
    assert not can_resume(AgentCall(PRESETS["claude"], session=session, remark="x"))


def test_a_cap_is_told_to_a_program_that_knows_one() -> None:
    assert called("claude", cost=1.5)[-4:-2] == ("--max-budget-usd", "1.50")
    assert not any("1.50" in part for part in called("codex", cost=1.5))


# The program of ours


async def test_codemod_fixes_what_the_folder_is_set_up_for(
    program: Programs, sink: Collected, attempt: Attempt
) -> None:
    (attempt.workspace / "ruff.toml").write_text("line-length = 100\n")
    (attempt.workspace / "a.py").write_text("import os\nimport sys\nprint( sys.argv)\n")
    spec = program.spec("codemod")
    venv = str(Path(sys.executable).parent)
    outcome = await ran(replace(spec, env={**spec.env, "PATH": venv}), sink)
    assert (attempt.workspace / "a.py").read_text() == "import sys\n\nprint(sys.argv)\n"
    assert outcome["summary"] == "Codemod is a program and no model. It ran 2 commands and changed 1 file."
    assert outcome["facts"]["commands"] == {"run": 2, "failed": 0, "denied": 0, "last_exit_code": 0}
    assert outcome["facts"]["usage"] == {"tokens_in": 0, "tokens_out": 0, "price": "none"}


async def test_fixers_leave_lock_files_and_ignored_files_as_they_are(
    program: Programs, sink: Collected, attempt: Attempt
) -> None:
    """`prettier --write .` formatted pnpm-lock.yaml, and what is prepared by its content was prepared anew."""
    folder = attempt.workspace
    program(
        "prettier", "[open(os.path.join(at, n), 'a').write('x') for at, _, ns in os.walk('.') for n in ns]"
    )
    (folder / "inner").mkdir()
    (folder / ".prettierrc").write_text("{}")
    (folder / ".gitignore").write_text("made/\n.*\n")
    (folder / ".prettierignore").write_text("*.md\n!kept.md\n")
    (folder / "made").mkdir()
    ignored = ("inner/a.md", "made/a.ts")
    # Git reads the patterns: without it only lock files are known, and files of the fixer's own count as changed.
    git = shutil.which("git") is not None
    left = ("pnpm-lock.yaml", "inner/Cargo.lock", *(ignored if git else ()))
    for path in ("pnpm-lock.yaml", "inner/Cargo.lock", *ignored, "a.ts", "kept.md"):
        (folder / path).write_text("a")
    outcome = await ran(program.spec("codemod"), sink)
    assert {path: (folder / path).read_text() for path in left} == dict.fromkeys(left, "a")
    assert [(folder / path).read_text() for path in ("a.ts", "kept.md")] == ["ax", "ax"]
    assert outcome["summary"].endswith("changed 2 files." if git else "changed 7 files.")


async def test_commands_of_the_station_may_change_lock_files(
    program: Programs, sink: Collected, attempt: Attempt
) -> None:
    (attempt.workspace / "uv.lock").write_text("a")
    program("update", "open('uv.lock', 'a').write('x')")
    await ran(program.spec("codemod", allow=("update",)), sink)
    assert (attempt.workspace / "uv.lock").read_text() == "ax"


async def test_codemod_says_that_there_is_nothing_to_fix(
    program: Programs, sink: Collected, attempt: Attempt
) -> None:
    (attempt.workspace / "ruff.toml").write_text("")
    spec = program.spec("codemod")
    venv = str(Path(sys.executable).parent)
    outcome = await ran(replace(spec, env={**spec.env, "PATH": venv}), sink)
    assert outcome["exit_code"] == 0
    assert outcome["summary"].startswith("Nothing to fix. Codemod is a program and no model.")


async def test_codemod_without_a_fixer_fails_and_says_what_makes_one_be_found(
    program: Programs, sink: Collected
) -> None:
    outcome = await ran(program.spec("codemod"), sink)
    assert (outcome["result"], outcome["failure_type"]) == ("failure", "no_fixer")
    for file in ("ruff.toml", "eslint.config.js", "biome.json", ".prettierrc", ".go"):
        assert file in outcome["summary"]


async def test_codemod_with_a_fixer_that_is_not_installed_looked_at_nothing(
    sink: Collected, attempt: Attempt, program: Programs
) -> None:
    (attempt.workspace / "biome.json").write_text("{}")
    outcome = await ran(program.spec("codemod"), sink)
    assert (outcome["result"], outcome["failure_type"]) == ("failure", "no_fixer")
    assert "Set up here, but not installed: biome." in outcome["summary"]


async def test_codemod_runs_the_commands_that_it_is_given(
    program: Programs, sink: Collected, attempt: Attempt
) -> None:
    program("fix", "open('fixed', 'w').write('x')")
    outcome = await ran(program.spec("codemod", allow=("fix --all",)), sink)
    assert (attempt.workspace / "fixed").exists()
    assert outcome["summary"].endswith("It ran 1 command and changed 1 file.")
    missing = await ran(program.spec("codemod", allow=("no-such-fixer",)), sink)
    assert (missing["exit_code"], missing["facts"]["commands"]["last_exit_code"]) == (1, 127)


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


async def test_a_program_is_stopped_by_the_price_of_its_station(program: Programs, sink: Collected) -> None:
    program("codex", "show('codex-ok'); time.sleep(60)")
    outcome = await ran(program.spec("codex", price=(1e6, 1e6), cost=0.01), sink)
    assert outcome["failure_type"] == "budget_exceeded"


@pytest.mark.parametrize(
    ("preset", "variables", "hosts"),
    [
        ("claude", {}, ("api.anthropic.com",)),
        ("claude", {"ANTHROPIC_BASE_URL": "https://gateway.test:8443/v1"}, ("gateway.test:8443",)),
        ("claude", {"ANTHROPIC_BASE_URL": "http://gateway.test"}, ("api.anthropic.com",)),
        (
            "claude",
            {"CLAUDE_CODE_USE_BEDROCK": "1", "AWS_REGION": "eu-west-1"},
            ("bedrock-runtime.eu-west-1.amazonaws.com",),
        ),
        ("codex", {"OPENAI_BASE_URL": "https://gateway.test/"}, ("gateway.test",)),
        (
            "claude",
            {"CLAUDE_CODE_USE_VERTEX": "1", "CLOUD_ML_REGION": "europe-west1"},
            ("europe-west1-aiplatform.googleapis.com", "aiplatform.googleapis.com", "oauth2.googleapis.com"),
        ),
        ("gemini", {"GOOGLE_GENAI_USE_VERTEXAI": "false"}, ("generativelanguage.googleapis.com",)),
        ("codemod", {}, ()),
    ],
)
def test_an_agent_reaches_its_model_where_stored_variables_say(
    preset: str, variables: dict[str, str], hosts: tuple[str, ...]
) -> None:
    assert PRESETS[preset].reaches(variables) == hosts
    assert set(PRESETS[preset].addresses) <= set(PRESETS[preset].environment)


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
