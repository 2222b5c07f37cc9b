"""Every evidence reader by the kind that an artifact declares (`artifacts[].kind`): one file and one line each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from pipelines.formats.evidence.readers import cobertura, image, junit, lcov, lint, markdown, sarif, tables
from pipelines.formats.evidence.readers.report import ReadReport

Reader = Callable[[bytes], ReadReport]
READERS: Final[Mapping[str, Reader]] = {
    junit.KIND: junit.read,
    sarif.KIND: sarif.read,
    lint.KIND: lint.read,
    cobertura.KIND: cobertura.read,
    lcov.KIND: lcov.read,
    markdown.KIND: markdown.read,
    image.KIND: image.read,
    tables.KIND: tables.read,
}
"""`file` has no reader: it is a download."""
ENDINGS: Final = (
    (".sarif", "sarif"),
    (".sarif.json", "sarif"),
    ("junit.xml", "junit"),
    ("lcov.info", "lcov"),
    ("cobertura.xml", "cobertura"),
    (".md", "markdown"),
    (".csv", "table"),
    (".tsv", "table"),
    (".png", "image"),
    (".jpg", "image"),
    (".jpeg", "image"),
    (".gif", "image"),
    (".webp", "image"),
)


def kind_by_name(name: str) -> str:
    """Return the kind under which an artifact without a declared kind is displayed; "" for a download. Never
    a source of facts."""
    lower = name.lower()
    return next((kind for ending, kind in ENDINGS if lower.endswith(ending)), "")


def merge_facts(reports: Iterable[ReadReport]) -> dict[str, dict[str, float]]:
    """The facts of several reports: counts are summed; of coverage the smallest share counts."""
    merged: dict[str, dict[str, float]] = {}
    for report in reports:
        for group, members in report.facts.items():
            group_values = merged.setdefault(group, {})
            for key, value in members.items():
                if group == "coverage":
                    # A share cannot be summed, and of several the worst is what can be relied on
                    group_values[key] = min(group_values.get(key, value), value)
                else:
                    group_values[key] = group_values.get(key, 0) + value
    return merged
