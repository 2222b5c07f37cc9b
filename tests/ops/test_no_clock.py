"""No test depends on the machine's speed: it waits for what it waits for, with one generous limit, in one place
(tests/waiting.py), and reads no clock. What a test gives to another process as a program is text and may sleep."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
WAITS = TESTS / "waiting.py"
# Programs of another process.
APART = ("work/hostile", "emptying")
READS_A_CLOCK = {"time.sleep", "time.monotonic", "time.perf_counter", "time.time", "asyncio.sleep"}
WAITS_FOR_NOTHING = {"wait_for_timeout", "receive_nothing"}
TAKES_A_LIMIT = {"wait", "join", "wait_for", "result", "wait_until_sent", "timeout", "set_default_timeout"}
"""As its last argument, named or not."""
NAMED = ("to_", "not_to_", "receive_", "expect_", "urlopen", "connect", "communicate", "run")
"""Calls with `timeout=`."""


def faults(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            yield from _of_call(node, ast.unparse(node.func))
        elif isinstance(node, ast.keyword) and node.arg == "deadline" and ast.unparse(node.value) != "None":
            yield f"{node.value.lineno}: deadline: how long an example takes says something about the machine"
        elif isinstance(node, ast.ImportFrom):
            for each in node.names:
                if f"{node.module}.{each.name}" in READS_A_CLOCK:
                    yield f"{node.lineno}: {each.name}: {REMEDY}"


REMEDY = "wait for what comes about, with tests.waiting.until"


def _of_call(node: ast.Call, name: str) -> Iterator[str]:
    last = name.rpartition(".")[2]
    if name in READS_A_CLOCK or last in WAITS_FOR_NOTHING:
        yield f"{node.lineno}: {name}: {REMEDY}"
        return
    given = [each.value for each in node.keywords if each.arg == "timeout"]
    if last in TAKES_A_LIMIT:
        given += node.args[-1:]
    elif not last.startswith(NAMED):
        return
    if any(map(_is_short, given)):
        yield f"{node.lineno}: {name}: the limit of a wait is tests.waiting.LONG"


def _is_short(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


FILES = [
    path
    for path in sorted(TESTS.rglob("*.py"))
    if path != WAITS and not str(path.relative_to(TESTS)).startswith(APART)
]


def test_no_test_reads_the_clock_of_the_machine() -> None:
    found = [f"{path.relative_to(TESTS)}:{fault}" for path in FILES for fault in faults(path.read_text())]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "source",
    [
        "time.sleep(1)",
        "from time import sleep",
        "await asyncio.sleep(0.1)",
        "page.wait_for_timeout(300)",
        "await socket.receive_nothing(timeout=0.4)",
        "assert time.monotonic() - began < 5",
        "process.wait(10)",
        "thread.join(timeout=30)",
        "await asyncio.wait_for(layer.receive(channel), 5)",
        "expect(page.locator('p')).to_be_visible(timeout=20_000)",
        "settings(max_examples=5, deadline=200)",
    ],
)
def test_it_finds(source: str) -> None:
    assert list(faults(source))


@pytest.mark.parametrize(
    "source",
    [
        "until(mark.exists)",
        "process.wait(LONG)",
        "thread.join()",
        "' '.join(words)",
        "run('import time; time.sleep(600)')",
        "settings(max_examples=5, deadline=None)",
        "expect(page.locator('p')).to_have_count(3)",
    ],
)
def test_it_lets_pass(source: str) -> None:
    assert not list(faults(source))
