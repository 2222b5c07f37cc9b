"""Django beyond its documentation is used in one file, which `.ci/next-django` tries with the next version."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / "pipelines/models/plumbing/django_internals.py"
PRIVATE = re.compile(
    r"klass_info|_iterable_class|get_related_populators|ModelState|fields_cache|_result_cache|_prefetch_done"
    r"|_prefetched_objects_cache|queries_logged|execute_wrappers|wrap_database_errors|_prefetch_related_lookups"
    r"|_fetch_mode|alias_map|get_compiler|models\.query import (?!QuerySet)|sql\.datastructures"
)


def uses(text: str) -> list[str]:
    return PRIVATE.findall(text)


def test_no_other_file_uses_it() -> None:
    files = [file for room in ("pipelines", "reviews", "config") for file in (ROOT / room).rglob("*.py")]
    assert HERE in files
    assert [str(file.relative_to(ROOT)) for file in files if file != HERE and uses(file.read_text())] == []


@pytest.mark.parametrize("text", ["rows._result_cache", "from django.db.models.base import ModelState"])
def test_a_use_is_seen(text: str) -> None:
    assert uses(text)
