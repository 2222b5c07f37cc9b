"""Reading what was written, by chunks."""

from __future__ import annotations

import zlib

import pytest
from django.utils import timezone

from pipelines.models import Job, LogChunk
from pipelines.work import logs
from tests.factories import World

pytestmark = [pytest.mark.django_db, pytest.mark.moves]


@pytest.fixture
def job(world: World) -> Job:
    """A running job with three chunks of ten lines."""
    job = world.started(world.start(world.line(stations=["a"])))
    writer = logs.Writer(job.pk, job.attempt)
    for chunk in range(3):
        text = "".join(f"{chunk}.5\tline {chunk * 10 + n}\twörter\n" for n in range(10))
        writer.append_chunk(text, timezone.now())
    return job


def test_a_reader_gets_the_lines_and_where_to_go_on(job: Job) -> None:
    first = logs.read_log_part(job, 1, most=2)
    assert [line.text for line in first.lines] == [f"line {n}\twörter" for n in range(20)]
    assert (first.lines[10].number, first.lines[10].seconds, first.complete) == (11, 1.5, False)
    rest = logs.read_log_part(job, 1, first.next)
    assert [line.number for line in rest.lines] == list(range(21, 31))
    again = logs.read_log_part(job, 1, rest.next)
    assert (again.lines, again.next, again.complete) == ((), rest.next, False)


def test_a_log_is_complete_when_its_job_is_done(world: World, job: Job) -> None:
    world.report(job.task)
    job.refresh_from_db()
    assert logs.read_log_part(job, 1).complete
    assert not logs.read_log_part(job, 1, most=3).complete


def test_the_tail_holds_the_last_lines(job: Job) -> None:
    tail = logs.read_log_tail(job, 1, lines=12)
    assert [line.number for line in tail.lines] == list(range(19, 31))
    assert tail.next == logs.read_log_part(job, 1).next


def test_the_whole_text_has_no_stamps(job: Job) -> None:
    text = "".join(logs.read_log_text(job, 1))
    assert text.splitlines()[-1] == "line 29\twörter"
    assert text.count("\n") == 30


def test_each_attempt_has_a_log_of_its_own(job: Job) -> None:
    logs.Writer(job.pk, 2).append_chunk("0.0\tagain\n", timezone.now())
    assert "".join(logs.read_log_text(job, 2)) == "again\n"


def test_chunks_are_compressed(job: Job) -> None:
    first, chunk = LogChunk.objects.filter(job=job, number__lt=2).order_by("number")
    before, text = (zlib.decompress(bytes(one.data)).decode() for one in (first, chunk))
    assert (chunk.lines_before, chunk.position) == (10, len(before.encode()))
    assert len(chunk.data) < len(text)


def test_another_run_of_the_attempt_goes_on_after_what_is_there(job: Job) -> None:
    logs.Writer(job.pk, 1).append_chunk("0.1\tonce more\n", timezone.now())
    lines = logs.read_log_part(job, 1).lines
    assert [line.number for line in lines] == list(range(1, 32))
    assert lines[-1].text == "once more"
