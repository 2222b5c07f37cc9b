"""Titles, labels and numbers are looked up in an index of their own, which finds what reading every title found."""

from __future__ import annotations

import pytest
from django.db import connection
from django.db.models import Q
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from pipelines.models import Task, TaskText
from pipelines.queries import task_search
from pipelines.queries import tasks as tables
from pipelines.queries.task_search import ids_of_matching_tasks, indexed_search_words_condition
from pipelines.queries.tasks import SORTS
from tests.factories import World
from tests.pages.conftest import As

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
    return set(Task.objects.filter(indexed_search_words_condition(words)).values_list("pk", flat=True))


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


ORDERS = sorted({*SORTS.values()})


@pytest.mark.parametrize("order", ORDERS, ids=" ".join)
@pytest.mark.parametrize(("first", "further"), [(1, 2), (2, 5), (3, 40), (40, 40)])
def test_the_first_that_are_found_are_those_of_reading_every_title_in_order(
    world: World, monkeypatch: pytest.MonkeyPatch, order: tuple[str, ...], first: int, further: int
) -> None:
    """However far the newest are read, and whether words are common, rare, or only in what is old."""
    monkeypatch.setattr(task_search, "FIRST", first)
    monkeypatch.setattr(task_search, "FURTHER", further)
    version, other = world.line(), world.line(key="other")
    titles = (
        "Old roof",
        "Old wall",
        "Raise the limit",
        "Raise the roof",
        "Old roof",
        *["Raise the limit"] * 4,
    )
    for number, title in enumerate(titles):
        world.start((version, other)[number % 3 == 0], title=title)
    open_ = Task.objects.filter(line=version.line, ended_at=None)
    for words in ("raise", "limit", "old", "roof", "old wall", "zebra", "e", "z"):
        for among, rows in (
            (Task.objects.all(), Task.objects.all()),
            (Task.objects.all(), open_),
            (open_, open_),
        ):
            read = rows.filter(title__icontains=words).order_by(*order).values_list("pk", flat=True)
            for most in (1, 3, 20):
                assert ids_of_matching_tasks(rows, among, words, order, most) == list(read[:most]), (
                    words,
                    most,
                )


def test_the_index_is_asked_only_where_few_of_the_newest_have_the_words(
    world: World, signed_in: As, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task_search, "FIRST", 4)
    monkeypatch.setattr(task_search, "FURTHER", 8)
    monkeypatch.setattr(tables, "MOST_WITH_WORDS", 3)
    version, client = world.line(), signed_in(world.viewer)
    for title in (
        *["Old roof"] * 2,
        *["Lower the wall"] * 2,
        "Old roof",
        "Lower the wall",
        *["Raise the limit"] * 2,
    ):
        world.start(version, title=title)

    def read(words: str) -> list[str]:
        """What each statement about tasks read: some of the newest, the index, or the rows that are shown."""
        with CaptureQueriesContext(connection) as made:
            client.get(reverse("tasks-everywhere"), {"fragment": "table", "q": words})
        found = [each["sql"] for each in made if 'ORDER BY "pipelines_task"."created_at"' in each["sql"]]
        return [
            "newest" if "FROM (SELECT" in sql else "index" if "gateline_grams" in sql else "rows"
            for sql in found
        ]

    assert read("l") == ["newest", "rows"]
    assert read("the") == ["newest", "newest", "rows"]
    assert read("roof") == read(f"WI-{world.project.key}-1") == ["newest", "index", "rows"]
    assert read("raise") == ["newest", "newest", "index", "rows"], "two of the first four, and no other"


def test_a_search_reads_by_the_index(world: World) -> None:
    world.start(world.line())
    with connection.cursor() as cursor:
        # A table of one row is read by anything rather than by this index.
        cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_indexscan = off")
        for words in ("limit", "it", "WI-app-42"):
            plan = Task.objects.filter(indexed_search_words_condition(words)).explain(format="json")
            assert "task_text_grams" in plan, words
