"""The style sheets of all pages are one sheet: what two files call by one class gets the rules of both."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.design.colours import ROOT

SHEETS = ROOT / "static/css"
MARKUP = ("templates/**/*.html", "static/editor/**/*.tsx")
SCRIPTS = (
    "static/ts/**/*.ts",
    "static/editor/**/*.ts",
    "pipelines/**/*.py",
    "reviews/**/*.py",
    "tests/**/*.py",
)
ALONE = re.compile(r"\.[\w-]+")
CLASS = re.compile(r"\.([a-z][\w-]*)")
FOREIGN = re.compile(r"react-flow__|u-|htmx-|cm-|no(?:drag|pan|wheel)$")
"""Classes that a library gives or reads."""


def rules(text: str) -> Iterator[list[str]]:
    """The heads of every block, from the outermost in; those of layers and queries left out."""
    heads: list[str] = []
    head = ""
    for sign in re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL):
        if sign == "{":
            heads.append(head.strip())
            yield [each for each in heads if not each.startswith("@")]
        elif sign == "}":
            heads.pop()
        head = "" if sign in "{};" else head + sign


def defined(text: str) -> set[str]:
    """Classes with a block of their own, that counts wherever they are used."""
    alone = (heads[0] for heads in rules(text) if len(heads) == 1)
    selectors = (each.strip() for head in alone for each in re.split(r",(?![^()]*\))", head))
    return {each for each in selectors if ALONE.fullmatch(each)}


@cache
def styled() -> set[str]:
    """Every class that a selector names."""
    heads = (heads[-1] for path in SHEETS.rglob("*.css") for heads in rules(path.read_text("utf-8")) if heads)
    return {name for head in heads for name in CLASS.findall(head)}


def sources(*patterns: str) -> dict[Path, str]:
    return {path: path.read_text("utf-8") for pattern in patterns for path in ROOT.glob(pattern)}


def given(markup: str) -> Iterator[str]:
    """Whole names in `class` and `className`; a name of which a value is a part is none."""
    for words in re.findall(
        r'\bclass(?:Name)?="((?:\{\{.*?\}\}|\{%.*?%\}|[^"{]|\{(?![{%]))*)"', markup, re.DOTALL
    ):
        whole = re.sub(r"\{%.*?%\}", " ", words, flags=re.DOTALL)
        yield from re.sub(r"\S*\{\{.*?\}\}\S*", " ", whole, flags=re.DOTALL).split()


def test_a_class_is_defined_in_one_sheet_only() -> None:
    sheets = defaultdict(set)
    for path in sorted(SHEETS.rglob("*.css")):
        for name in defined(path.read_text("utf-8")):
            sheets[name].add(path.name)
    assert len(sheets) > 300
    assert {name: paths for name, paths in sheets.items() if len(paths) > 1} == {}


def test_a_class_of_a_page_is_styled_or_looked_for() -> None:
    markup, scripts = sources(*MARKUP), "\n".join(sources(*SCRIPTS).values())
    looked_for = CLASS.findall(scripts + "\n".join(markup.values())) + re.findall(
        r"[\"']([a-z][\w-]*)[\"']", scripts
    )
    known = styled() | set(looked_for)
    wanted = {name for text in markup.values() for name in given(text) if not FOREIGN.match(name)}
    assert len(wanted) > 500
    assert wanted - known == set()


def test_a_styled_class_is_used() -> None:
    everything = "\n".join(sources(*MARKUP, *SCRIPTS).values())
    words = set(re.findall(r"[a-z][\w-]*", everything))
    stems = tuple(re.findall(r"([a-z][\w-]*-)(?:\{\{|\$\{|\{[\w.]*\}|\{%)", everything))
    left = {name for name in styled() - words if not FOREIGN.match(name) and not name.startswith(stems)}
    assert left == set()
