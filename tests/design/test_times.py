"""One format for times, said twice: by the server in Python, and by the page while it ticks."""

from __future__ import annotations

import json
import shutil
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from pipelines.templatetags.gateline import NBSP, duration, relative
from tests.design.colours import ROOT

CASES = json.loads(Path(__file__).with_name("durations.json").read_text("utf-8"))
RUN = """
import { readFileSync } from "node:fs";
import { transformWithOxc } from "vite";
const source = readFileSync("static/ts/time.ts", "utf8");
const { code } = await transformWithOxc(source, "time.ts");
const time = await import("data:text/javascript," + encodeURIComponent(code));
const said = { now: "now", ago: "%s ago", ahead: "in %s" };
const say = (name, inserted) => said[name].replace("%s", inserted);
const cases = JSON.parse(readFileSync(process.argv[1], "utf8"));
console.log(JSON.stringify({
  durations: cases.durations.map(([value]) => time.duration(value)),
  ages: cases.ages.map(([value]) => time.relative(value, say)),
}));
"""


@pytest.mark.parametrize(("seconds", "said"), CASES["durations"])
def test_a_duration_has_two_units_at_most(seconds: float, said: str) -> None:
    assert duration(seconds).replace(NBSP, " ") == said
    assert duration(timedelta(seconds=seconds)).replace(NBSP, " ") == said


@pytest.mark.parametrize(("ahead", "said"), CASES["ages"])
def test_an_age_says_its_direction(ahead: float, said: str) -> None:
    now = datetime(2025, 1, 1, tzinfo=UTC)
    assert relative(now + timedelta(seconds=ahead), now).replace(NBSP, " ") == said


def test_nothing_is_said_of_no_time() -> None:
    assert (duration(None), relative(None)) == ("", "")


@pytest.mark.skipif(
    not (ROOT / "node_modules/vite").is_dir(), reason="the front end is not installed: run npm ci"
)
def test_the_page_ticks_in_the_words_of_the_server() -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node on PATH")
    words = [node, "--input-type=module", "--eval", RUN, str(Path(__file__).with_name("durations.json"))]
    answer = json.loads(subprocess.run(words, cwd=ROOT, capture_output=True, check=True, text=True).stdout)
    said = {kind: [text.replace(NBSP, " ") for text in texts] for kind, texts in answer.items()}
    assert said == {kind: [text for _, text in pairs] for kind, pairs in CASES.items()}
