"""What is refused is said in the language of whoever asked: no refusal is made of a bare English text."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

TOP = Path(__file__).parents[2]
# The heart and the formats have a catalogue of their own; commands and the stations of the demo speak English.
ELSEWHERE = ("routing", "formats", "demo", "management", "migrations")
# Where the words begin: before them stands the place that they are about.
WORDS_FROM = {"Conflict": 0, "Forbidden": 0, "NotFound": 0, "Refused": 0, "Problem": 1, "Invalid.at": 1}


def _files() -> Iterator[Path]:
    yield from sorted((TOP / "reviews").rglob("*.py"))
    for path in sorted((TOP / "pipelines").rglob("*.py")):
        if path.relative_to(TOP / "pipelines").parts[0] not in ELSEWHERE:
            yield path


def _bare(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in WORDS_FROM:
            for given in node.args[WORDS_FROM[ast.unparse(node.func)] :]:
                if any(map(_is_bare, _either(given))):
                    yield f"{path.relative_to(TOP)}:{node.lineno}: {ast.unparse(given)}"


def _either(given: ast.expr) -> list[ast.expr]:
    if isinstance(given, ast.IfExp):
        return [*_either(given.body), *_either(given.orelse)]
    return (
        [each for value in given.values for each in _either(value)]
        if isinstance(given, ast.BoolOp)
        else [given]
    )


def _is_bare(given: ast.expr) -> bool:
    """Of a text made of parts some are the product's words."""
    if isinstance(given, ast.JoinedStr):
        return any(isinstance(part, ast.Constant) and str(part.value).strip(" .:;") for part in given.values)
    return isinstance(given, ast.Constant) and bool(given.value)


def test_no_refusal_is_a_bare_text() -> None:
    assert [each for path in _files() for each in _bare(path)] == []


def test_a_bare_text_is_found() -> None:
    found = [
        ast.parse(text, mode="eval").body
        for text in ('"gone"', 'f"{name} is gone"', '_("gone")', 'f"{a}: {b}"')
    ]
    assert [_is_bare(each) for each in found] == [True, True, False, False]
