"""Findings and claims of a review, as a server gives them."""

from __future__ import annotations

import hashlib
import html
import io
import json
import re
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from pipelines.models import Artifact, LineVersion, Task
from pipelines.work import storage
from tests.changes.leaving import leave
from tests.changes.test_changes_pages import FIRST, page
from tests.factories import World
from tests.formats.evidence.test_readers import JUNIT, RUN
from tests.reviews.conftest import gated
from tests.reviews.test_pages import as_

pytestmark = pytest.mark.django_db
FACTS = {"tests": {"passed": 1, "failed": 2, "skipped": 1, "errors": 1, "suites": 3}}


@pytest.fixture
def line(world: World) -> LineVersion:
    return world.line(**gated(offers=["approve", "send_back", "reject"]))


def hand_over(world: World, task: Task, **files: bytes) -> None:
    """Artifacts of the station that is due; `__` in a name is a dot."""
    for name, data in files.items():
        digest = hashlib.sha256(data).hexdigest()
        if not storage.keep_and_return_stored_digests([digest]):
            stored = storage.save_bytes_and_return_name(storage.artifact_storage(), digest, io.BytesIO(data))
            storage.record_blobs({digest: (len(data), stored)}, timezone.now())
        Artifact.objects.create(
            task=task, job=world.started(task), name=name.replace("__", "."), blob_id=digest
        )


def start(world: World, line: LineVersion, files: dict[str, bytes], **outcome: Any) -> Task:
    task = world.start(line)
    hand_over(world, task, **files)
    leave(world, task, FIRST, **outcome)
    return task


def test_findings_lead_into_their_line_of_the_changes(world: World, line: LineVersion) -> None:
    places = [{"physicalLocation": {"artifactLocation": {"uri": "app/limit.py"}, "region": {"startLine": 2}}}]
    run = {**RUN, "results": [{**RUN["results"][0], "locations": places}]}  # type: ignore[index]
    sarif = json.dumps({"runs": [run]}).encode()
    files = {
        "report__sarif": sarif,
        "junit__xml": JUNIT,
        "sizes__csv": b"file,<b>\na,<i>1\n",
        "notes__md": b"# <script>",
    }
    task = start(world, line, files)
    shown = page(world.reviewer, task, world, show="findings")
    assert "Client IP from a header" in shown and "High" in shown
    assert "file=app%2Flimit.py" in shown and "#new-2" in shown
    assert "tests.test_a" in shown and "1 != 2" in shown and "reported" in shown
    assert "&lt;i&gt;1" in shown and "# &lt;script&gt;" in shown and "<script>#" not in shown


def test_a_count_of_findings_leads_to_each_of_them(world: World, line: LineVersion) -> None:
    """By the review and by the page of the task: file, line and text, never an empty log."""
    places = [{"physicalLocation": {"artifactLocation": {"uri": "app/limit.py"}, "region": {"startLine": 2}}}]
    run = {**RUN, "results": [{**RUN["results"][0], "locations": places}]}  # type: ignore[index]
    facts = {"findings": {"critical": 0, "high": 1, "medium": 0, "low": 0, "total": 1}}
    task = start(world, line, {"report__sarif": json.dumps({"runs": [run]}).encode()}, facts=facts)
    shown = page(world.reviewer, task, world)
    [address] = {html.unescape(found) for found in re.findall(r'href="([^"]+)"[^>]*>1 finding', shown)}
    finding = as_(world.reviewer).get(address).content.decode()
    task_page = reverse("task", args=[task.project.owner.key, task.project.key, task.name])
    shown = as_(world.viewer).get(task_page).content.decode()
    addresses = {html.unescape(found) for found in re.findall(r'href="([^"]+)"[^>]*>1 finding', shown)}
    assert addresses == {f"{task_page}findings/"}
    for found in (finding, as_(world.viewer).get(*addresses).content.decode()):
        assert "Client IP from a header" in found and "app/limit.py:2" in found
        assert "file=app%2Flimit.py" in found and "#new-2" in found
    unread = start(world, line, {})
    empty = as_(world.viewer).get(task_page.replace(task.name, unread.name) + "findings/").content.decode()
    assert "No reports" in empty


def test_a_hostile_report_is_told_and_shown_as_nothing(world: World, line: LineVersion) -> None:
    task = start(world, line, {"junit__xml": b"<!DOCTYPE a><testsuite/>", "x__sarif": b"[" * 1000})
    shown = page(world.reviewer, task, world, show="findings")
    assert shown.count("This report could not be read") == 2


def test_claims_stand_beside_what_was_observed_contradictions_first(world: World, line: LineVersion) -> None:
    said = "I created app/limit.py. All tests pass. I created made.txt. I looked at it in a browser."
    task = start(world, line, {}, summary=said, facts=FACTS)
    shown = page(world.reviewer, task, world, show="claims")
    assert "2 claims contradicted" in shown
    assert "There is no file made.txt" in shown and "3 failed" in shown
    assert shown.index("I created made.txt") < shown.index("I created app/limit.py")
    assert "1 confirmed" in shown and "Not observed" in shown
    assert "Observed, but not mentioned" in shown
    assert shown.index("test_limit.py</a>") < shown.index("app/views.py</a>"), "changed tests come first"


def test_without_claims_there_is_no_tab_of_them(world: World, line: LineVersion) -> None:
    task = start(world, line, {}, summary="Built it well")
    shown = page(world.reviewer, task, world)
    assert "show=claims" not in shown and "show=findings" not in shown


def test_a_vote_is_about_the_facts_that_were_shown(world: World, line: LineVersion) -> None:
    task = start(world, line, {}, summary="Built it", facts=FACTS)
    evidence = world.visit(task).evidence
    assert evidence["facts"]["tests"]["failed"] == 2 and {"base", "tree"} <= evidence.keys()
    plain = start(world, line, {}, summary="Built it")
    assert "facts" not in world.visit(plain).evidence
