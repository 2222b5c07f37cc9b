"""What the program of an agent is called with, and which hosts it reaches."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pipelines.routing.document.agents import PRESETS
from pipelines.work.agents.call_arguments import agent_argv, agent_environment, can_resume
from pipelines.work.spec.agent_call import AgentCall

WHERE = {"folder": "/w", "file": "/w/prompt.txt", "prompt": "Do it."}


def called(preset: str, *, resumed: bool = False, isolated: bool = True, **more: Any) -> tuple[str, ...]:
    return agent_argv(AgentCall(PRESETS[preset], **more), resumed=resumed, isolated=isolated, places=WHERE)


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
    found = agent_environment(AgentCall(PRESETS["opencode"], allow=("git",)))["OPENCODE_CONFIG_CONTENT"]
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
    assert PRESETS[preset].model_hosts(variables) == hosts
    assert set(PRESETS[preset].addresses) <= set(PRESETS[preset].environment)
