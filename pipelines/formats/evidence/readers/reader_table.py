"""Every evidence reader by the kind that an artifact declares (`artifacts[].kind`): one file and one line each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from pipelines.formats.evidence.readers import cobertura, image, junit, lcov, lint, markdown, sarif, tables
from pipelines.formats.evidence.readers.report import ReadReport

Reader = Callable[[bytes], ReadReport]
READERS: Final[Mapping[str, Reader]] = {
    junit.KIND: junit.read_junit,
    sarif.KIND: sarif.read_sarif,
    lint.KIND: lint.read_lint,
    cobertura.KIND: cobertura.read_cobertura,
    lcov.KIND: lcov.read_lcov,
    markdown.KIND: markdown.read_markdown,
    image.KIND: image.read_image,
    tables.KIND: tables.read_table,
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


def display_kind_or_empty(name: str) -> str:
    """Return the kind under which an artifact without a declared kind is displayed; "" for a download. Never
    a source of facts."""
    lower = name.lower()
    return next((kind for ending, kind in ENDINGS if lower.endswith(ending)), "")


def merged_facts_with_lowest_coverage(reports: Iterable[ReadReport]) -> dict[str, dict[str, float]]:
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
