"""Readers of streams: what is not in the recordings, and what somebody hostile writes."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.routing.basics.facts import read_observed_facts as read_facts
from pipelines.routing.document.agents import PRESETS, TABLE
from pipelines.work.agents.facts import agent_facts
from pipelines.work.agents.log_steps import join_pieces, read_stream
from pipelines.work.agents.stream import Stream
from pipelines.work.agents.streams import STREAMS
from pipelines.work.agents.streams.codex import command_without_shell
from tests.work.agents.test_recordings import NAMES, recorded


class Line(NamedTuple):
    number: int
    seconds: float
    text: str


def fed(dialect: str, *lines: dict[str, Any], keep: int | None = None) -> Stream:
    stream = STREAMS[dialect](keep)
    for line in lines:
        stream.feed(json.dumps(line))
    return stream


def assistant(*blocks: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "assistant", "message": {"content": list(blocks)}, **more}


def call(name: str, identity: str = "t1", **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": identity, "name": name, "input": given}


def result(content: Any, *, error: bool = False, identity: str = "t1") -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": identity, "is_error": error, "content": content}
    return {"type": "user", "message": {"content": [block]}}


def test_every_preset_has_a_reader_and_a_program() -> None:
    assert {preset.dialect for preset in TABLE} <= set(STREAMS)
    assert all(preset.argv and preset.versions for preset in TABLE)
    assert {preset.key for preset in TABLE if not preset.tried} == {"copilot", "aider"}


def test_claude_edits_are_small_diffs() -> None:
    step = fed(
        "claude", assistant(call("Edit", file_path="a.py", old_string="x = 1", new_string="x = 2"))
    ).steps[0]
    assert (step.kind, step.verb, step.what) == ("edit", "edit", "a.py")
    assert [(each.path, each.before, each.after) for each in step.changes] == [("a.py", "x = 1", "x = 2")]


def test_claude_says_an_exit_code_in_words() -> None:
    failed = fed(
        "claude", assistant(call("Bash", command="pytest")), result("Exit code 2\n1 failed", error=True)
    )
    assert (failed.steps[0].state, failed.steps[0].code) == ("failed", 2)
    assert failed.commands.last_exit_code == 2


def test_claude_stops_at_its_cap() -> None:
    line = {"type": "result", "subtype": "error_max_budget_usd", "is_error": True, "total_cost_usd": 1.02}
    stream = fed("claude", line)
    assert stream.over_budget
    assert (stream.usage.cost, stream.final_event) == (1.02, "result")


def test_claude_thinks_plans_and_delegates() -> None:
    stream = fed(
        "claude",
        assistant({"type": "thinking", "thinking": "Hm."}),
        assistant(call("TodoWrite", todos=[{"content": "a"}, {"content": "b"}])),
        assistant(call("Grep", "t2", pattern="x", path="app/")),
        assistant({"type": "text", "text": "Below."}, parent_tool_use_id="t9"),
    )
    assert [(each.verb, each.what, each.nested) for each in stream.steps] == [
        ("think", "Hm.", False),
        ("plan", "a; b", False),
        ("search", "x", False),
        ("say", "Below.", True),
    ]


def test_codex_tells_of_files_and_of_what_was_declined() -> None:
    stream = fed(
        "codex",
        {
            "type": "item.completed",
            "item": {
                "id": "1",
                "type": "file_change",
                "changes": [{"path": "a", "kind": "add"}],
                "status": "completed",
            },
        },
        {
            "type": "item.completed",
            "item": {"id": "2", "type": "command_execution", "command": "rm x", "status": "declined"},
        },
    )
    assert [(each.kind, each.verb, each.what, each.state) for each in stream.steps] == [
        ("edit", "write", "a", "done"),
        ("command", "run", "rm x", "denied"),
    ]
    assert stream.commands.denied == 1


def test_codex_waits_for_the_network_without_counting() -> None:
    """As version 0.169.0 says it where nothing listens at the address of its model."""
    waits = "Reconnecting... waiting for network (Connection failed: error sending request)"
    stream = fed("codex", *({"type": "error", "message": waits} for _n in range(3)))
    assert (stream.retries, stream.provider_down, len(stream.steps)) == (3, True, 1)


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("/bin/bash -lc 'make test'", "make test"),
        ("/bin/bash -lc 'unbalanced", "/bin/bash -lc 'unbalanced"),
        ("git status", "git status"),
    ],
)
def test_codex_commands_are_shown_without_their_shell(command: str, shown: str) -> None:
    assert command_without_shell(command) == shown


def test_gemini_says_a_text_in_pieces() -> None:
    piece = {"type": "message", "role": "assistant", "delta": True}
    stream = fed("gemini", {**piece, "content": "I made "}, {**piece, "content": "it."})
    assert [each.what for each in stream.steps] == ["I made it."]
    assert stream.claim == "I made it."


def test_a_reader_that_keeps_few_steps_counts_all() -> None:
    lines = []
    for n in range(50):
        lines += [assistant(call("Bash", str(n), command=f"c{n}")), result("", identity=str(n))]
    stream = fed("claude", *lines, keep=3)
    assert [each.what for each in stream.steps] == ["c47", "c48", "c49"]
    assert (stream.dropped, stream.commands.run) == (47, 50)


def test_lines_that_are_not_known_stay_log() -> None:
    for dialect in STREAMS:
        stream = fed(dialect, {"type": "no-such-type"}, {"no": "type"})
        stream.feed("Some words.")
        assert (stream.steps, stream.unread) == ([], 3)


def test_a_line_that_the_log_cut_is_read_whole() -> None:
    line = json.dumps(assistant({"type": "text", "text": "a" * 1000}))
    pieces = [line[at : at + 100] for at in range(0, len(line), 100)]
    lines = [Line(n, 1.0, text) for n, text in enumerate(["note", *pieces, "{" + "b" * 99, "c"], 1)]
    assert [text for text, _, _ in join_pieces(lines, 100)] == ["note", line, "{" + "b" * 99 + "c"]
    assert read_stream(PRESETS["claude"], lines, 100).steps[0].what == "a" * 1000


WORDS = sorted(
    {word for name in NAMES for line in recorded(name) for word in json.loads(line) if len(word) < 30}
    | {
        "item",
        "content",
        "message",
        "usage",
        "state",
        "status",
        "changes",
        "id",
        "tool_use",
        "tool_result",
        "text",
    }
)
TYPES = st.sampled_from(
    sorted({name for dialect in STREAMS for name in STREAMS[dialect]().handlers_by_type()})
)
LEAF = st.one_of(
    *(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8)),
    st.sampled_from(
        ["completed", "failed", "error", "assistant", "command_execution", "api_retry", "init", "x"]
    ),
)
JSON = st.recursive(
    LEAF,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(WORDS), inner, max_size=5)
    ),
    max_leaves=12,
)


@settings(max_examples=60, deadline=None)
@given(lines=st.lists(st.tuples(TYPES, JSON), max_size=8))
def test_no_json_makes_a_reader_raise(lines: list[tuple[str, Any]]) -> None:
    for preset in TABLE:
        stream = STREAMS[preset.dialect](keep=2)
        for kind, value in lines:
            fields = value if isinstance(value, dict) else {"message": value, "item": value}
            stream.feed(json.dumps({**fields, "type": kind}))
        read_facts(agent_facts(preset, stream), "facts")


@pytest.mark.parametrize(
    "line",
    [
        '{"type": "assistant", "message": ' + "[" * 100_000,
        '{"type": "result", "total_cost_usd": NaN, "usage": {"input_tokens": 1e999}}',
        '{"type": "result", "usage": {"input_tokens": ' + "9" * 5000 + "}}",
        '{"type": ["result"], "type": {}}',
        "{" * 10,
        "\x00\ud800",
        '{"type": "error", "error": {"data": "x"}, "message": 7}',
    ],
)
def test_no_line_makes_a_reader_raise(line: str) -> None:
    for dialect in STREAMS:
        stream = STREAMS[dialect]()
        stream.feed(line)
        assert stream.usage.cost is None


@pytest.mark.parametrize("name", NAMES)
def test_pieces_of_recordings_in_any_order_do_not_raise(name: str) -> None:
    lines = [part for line in recorded(name) for part in (line, line[: len(line) // 2], line[1:])]
    for dialect in STREAMS:
        stream = STREAMS[dialect]()
        for line in (*reversed(lines), *lines):
            stream.feed(line)
