"""The law is in `docs/law`: whatever cites a section of it names one that is there."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LAW = ROOT / "docs/law"
ROOMS = ("config", "pipelines", "reviews", "tests", "proof", "docs", "templates", "static")
ENDINGS = {".py", ".md", ".html", ".ts", ".tsx", ".css", ".yaml"}
BUILT = {"dist", "node_modules", "__pycache__"}

HEADING = re.compile(r"^## (\d+a?)\. ", re.MULTILINE)
CITATION = re.compile(r"\b(law|house) §§? ?(\d+a?)", re.IGNORECASE)
DIALECT = re.compile(r"\bdialects? ([A-E])(\d+)?\b")
ELSEWHERE = re.compile(r"\b(?:semantics|screens|stack|language|dialects)(?:\.md)? §", re.IGNORECASE)


@cache
def _sources() -> dict[Path, str]:
    found = (path for room in ROOMS for path in (ROOT / room).rglob("*") if path.suffix in ENDINGS)
    return {path: path.read_text("utf-8") for path in found if not BUILT & set(path.parts)}


@cache
def _sections() -> dict[str, set[str]]:
    pages = {page.name: set(HEADING.findall(page.read_text("utf-8"))) for page in LAW.glob("*.md")}
    return {"house": pages.pop("house.md"), "law": set().union(*pages.values())}


def test_the_law_has_each_of_its_sections_once() -> None:
    numbers = [n for page in LAW.glob("[0-9]*.md") for n in HEADING.findall(page.read_text("utf-8"))]
    assert sorted(numbers, key=lambda n: (int(n.rstrip("a")), n)) == [
        *[
            "1",
            "2",
            "3",
            "4",
            "5",
            "6",
            "7",
            "8",
            "8a",
            "9",
            "10",
            "11",
            "12",
            "13",
            "14",
            "15",
            "16",
            "17",
            "18",
        ]
    ]
    assert _sections()["house"] == set("123456")


@pytest.mark.parametrize("book", ["law", "house"])
def test_each_cited_section_exists(book: str) -> None:
    cited = {
        (path.relative_to(ROOT).as_posix(), number)
        for path, text in _sources().items()
        for name, number in CITATION.findall(text)
        if name.lower() == book
    }
    assert len(cited) > 50, "Hardly anything is cited: is the pattern still that of the citations?"
    assert [place for place in sorted(cited) if place[1] not in _sections()[book]] == []


def test_each_cited_behaviour_of_a_dialect_exists() -> None:
    ledger = (ROOT / "docs/dialects.md").read_text("utf-8")
    known = set(re.findall(r"^\| ([A-E]\d+) \|", ledger, re.MULTILINE)) | set("ABCDE")
    cited = {letter + number for text in _sources().values() for letter, number in DIALECT.findall(text)}
    assert cited - known == set()


def test_nothing_cites_a_page_outside_the_repository() -> None:
    here = Path(__file__)
    strays = [
        path.relative_to(ROOT).as_posix() for path, text in _sources().items() if ELSEWHERE.search(text)
    ]
    assert strays in ([], [here.relative_to(ROOT).as_posix()])
