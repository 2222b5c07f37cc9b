"""Colours of code: what is coloured in each family of languages, and that no file makes it slow."""

from __future__ import annotations

import time

import pytest

from pipelines.formats.evidence.trees.syntax import MOST_CHARACTERS, colour_spans


def coloured(path: str, text: str) -> list[list[tuple[str, str]]]:
    lines = text.split("\n")
    return [
        [(line[start:end], kind) for start, end, kind in row]
        for line, row in zip(lines, colour_spans(path, lines), strict=True)
    ]


@pytest.mark.parametrize(
    ("path", "line", "expected"),
    [
        (
            "a.py",
            "    def allow(ip): return f'{ip}' # x",
            [
                ("def", "keyword"),
                ("allow", "name"),
                ("return", "keyword"),
                ("f'{ip}'", "string"),
                ("# x", "comment"),
            ],
        ),
        ("a.py", "@cache", [("@cache", "name")]),
        ("a.ts", "const a = `b`; // c", [("const", "keyword"), ("`b`", "string"), ("// c", "comment")]),
        (
            "a.rs",
            "fn f(a: &'static str) -> 1",
            [("fn", "keyword"), ("f", "name"), ("static", "keyword"), ("1", "number")],
        ),
        (
            "a.go",
            "func (s) x() { return nil }",
            [("func", "keyword"), ("return", "keyword"), ("nil", "keyword")],
        ),
        ("Makefile", "test: # all", [(" # all", "comment")]),
        ("a.sh", "if x; then echo $Y", [("if", "keyword"), ("then", "keyword"), ("$Y", "name")]),
        ("a.yaml", "- key: it's 1", [("key", "name"), ("1", "number")]),
        ("a.toml", 'name = "x"', [("name", "name"), ('"x"', "string")]),
        ("a.json", '{"a": [true, -1]}', [('"a"', "name"), ("true", "keyword"), ("-1", "number")]),
        ("a.html", '<a href="x">{% if y %}', [("a", "name"), ('"x"', "string"), ("if", "keyword")]),
        (
            "a.css",
            "color: #fff !important",
            [("color", "name"), ("#fff", "number"), ("!important", "keyword")],
        ),
        ("a.sql", "SELECT a -- b", [("SELECT", "keyword"), ("-- b", "comment")]),
    ],
)
def test_parts_of_a_line_have_their_kind(path: str, line: str, expected: list[tuple[str, str]]) -> None:
    assert coloured(path, line) == [expected]


def test_a_text_of_several_lines_is_one_in_each() -> None:
    rows = coloured("a.py", 'x = """one\n\n  if two\n""" + y')
    assert rows == [[('"""one', "string")], [], [("  if two", "string")], [('"""', "string")]]
    assert coloured("a.c", "/* a\nb") == [[("/* a", "comment")], [("b", "comment")]], (
        "what nothing closes, too"
    )


def test_unknown_and_long_files_have_no_colours() -> None:
    assert colour_spans("notes.txt", ["if x"]) == ()
    assert colour_spans("a.py", ["if x" * MOST_CHARACTERS]) == ()


@pytest.mark.smoke(2)
@pytest.mark.parametrize("path", ["a.py", "a.ts", "a.sh", "a.yaml", "a.json", "a.html", "a.css", "a.sql"])
def test_no_text_is_slow(path: str) -> None:
    """Where a pattern looked at a place twice, the last of these would take minutes."""
    units = ["/*", "'", "`", "<!--", '"""', "{#", '="', "a-", "- ", "\\", " "]
    began = time.process_time()
    for unit in units:
        text = (unit * MOST_CHARACTERS)[: MOST_CHARACTERS - 10]
        colour_spans(path, [text])
    assert time.process_time() - began < 10
