"""SQL of a room stands in one module of that room; `models/plumbing` alone sends it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
APPS = ("pipelines", "reviews")
MODULES = {
    *(f"pipelines/{room}/statements.py" for room in ("engine", "people", "ports", "queries", "web", "work")),
    "reviews/insights/statements.py",
    "reviews/models/statements.py",
}
PLUMBING = "pipelines/models/plumbing/"
SQL = re.compile(
    r"\b(SELECT|INSERT INTO|DELETE FROM|JOIN|RETURNING|ON CONFLICT|FOR UPDATE|ORDER BY|GROUP BY|UNION|COALESCE)\b"
    r"|\b(LISTEN|NOTIFY|TRUNCATE|VACUUM|SET LOCAL|SET TRANSACTION|IS NULL|IS NOT NULL|NOT EXISTS|FROM \w+_\w+)\b"
    r"|^\s*(UPDATE|WITH|WHERE|AND|LOCK|SHOW) \w+|= ANY\(|%s::|[=<>] %s\b|\bpg_\w+\(|clock_timestamp\("
    r"|::(bigint|text|uuid)\b"
)
WAYS_AROUND = re.compile(r"\bRawSQL\b|objects\.raw\(|\.extra\(|connection\.cursor\(")


def texts(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of each string that is no docstring; of one with values, its fixed parts."""
    documentation = {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in documentation:
            yield node.lineno, node.value


def statements(source: str) -> list[int]:
    """Return the lines with SQL."""
    raw = [number for number, line in enumerate(source.splitlines(), 1) if WAYS_AROUND.search(line)]
    return sorted({*raw, *(line for line, text in texts(ast.parse(source)) if SQL.search(text))})


def test_no_other_module_has_sql() -> None:
    files = {str(file.relative_to(ROOT)): file for app in APPS for file in (ROOT / app).rglob("*.py")}
    assert set(files) >= MODULES
    others = {
        name: file
        for name, file in files.items()
        if name not in MODULES and not name.startswith(PLUMBING) and "/migrations/" not in name
    }
    found = {name: lines for name, file in others.items() if (lines := statements(file.read_text()))}
    assert found == {}, "move it to the statements of its room, and import it from there"


@pytest.mark.parametrize("module", sorted(MODULES))
def test_a_module_of_statements_has_nothing_else(module: str) -> None:
    source = (ROOT / module).read_text()
    assert statements(source)
    kinds = {type(node) for node in ast.parse(source).body}
    assert kinds <= {ast.Expr, ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign}


@pytest.mark.parametrize(
    "source",
    [
        'cursor.execute("SELECT 1")',
        "TAKE = 'DELETE FROM pipelines_due WHERE id = %s'",
        "rows = f'''UPDATE pipelines_due SET due_at = {when}'''",
        "which = 'job.project_id = %s'",
        "Task.objects.extra(where=[which])",
        "with connection.cursor() as cursor: pass",
        "from django.db.models.expressions import RawSQL",
    ],
)
def test_sql_is_seen(source: str) -> None:
    assert statements(source)


@pytest.mark.parametrize(
    "source", ['"""Select rows FROM a table."""', 'hint = "Update the runner, and start it."']
)
def test_other_texts_are_not_sql(source: str) -> None:
    assert not statements(source)
