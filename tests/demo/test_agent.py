"""agent-station with real command-line programs standing where an agent's would, and without any."""

from __future__ import annotations

import shlex
import sys

import pytest

from tests.demo.conftest import Done, Workspace


def ask(workspace: Workspace, program: str | None, prompt: str = "Draw a house") -> Done:
    """`program` is Python source; it stands for any program that reads a prompt and writes an answer."""
    command = "" if program is None else shlex.join([sys.executable, "-c", program])
    return workspace.run("agent-station", "--key=plan", stdin=prompt, env={"GATELINE_AGENT_COMMAND": command})


def test_the_prompt_goes_in_and_the_answer_comes_out(workspace: Workspace) -> None:
    done = ask(workspace, "print(input()[::-1])", "abc é")
    assert done.code == 0
    assert done.output == {"plan": "é cba"}
    assert "é cba" in done.log


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        ('text\n```json\n{"plan": ["a", 1]}\n```\nmore', ["a", 1]),
        ('```json\n{"other": 1}\n```\n```json\n{"plan": "second"}\n```', "second"),
        ("```json\n{broken\n```", "```json\n{broken\n```"),
        ('```json\n{"other": 1}\n```', '```json\n{"other": 1}\n```'),
    ],
)
def test_a_json_block_with_the_key_is_preferred(workspace: Workspace, answer: str, value: object) -> None:
    assert ask(workspace, f"print({answer!r})").output == {"plan": value}


def test_without_an_agent_it_blocks_and_says_how_to_set_one(workspace: Workspace) -> None:
    done = ask(workspace, None)
    assert done.code == 78
    assert done.document["verdict"] == "blocked"
    assert done.document["failure_type"] == "not_configured"
    assert "AGENT_COMMAND" in done.summary
    assert done.document["blockers"]
    assert "AGENT_COMMAND" in done.document["signals"][0]["meta"]["question"]
    assert "output" not in done.document


def test_a_line_that_is_only_tried_gets_an_answer_that_says_it_is_a_script(workspace: Workspace) -> None:
    done = workspace.run("agent-station", "--key=plan", "--scripted", stdin="Draw a house")
    assert (done.code, done.document["verdict"]) == (0, "pass")
    assert done.output["plan"].startswith("Written by a script: no agent is set up on this worker")
    assert "AGENT_COMMAND" in done.output["plan"] and "> Draw a house" in done.output["plan"]
    assert "Written by a script" in done.summary and "Written by a script" in done.log
    command = shlex.join([sys.executable, "-c", "print('mine')"])
    real = workspace.run("agent-station", "--key=plan", "--scripted", env={"GATELINE_AGENT_COMMAND": command})
    assert real.output == {"plan": "mine"}, "an agent that is set up is asked"


def test_an_agent_that_is_not_installed_blocks(workspace: Workspace) -> None:
    done = workspace.run("agent-station", "--key=plan", env={"GATELINE_AGENT_COMMAND": "no-such-agent --go"})
    assert done.document["verdict"] == "blocked"
    assert "no-such-agent" in done.summary


@pytest.mark.parametrize(
    ("program", "says"),
    [("import sys; print('no credit'); sys.exit(3)", "no credit"), ("", "nothing")],
)
def test_an_agent_that_fails_fails_the_station(workspace: Workspace, program: str, says: str) -> None:
    done = ask(workspace, program)
    assert done.code != 0
    assert done.document["failure_type"] == "agent"
    assert says in done.summary


def test_a_command_that_cannot_be_read_blocks(workspace: Workspace) -> None:
    done = workspace.run("agent-station", "--key=plan", env={"GATELINE_AGENT_COMMAND": "agent 'unclosed"})
    assert done.document["verdict"] == "blocked"
    assert "AGENT_COMMAND" in done.summary


def test_bytes_that_are_no_text_are_escaped(workspace: Workspace) -> None:
    done = ask(workspace, r"import sys; sys.stdout.buffer.write(b'a\xff\0b')")
    assert done.output == {"plan": "a\\xff\\x00b"}


def test_the_document_is_delivered_as_it_came(workspace: Workspace) -> None:
    done = workspace.run("agent-deliver", stdin="# Plan\n\nBuild.\n")
    assert done.code == 0
    assert (workspace.folder / "delivery" / "report.md").read_text() == "# Plan\n\nBuild.\n"
    assert [a["name"] for a in done.document["artifacts"]] == ["report.md", "MANIFEST.sha256"]


def test_nothing_is_not_delivered(workspace: Workspace) -> None:
    assert workspace.run("agent-deliver", stdin=" \n").code == 1
