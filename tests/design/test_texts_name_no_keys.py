"""What people read has names: no text of the product says a key of the document, but for those named here."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

TOP = Path(__file__).parents[2]
KEY = re.compile(r"\b[a-z]+_[a-z_]+\b")
PLACE = re.compile(r"%\(\w+\)[sd]|\{[^{}]*\}")
SENTENCE = re.compile(r"[A-Z“][^\n]*?\w+ \w+ [^\n]*[.?!…]$", re.DOTALL)
TYPED = (
    "manage.py ",
    "run_scenarios",
    "Comma-separated: station_gate",
    "A list of tests of its arguments",
    "?based_on=",
)
"""Commands, and what somebody types into this very field or address."""
OF_OTHER_SYSTEMS = ("condition_type", "condition_value", "check_output_key", "timing.duration_sec")
"""Keys of their documents, in what is said about reading one."""
PYTHON = (
    "pipelines/web",
    "pipelines/queries",
    "pipelines/people",
    "pipelines/lines",
    "pipelines/engine",
    "reviews",
)


def test_no_text_of_a_page_says_a_key() -> None:
    sentences = [sentence for source in (_python(), _templates(), _scripts()) for sentence in source]
    assert len(sentences) > 1500
    assert [
        sentence
        for sentence in sentences
        if KEY.search(PLACE.sub("", sentence))
        and not any(word in sentence for word in (*TYPED, *OF_OTHER_SYSTEMS))
    ] == []


def _python() -> Iterator[str]:
    for folder in PYTHON:
        for path in sorted((TOP / folder).rglob("*.py")):
            tree = ast.parse(path.read_text())
            docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
            parts = {
                id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values
            }
            for node in ast.walk(tree):
                if id(node) in docstrings or id(node) in parts:
                    continue
                text = _text(node)
                if text and SENTENCE.match(text):
                    yield text


def _text(node: ast.AST) -> str:
    """A constant text, or one with places."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    return ""


def _templates() -> Iterator[str]:
    """Lines of text between tags, and titles, labels and helps."""
    for path in sorted((TOP / "templates").rglob("*.html")):
        if "design" in path.parts:
            continue  # examples of components
        source = re.sub(r"\{% comment.*?endcomment %\}", "", path.read_text(), flags=re.DOTALL)
        source = re.sub(r"\{%.*?%\}|\{#.*?#\}", "", source, flags=re.DOTALL)
        source = re.sub(r"\{\{.*?\}\}", "{}", source, flags=re.DOTALL)
        source = re.sub(r"<(script|style|code|pre)\b.*?</\1>", "", source, flags=re.DOTALL)
        yield from re.findall(r'\b(?:title|label|help|hint|placeholder|aria-label|note)="([^"]+)"', source)
        yield from (
            line.strip() for line in re.sub(r"<[^>]*>", "\n", source).splitlines() if " " in line.strip()
        )


def _scripts() -> Iterator[str]:
    """The rows of the tables of words."""
    for path in sorted((TOP / "static").glob("ts/*words.ts")) + [TOP / "static/editor/shell/words.ts"]:
        yield from re.findall(r'"((?:[^"\\\n]|\\.)* (?:[^"\\\n]|\\.)*)"', path.read_text())
