"""Which calls of an agent's tools the line allows, denies, or puts before a person (law §18)."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.routing.basics.problems import DocumentError
from pipelines.routing.document.line import read_line
from pipelines.routing.document.publishable import publishing_problems
from pipelines.routing.document.work.tool_permissions import ToolPolicy, tool_policy_or_none

POLICY = ToolPolicy(
    ("git", "make", "tool:WebSearch"), ("git push", "tool:WebFetch"), ("npm publish",), "deny"
)


@pytest.mark.parametrize(
    ("tool", "arguments", "verdict"),
    [
        ("Bash", {"command": "git status"}, "allow"),
        ("Bash", {"command": "git"}, "allow"),
        ("Bash", {"command": "gitk"}, "deny"),
        ("Bash", {"command": "git push"}, "ask"),
        ("Bash", {"command": "git  push origin"}, "ask"),
        ("Bash", {"command": "make && git push"}, "ask"),
        ("Bash", {"command": "X=1 Y=2 git push"}, "ask"),
        ("Bash", {"command": "(git push)"}, "ask"),
        ("Bash", {"command": "git status; curl x"}, "deny"),
        ("Bash", {"command": "git status\nrm -rf /"}, "deny"),
        ("Bash", {"command": "git log `curl x`"}, "deny"),
        ("Bash", {"command": "git log $(curl x)"}, "deny"),
        ("Bash", {"command": "git diff > /tmp/x"}, "deny"),
        ("Bash", {"command": "git push; npm publish"}, "deny"),
        ("Bash", {"cmd": ["git", "status"]}, "allow"),
        ("Bash", {"cmd": ["npm", "publish", "--tag", "x y"]}, "deny"),
        ("Bash", {"command": 7}, "deny"),
        ("Bash", {}, "deny"),
        ("WebSearch", {"query": "x"}, "allow"),
        ("WebFetch", {"url": "x"}, "ask"),
        ("webfetch", {"url": "x"}, "deny"),
        ("Edit", {"file_path": "a"}, "allow"),
    ],
)
def test_the_strictest_list_that_matches_counts(tool: str, arguments: dict[str, Any], verdict: str) -> None:
    assert POLICY.verdict(tool, arguments) == verdict


@pytest.mark.parametrize(
    ("work", "unlisted"),
    [
        ({}, None),
        ({"allow": ["git"]}, None),
        ({"unlisted": "allow"}, None),
        ({"ask": ["git"]}, "allow"),
        ({"deny": ["git"]}, "allow"),
        ({"allow": ["make"], "ask": ["git"]}, "deny"),
        ({"unlisted": "ask"}, "ask"),
        ({"allow": ["make"], "unlisted": "ask"}, "ask"),
    ],
)
def test_what_no_list_names_goes_as_the_station_says(work: dict[str, Any], unlisted: str | None) -> None:
    policy = tool_policy_or_none(work)
    assert (policy and policy.unlisted) == unlisted


@pytest.mark.parametrize("work", [{"ask": ["git"]}, {"deny": ["git"]}, {"unlisted": "ask"}])
@pytest.mark.parametrize("agent", ["claude", "codex", "gemini-acp"])
def test_only_an_agent_that_asks_is_published_with_such_lists(work: dict[str, Any], agent: str) -> None:
    told = {"kind": "agent", "agent": agent, "prompt": "Do it.", "network": "open", **work}
    line = read_line({"key": "line", "stations": [{"key": "a", "work": told}]})
    messages = [
        problem.message for problem in publishing_problems(line) if "ask before" in str(problem.message)
    ]
    assert bool(messages) == (agent == "codex")


@pytest.mark.parametrize(
    ("work", "place"),
    [
        ({"ask": "git"}, "ask"),
        ({"ask": ["a\nb"]}, "ask"),
        ({"deny": [" "]}, "deny"),
        ({"unlisted": "perhaps"}, "unlisted"),
        ({"ask_minutes": 0}, "ask_minutes"),
        ({"ask_minutes": 1441}, "ask_minutes"),
        ({"ask_minutes": "soon"}, "ask_minutes"),
    ],
)
def test_a_faulty_list_is_refused_with_its_place(work: dict[str, Any], place: str) -> None:
    told = {"kind": "agent", "agent": "claude", "prompt": "Do it.", **work}
    with pytest.raises(DocumentError) as refused:
        read_line({"key": "line", "stations": [{"key": "a", "work": told}]})
    assert any(place in problem.path for problem in refused.value.problems)
