"""Titles, labels and numbers are looked up in an index of their own, which finds what reading every title found."""

from __future__ import annotations

from importlib import import_module

import pytest
from django.db import connection
from django.db.models import Q

from pipelines.models import Task, TaskText
from pipelines.queries.tasks import matching
from tests.factories import World

pytestmark = pytest.mark.django_db

TITLES = (
    "Raise the limit",
    "Fix ABC-123: totals are 100% off",
    "Straße_neu prüfen",
    "日本語の題名",
    'a\\b\'s "quotes"',
    "It",
)
LATIN = ("limit", "LIMIT", "he li", "it", "I", "abc-123", "ABC-12", "0%", "%", "_", "inf", "limits", "12")
OTHERS = (
    "STRASSE",
    "straße_",
    "ß",
    "PRÜ",
    "日本",
    "本語の",
    "\\b",
    "b's",
    '"quotes"',
    "infra",
    "INFRA",
    " ",
    "  ",
)


def found(words: str) -> set[int]:
    return set(Task.objects.filter(matching(words)).values_list("pk", flat=True))


def test_the_index_finds_what_reading_every_title_found(world: World) -> None:
    version = world.line()
    tasks = [world.start(version, title=title, labels=["infra"][: n % 2]) for n, title in enumerate(TITLES)]
    for words in (
        *LATIN,
        *OTHERS,
        *(task.name for task in tasks),
        str(tasks[0].number),
        "999999999999999999",
    ):
        number = words.rpartition("-")[2]
        read = Q(title__icontains=words) | Q(labels__contains=[words])
        if number.isascii() and number.isdigit():
            read |= Q(number=int(number))
        assert found(words) == set(Task.objects.filter(read).values_list("pk", flat=True)), words
    assert found("ABC-123") == {tasks[1].pk} and found("it") == {tasks[0].pk, tasks[5].pk}


def test_a_changed_title_is_found_and_a_deleted_task_leaves_nothing(world: World) -> None:
    task = world.start(world.line(), title="Raise the limit")
    Task.objects.filter(pk=task.pk).update(title="Lower the roof", labels=["urgent"])
    assert found("roof") == found("urgent") == {task.pk} and not found("limit")
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM pipelines_tasktext")
    Task.objects.filter(pk=task.pk).update(title="Lower the roof")
    assert not TaskText.objects.exists(), "what stays the same is not written"


def test_a_move_does_not_write_the_text(world: World) -> None:
    task = world.start(world.line(), title="Raise the limit")
    before = written()
    world.report(task)
    assert written() == before


def written() -> list[tuple[str, str]]:
    """Where the rows of texts lie, which a writer changes."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT ctid::text, xmin::text FROM pipelines_tasktext ORDER BY task_id")
        return list(cursor.fetchall())


def test_a_search_reads_by_the_index(world: World) -> None:
    world.start(world.line())
    with connection.cursor() as cursor:
        # A table of one row is read by anything rather than by this index.
        cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_indexscan = off")
        for words in ("limit", "it", "WI-app-42"):
            plan = Task.objects.filter(matching(words)).explain(format="json")
            assert "task_text_grams" in plan, words


def test_updating_writes_the_texts_of_the_tasks_there_are(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = world.line()
    tasks = {world.start(version, title=title).pk for title in TITLES}
    kept = dict(TaskText.objects.values_list("task", "text"))
    assert kept.keys() == tasks
    TaskText.objects.exclude(pk=min(tasks)).delete()
    migration = import_module("pipelines.migrations.0156_task_text_index")
    monkeypatch.setattr(migration, "STEP", 2)
    with connection.schema_editor(atomic=False) as editor:
        migration.fill(None, editor)
    assert dict(TaskText.objects.values_list("task", "text")) == kept
