"""Whoever wrote a draft stays its writer where another person copies it or takes it up again (law §14)."""

from __future__ import annotations

import pytest

from pipelines.models import Line, LineEvent
from tests.factories import World
from tests.work.publishing_pair import Pair, document

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def pair(world: World) -> Pair:
    return Pair(world)


def test_a_copy_stays_its_writers(pair: Pair) -> None:
    pair.protect()
    line = pair.save(pair.mallory)
    made = pair.as_(pair.ann).post("/lines/line/duplicate", {"owner": "acme", "project": line.project.key})
    copy = Line.objects.get(key=made.json()["key"])
    assert pair.publish(pair.ann, copy).status_code == 202, "Ann asks"
    assert pair.publish(pair.mallory, copy).status_code == 202
    pair.page(pair.mallory, copy)
    assert pair.live(copy) is None


def test_a_draft_that_was_put_aside_stays_its_writers(pair: Pair) -> None:
    line = pair.save(pair.ann, document(description="Safe"))
    assert pair.publish(pair.ann, line).status_code == 201, "open without the protection"
    line = pair.save(pair.mallory, document(description="Easy"))
    said = {"source": "1", "based_on": str(line.draft_number)}
    assert pair.page(pair.ann, line, "line-restore", **said).status_code == 302
    line = pair.save(pair.ann, document(description="Safer"))
    assert pair.publish(pair.ann, line).status_code == 201
    pair.protect()
    aside = LineEvent.objects.get(kind=LineEvent.RecordKind.RESTORED)
    line.refresh_from_db()
    said = {"source": f"aside-{aside.pk}", "based_on": str(line.draft_number)}
    assert pair.page(pair.ann, line, "line-restore", **said).status_code == 302
    for who in (pair.ann, pair.mallory):
        assert pair.publish(who, line).status_code == 202
    version = pair.live(line)
    assert version is not None and version.number == 2
