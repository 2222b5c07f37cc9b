"""The routing law read twice: `decide`, and an interpreter that knows only the sentences, say the same.

A difference is one side's mistake or a sentence with two readings; either way it is found here, with its seed.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections import Counter
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from pipelines.routing.decide.decide import decide
from pipelines.routing.decide.situation import read_situation
from pipelines.routing.document.line import ParsedLine, read_line
from tests.routing import interpreter
from tests.routing.interpreter import decide as second_reading
from tests.routing.interpreter.generator import case, line_with
from tests.routing.interpreter.table import CASES
from tests.routing.interpreter.walks import walk
from tests.waiting import LONG

Json = dict[str, Any]

BLOCK = 100
DECISIONS = {"move", "finish", "wait", "ask", "escalate", "stuck"}


def plain(decision: Json) -> Json:
    """A decision without its trace and without the words of a message, as JSON has it."""
    said = {key: value for key, value in decision.items() if key not in ("trace", "message")}
    normal: Json = json.loads(json.dumps(said, default=float))
    return normal


def first_reading(document: Json, situation: Json) -> Json:
    """What the product decides."""
    line = _line(json.dumps(document))
    return plain(decide(line, read_situation(situation)).to_dict())


@lru_cache(maxsize=2)
def _line(document: str) -> ParsedLine:
    return read_line(json.loads(document), keep_faulty_rules=True)


def differences(seeds: range) -> list[str]:
    """Each seed whose case the two readings decide differently, with both decisions."""
    found = []
    for seed in seeds:
        document, situation = case(seed)
        first, second = first_reading(document, situation), plain(second_reading(document, situation))
        if first != second:
            found.append(f"seed {seed}: decide says {first}, the second reading {second}")
    return found


by_hand = pytest.mark.parametrize(
    ("document", "situation", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)


@by_hand
def test_the_second_reading_decides_what_the_sentences_demand(
    document: Json, situation: Json, expected: Json
) -> None:
    assert second_reading(document, situation) == expected


@by_hand
def test_the_product_decides_what_the_sentences_demand(
    document: Json, situation: Json, expected: Json
) -> None:
    assert first_reading(document, situation) == expected


@pytest.mark.parametrize("block", range(6))
def test_both_readings_decide_alike(block: int) -> None:
    assert differences(range(block * BLOCK, (block + 1) * BLOCK)) == []


@pytest.mark.soak
def test_both_readings_decide_ten_thousand_cases_alike() -> None:
    assert differences(range(10_000)) == []


def both_say(document: Json, situation: Json) -> Json:
    """The decision of both. Raises AssertionError where they differ."""
    first, second = first_reading(document, situation), plain(second_reading(document, situation))
    assert first == second, situation
    return first


def walked(seeds: range) -> Counter[str]:
    """Whole ways along lines, decided by both at every step; how many decisions of each kind there were."""
    counted: Counter[str] = Counter()

    def decided(document: Json, situation: Json) -> Json:
        decision = both_say(document, situation)
        counted["with counts that grew"] += max(situation["facts"]["visits"].values()) > 1
        counted[decision["decision"]] += 1
        return decision

    for seed in seeds:
        steps = walk(seed, decided)
        counted["ways of ten decisions or more"] += steps >= 10
    return counted


@pytest.mark.parametrize("ways", [200, pytest.param(500, marks=pytest.mark.wide)])
def test_both_readings_go_the_same_ways(ways: int) -> None:
    counted = walked(range(ways))

    assert counted.keys() >= DECISIONS
    assert min(counted[kind] for kind in DECISIONS) >= ways // 100
    assert counted["with counts that grew"] >= ways
    assert counted["ways of ten decisions or more"] >= ways // 17


@pytest.mark.soak
def test_both_readings_go_ten_thousand_ways_alike(capsys: pytest.CaptureFixture[str]) -> None:
    counted = walked(range(10_000))

    with capsys.disabled():
        print("\n" + ", ".join(f"{count:,} {what}" for what, count in sorted(counted.items())))


def test_the_second_reading_knows_nothing_of_the_product() -> None:
    """Not of `routing`, nor of anything else but itself and libraries: RE2, and the parser of JSONPath."""
    libraries = {*sys.stdlib_module_names, "re2", "jsonpath_rfc9535"}
    for path in Path(interpreter.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module or ""]
            roots = {name.split(".")[0] for name in names}
            assert roots <= libraries, (path, roots)


def test_the_drawn_cases_reach_every_kind_of_decision_often() -> None:
    counted = Counter(second_reading(*case(seed))["decision"] for seed in range(10 * BLOCK))

    assert set(counted) == DECISIONS
    assert min(counted.values()) >= 10


def test_the_command_line_tool_decides_like_the_second_reading(tmp_path: Path) -> None:
    document, situations = line_with(seed=190, count=60)
    path = tmp_path / "line.json"
    path.write_text(json.dumps(document))

    done = subprocess.run(
        [sys.executable, "-m", "pipelines.routing", "decide", str(path)],
        input="".join(json.dumps(situation) + "\n" for situation in situations),
        capture_output=True,
        text=True,
        check=True,
        timeout=LONG,
    )

    answers = [plain(json.loads(line)) for line in done.stdout.splitlines()]
    assert answers == [plain(second_reading(document, situation)) for situation in situations]
    assert len({json.dumps(answer) for answer in answers}) > 20
