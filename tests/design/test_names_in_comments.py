"""What docstrings and comments call by its name is there: a name that nobody bears any more misleads."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("config", "gateline", "pipelines", "reviews")
BESIDE = ("tests", "proof")
OTHERS = ("static/ts", "static/editor", "static/css", "templates", "docs/law")
OF_OTHERS = {
    "E1101": "a message of pylint",
    "HTTPCode": "an example of a key",
    "YYYYMMDDTHHMMSS": "a part of the name of a handoff",
    "boards": "a heading of docs/watching.md",
    "otel": "an extra of the package",
    "process_start_time_seconds": "a figure of prometheus-client",
    "smallint": "a type of PostgreSQL",
    "watching": "a page of the documentation",
}
"""Names in backticks that are not in our code."""
PROSE = re.compile(r'""".*?"""|(?:^|(?<=\s))#[ :].*?$', re.DOTALL | re.MULTILINE)
IN_BACKTICKS = re.compile(r"`([^`\s]+)`")
NAME = re.compile(r"[A-Za-z_]\w{3,}")


def test_each_name_in_backticks_is_a_name() -> None:
    sources = {path: path.read_text("utf-8") for room in ROOMS for path in (ROOT / room).rglob("*.py")}
    code = [PROSE.sub("", text) for text in sources.values()]
    code += [path.read_text("utf-8") for room in BESIDE for path in (ROOT / room).rglob("*.py")]
    code += [path.read_text("utf-8") for folder in OTHERS for path in (ROOT / folder).rglob("*.*")]
    named = {name for text in code for name in NAME.findall(text)} | OF_OTHERS.keys()
    named |= {path.stem for path in sources}
    unknown = [
        f"{path.relative_to(ROOT)}:{line}: `{words}`"
        for path, text in sorted(sources.items())
        for line, words in words_in_backticks(text)
        if any(name not in named for name in NAME.findall(words))
    ]
    assert not unknown, "\n".join(unknown)


def words_in_backticks(text: str) -> Iterator[tuple[int, str]]:
    """Yield what docstrings and comments hold in backticks, with its line."""
    for prose in PROSE.finditer(text):
        for match in IN_BACKTICKS.finditer(prose[0]):
            yield text.count("\n", 0, prose.start() + match.start()) + 1, match[1]
