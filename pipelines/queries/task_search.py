"""Tasks that words are searched for in: the newest are read in order while enough of them have the words, an index of
texts is asked where few have."""

from __future__ import annotations

from functools import reduce
from operator import or_

from django.contrib.postgres.fields import ArrayField
from django.db.models import BooleanField, Func, Q, QuerySet, TextField, Value
from django.db.models.functions import Upper

from pipelines.models import Task, TaskText
from pipelines.models.plumbing.django_internals import restrict_to_first

FIRST = 1_000
"""So many tasks are read in order whatever the words are."""
FURTHER = 20_000
"""And so many where, by the first of them, enough will be found: what fewer than one of twenty has, the index finds
sooner."""
NEWEST, OLDEST = ("-created_at", "-pk"), ("created_at", "pk")
"""Orders that have an index."""


def ids_of_matching_tasks(
    rows: QuerySet[Task], among: QuerySet[Task], words: str, order: tuple[str, ...], most: int
) -> list[int]:
    """The ids of the first `most` of these rows that have the words, in this order. `among`: tasks that an index has in
    order, of which `rows` are some."""
    if order in (NEWEST, OLDEST):
        for reach in (FIRST, FURTHER):
            ids = _first_task_ids(
                restrict_to_first(rows.filter(search_words_condition(words)), among.order_by(*order)[:reach]),
                order,
                most,
            )
            if len(ids) == most:
                return ids
            # At this rate FURTHER tasks would not have enough of them either.
            if len(ids) * FURTHER < most * FIRST:
                break
    return _first_task_ids(rows.filter(indexed_search_words_condition(words)), order, most)


def _first_task_ids(rows: QuerySet[Task], order: tuple[str, ...], most: int) -> list[int]:
    return list(rows.order_by(*order).values_list("pk", flat=True)[:most])


def search_words_condition(words: str) -> Q:
    """Return the condition that matches tasks by number (`WI-app-42`, `42`), title or label, row by row."""
    matches = Q(title__icontains=words) | Q(labels__contains=[words])
    number = _task_number_in_or_none(words)
    return matches if number is None else matches | Q(number=number)


def indexed_search_words_condition(words: str) -> Q:
    """Return the same condition, looked up in the text index. Words of one character are matched row by row."""
    if len(words) < 2:
        return search_words_condition(words)
    number = _task_number_in_or_none(words)
    texts = [words] if number is None else [words, f"#{number}\n"]
    # Tasks that may have one of these in title, labels or number: those that have all of its parts somewhere.
    had = [Q(HasGrams(Grams("text"), Grams(Upper(Value(text))))) for text in texts]
    return search_words_condition(words) & Q(pk__in=TaskText.objects.filter(reduce(or_, had)).values("task"))


def _task_number_in_or_none(words: str) -> int | None:
    number = words.rpartition("-")[2]
    # Any number of 18 digits fits a bigint
    return int(number) if number.isascii() and number.isdigit() and len(number) < 19 else None


class Grams(Func):
    """Grams that the index of texts holds of a text."""

    function = "gateline_grams"
    output_field = ArrayField(TextField())


class HasGrams(Func):
    template = "(%(expressions)s)"
    arg_joiner = " @> "
    output_field = BooleanField()
