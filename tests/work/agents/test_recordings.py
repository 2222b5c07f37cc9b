"""What the readers make of what the real programs wrote (November 2026): recorded from Claude Code 2.1.330, Codex
0.169.0, OpenCode 1.18.33 and Gemini CLI 0.61.0, against a scripted model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pipelines.routing.document.agents import PRESETS
from pipelines.work.agents.facts import agent_facts
from pipelines.work.agents.stream import Stream
from pipelines.work.agents.streams import STREAMS

RECORDINGS = Path(__file__).parent / "recordings"
NAMES = sorted(path.stem for path in RECORDINGS.glob("*.jsonl"))


def recorded(name: str) -> list[str]:
    return (RECORDINGS / f"{name}.jsonl").read_text("utf-8").splitlines()


def read(name: str, lines: list[str] | None = None) -> Stream:
    stream = STREAMS[PRESETS[name.partition("-")[0]].dialect]()
    for number, line in enumerate(recorded(name) if lines is None else lines, 1):
        stream.feed(line, float(number), number)
    return stream


def facts(name: str, lines: list[str] | None = None) -> dict[str, Any]:
    return agent_facts(PRESETS[name.partition("-")[0]], read(name, lines))


def told(name: str) -> list[tuple[str, str, str, str, int | None]]:
    return [(each.kind, each.verb, each.what, each.state, each.code) for each in read(name).steps]


MADE = "echo stub-done > made.txt && cat made.txt"
REFUSED = "python3 -c \"open('made.txt','w').write('stub-done')\""
NOT_FOUND = (
    "Model metadata for `stub-model` not found. Defaulting to fallback metadata; this can degrade performance and "
    "cause issues."
)
SAID = ("text", "say", "I made made.txt.", "done", None)


def test_there_are_recordings_of_four_programs() -> None:
    assert {name.partition("-")[0] for name in NAMES} == {"claude", "codex", "opencode", "gemini"}
    assert len(NAMES) == 13


@pytest.mark.parametrize("name", NAMES)
def test_no_line_of_a_recording_stays_log(name: str) -> None:
    assert read(name).unread == 0


def test_an_answer_in_the_form_to_which_the_program_was_held() -> None:
    """Claude Code (`--json-schema`) gives it beside what it says, Codex (`--output-schema`) as what it says last."""
    assert json.loads(read("claude-structured").structured) == {
        "plan": "Count by account",
        "risk": {"level": 2},
    }
    assert read("claude-structured").claim == read("codex-structured").structured == ""
    assert json.loads(read("codex-structured").claim) == {"plan": "Count by account", "risk": 2}


def test_a_command_that_ran() -> None:
    run = ("command", "run", MADE, "done", 0)
    assert told("claude-ok") == [run, SAID]
    assert told("codex-ok") == [("error", "tell", NOT_FOUND, "done", None), run, SAID]
    assert told("opencode-ok") == [run, SAID]
    assert told("gemini-ok") == [run, SAID]
    for name in ("claude-ok", "codex-ok", "opencode-ok", "gemini-ok"):
        assert read(name).steps[-2].detail.strip() == "stub-done"


@pytest.mark.parametrize(
    ("name", "commands"),
    [
        ("claude-ok", {"run": 1, "failed": 0, "denied": 0, "last_exit_code": 0}),
        ("codex-ok", {"run": 1, "failed": 0, "denied": 0, "last_exit_code": 0}),
        ("opencode-ok", {"run": 1, "failed": 0, "denied": 0, "last_exit_code": 0}),
        ("gemini-ok", {"run": 1, "failed": 0, "denied": 0, "last_exit_code": 0}),
        ("claude-denied", {"run": 0, "failed": 0, "denied": 1}),
        ("opencode-auto-rejected", {"run": 0, "failed": 0, "denied": 1}),
        ("codex-command-failed", {"run": 1, "failed": 1, "denied": 0, "last_exit_code": 1}),
        ("gemini-no-shell", {"run": 0, "failed": 0, "denied": 0}),
    ],
)
def test_commands_are_counted_as_the_program_tells_them(name: str, commands: dict[str, Any]) -> None:
    assert facts(name)["commands"] == commands


def test_a_claim_of_success_changes_no_fact() -> None:
    """Three of the four say that they made the file; none of them did."""
    claimed = ("claude-denied", "codex-command-failed", "gemini-no-shell")
    assert {read(name).claim for name in claimed} == {"I made made.txt."}
    assert read("opencode-auto-rejected").claim == ""
    assert "python3 -c" in read("claude-denied").steps[0].what
    assert read("claude-denied").steps[0].is_denied
    assert read("codex-command-failed").steps[1].has_failed


def test_a_refusal_that_only_the_result_tells_is_denied() -> None:
    lines = [line for line in recorded("claude-denied") if "permission_denied" not in line]
    assert facts("claude-denied", lines)["commands"] == {"run": 0, "failed": 0, "denied": 1}


@pytest.mark.parametrize(
    ("name", "down"), [(name, "provider-down" in name) for name in NAMES], ids=lambda value: str(value)
)
def test_a_model_that_did_not_answer_is_told(name: str, down: bool) -> None:
    assert (facts(name)["agent"].get("provider") == "unavailable") == down


def test_retries_are_one_step() -> None:
    assert [(each.verb, each.state) for each in read("claude-provider-down-cut").steps] == [
        ("retry", "running")
    ]
    assert [(each.verb, each.state) for each in read("codex-provider-down").steps] == [
        ("tell", "done"),
        ("retry", "failed"),
        ("tell", "failed"),
    ]


def test_a_model_that_answers_after_a_while_was_not_down() -> None:
    down, well = recorded("claude-provider-down-cut"), recorded("claude-ok")
    stream = read("claude-ok", [*down, *well[1:]])
    assert not stream.provider_down
    assert stream.steps[0].state == "done"


@pytest.mark.parametrize("name", ["claude-ok", "codex-ok", "gemini-ok", "claude-denied", "gemini-no-shell"])
def test_a_stream_that_was_cut_has_no_final_event(name: str) -> None:
    assert facts(name)["agent"]["final_event"] is True
    for cut in range(1, len(recorded(name))):
        assert facts(name, recorded(name)[:cut])["agent"]["final_event"] is False


def test_a_program_without_a_final_event_lacks_none() -> None:
    assert "final_event" not in facts("opencode-ok")["agent"]


@pytest.mark.parametrize(
    ("name", "usage"),
    [
        ("claude-ok", {"tokens_in": 200, "tokens_out": 27, "cost_usd": 0.00134, "price": "reported"}),
        ("codex-ok", {"tokens_in": 240, "tokens_out": 18, "price": "none"}),
        ("opencode-ok", {"tokens_in": 180, "tokens_out": 16, "cost_usd": 0.000212, "price": "reported"}),
        ("gemini-ok", {"tokens_in": 140, "tokens_out": 12, "price": "none"}),
        ("codex-provider-down", {"tokens_in": 0, "tokens_out": 0, "price": "none"}),
    ],
)
def test_usage_is_summed_and_no_price_is_no_zero(name: str, usage: dict[str, Any]) -> None:
    assert facts(name)["usage"] == usage


def test_the_session_is_known_for_resuming() -> None:
    assert facts("claude-ok")["agent"]["session"] == "44bef7bc-7a15-4473-bc04-5d96338881e5"
    assert facts("codex-ok")["agent"]["session"] == "01a20169-1ca9-7903-bbbe-dbbbad6cac2a"
    assert facts("opencode-ok")["agent"]["session"] == "ses_dfe96acf9ffeBvzdmtnNz10mMM"
    assert facts("gemini-ok")["agent"]["session"] == "d93d087d-0015-4c8c-b158-e8b176a6729d"
    assert facts("claude-ok")["agent"]["version"] == "2.1.330"
