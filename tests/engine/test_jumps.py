"""Jumps under the revision of a version, from publishing to the decision, and what is said of those that end."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from pipelines.engine import invariants
from pipelines.lines import guarantee_rereads, line_migration, publishing
from pipelines.models import Decision, Line, LineVersion
from pipelines.queries import versions
from pipelines.routing.document.line import canonical_digest
from reviews.models import Notification
from tests.factories import World

pytestmark = pytest.mark.django_db
COMPLETE = {
    "result": "success",
    "signals": [{"verdict": "hold", "reason": "already_complete", "meta": {"targetState": "c"}}],
}


def to(target: str) -> dict[str, Any]:
    return {"id": f"to-{target}", "when": {"result": "success"}, "to": target}


def stations() -> list[dict[str, Any]]:
    return [
        {"key": "a", "work": {"kind": "manual"}, "rules": [to("b")]},
        {"key": "b", "work": {"kind": "manual"}, "rules": [to("c")]},
        {"key": "c", "work": {"kind": "manual"}},
    ]


def as_of_before(version: LineVersion, **more: Any) -> LineVersion:
    """The next version of this line as it was published under revision 2."""
    document = {**version.document, **more}
    made = LineVersion.objects.create(
        line=version.line,
        number=version.number + 1,
        document=document,
        digest=canonical_digest(document),
        revision=2,
        published_by=version.published_by,
        published_at=timezone.now(),
    )
    publishing.write_version_rows(made, versions.parsed_version(made))
    Line.objects.filter(pk=version.line_id).update(live=made)
    made.line.refresh_from_db()
    return made


def test_a_new_line_that_says_nothing_of_jumps_allows_none(world: World) -> None:
    task = world.start(world.line(stations=stations()))
    world.report(task, COMPLETE)
    assert world.status(task) == "blocked"
    assert {each.revision for each in Decision.objects.all()} == {3}


def test_a_version_of_before_goes_on_letting_work_jump(world: World) -> None:
    task = world.start(as_of_before(world.line(stations=stations())))
    world.report(task, COMPLETE)
    assert world.at(task) == ["c"]
    assert {each.revision for each in Decision.objects.all()} == {2}
    assert invariants.find_violations() == []


def test_the_same_text_is_published_anew_under_the_newest_revision(world: World, client: Client) -> None:
    """It lets work jump no more, so that it differs from what is live; and who publishes is told what jumped."""
    old = as_of_before(world.line(stations=stations()))
    task = world.start(old)
    world.report(task, COMPLETE)
    line = Line.objects.get(pk=old.line_id)
    [warning] = [each for each in publishing.check_draft(line).findings if each.check == "silent-jumps"]
    assert task.name in warning.message and "c" in warning.message

    _token, secret = world.token_of(world.admin)
    where = f"/api/owners/{world.project.owner.key}/projects/{world.project.key}/lines/{line.key}/publish"
    said = {"headers": {"Authorization": f"Bearer {secret}"}, "content_type": "application/json"}
    refused = client.post(where, {"draft": line.draft_number}, **said)
    assert refused.status_code == 409
    assert task.name in refused.json()["detail"]
    given = {"draft": line.draft_number, "acknowledge": ["silent-jumps"]}
    made = client.post(where, given, **said)
    assert (made.status_code, made.json()["revision"]) == (201, 3), made.content
    version = LineVersion.objects.get(line=line, number=made.json()["number"])
    assert version.digest == old.digest

    other = world.start(version)
    world.report(other, COMPLETE)
    assert world.status(other) == "blocked"
    # The task of before is decided by its own version until it is migrated.
    assert line_migration.migration_impact_of(line, version).to_dict()["revision"] == 3
    assert invariants.find_violations() == []


def test_the_page_asks_for_a_tick_with_a_constant_number_of_statements(
    world: World, django_assert_max_num_queries: Any
) -> None:
    version = as_of_before(world.line(stations=stations()))
    counted = []
    for most in (1, 4):
        for _ in range(most):
            world.report(world.start(version), COMPLETE)
        with django_assert_max_num_queries(40) as asked:
            publishing.check_draft(Line.objects.get(pk=version.line_id))
        counted.append(len(asked))
    assert counted[0] == counted[1]


def test_a_guarantee_that_the_law_reads_otherwise_now_is_told_once_and_the_version_runs_on(
    world: World,
) -> None:
    """What was proved: nothing reaches c without b. A station may signal proceed and fail."""
    promised = [{"id": "tested", "never": {"reach": "c", "without": "b"}}]
    version = as_of_before(world.line(stations=stations()), guarantees=promised, jumps=[])
    assert guarantee_rereads.prove_next_live_version_again(timezone.now()) == 1
    assert guarantee_rereads.prove_next_live_version_again(timezone.now()) == 0
    told = Notification.objects.filter(kind="refuted")
    assert {row.user for row in told} == {world.admin}
    assert told.get().data["version"] == version.number
    assert version.line.record.get(kind="reread").data["refuted"] == ["tested"]
    task = world.start(version)
    world.report(task, {"result": "success"})
    world.report(task, {"exit_code": 1, "signals": [{"verdict": "proceed"}]})
    assert world.at(task) == ["c"]
