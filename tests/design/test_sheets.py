"""The style sheets of all pages are one sheet: what two files call by one class gets the rules of both."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings

SHEETS = Path(settings.BASE_DIR, "static/css")
ALONE = re.compile(r"\.[\w-]+")


def rules(text: str) -> Iterator[list[str]]:
    """The heads of every block, from the outermost in; those of layers left out, for all blocks have one."""
    heads: list[str] = []
    head = ""
    for sign in re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL):
        if sign == "{":
            heads.append(head.strip())
            yield [each for each in heads if not each.startswith("@layer")]
        elif sign == "}":
            heads.pop()
        head = "" if sign in "{};" else head + sign


def defined(text: str) -> set[str]:
    """Classes with a block of their own, that counts wherever they are used."""
    alone = (heads[0] for heads in rules(text) if len(heads) == 1)
    selectors = (each.strip() for head in alone for each in re.split(r",(?![^()]*\))", head))
    return {each for each in selectors if ALONE.fullmatch(each)}


def test_a_class_is_defined_in_one_sheet_only() -> None:
    sheets = defaultdict(list)
    for path in sorted(SHEETS.rglob("*.css")):
        for name in defined(path.read_text()):
            sheets[name].append(path.name)
    assert len(sheets) > 300
    assert {name: paths for name, paths in sheets.items() if len(paths) > 1} == {}
