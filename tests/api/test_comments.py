"""Comments on the parts of a line over HTTP."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.http import HttpResponse

from pipelines.lines.publishing import create_line
from tests.api.conftest import Apis
from tests.factories import World, document

pytestmark = pytest.mark.django_db


def test_it_is_written_answered_edited_resolved_and_deleted(world: World, api: Apis) -> None:
    create_line(world.project, "drawn", "Drawn", document(key="drawn"), world.designer)
    client = api.as_(world.viewer)
    made = client.post("/lines/drawn/comments", {"text": "Why?", "kind": "rule", "key": "on"})
    assert made.status_code == 201
    where = f"/lines/drawn/comments/{made.json()['id']}"
    client.post("/lines/drawn/comments", {"text": "So.", "parent": made.json()["id"]})
    raw, base, headers = client.client, client.base, client.headers

    def patch(body: dict[str, Any]) -> HttpResponse:
        return raw.patch(base + where, json.dumps(body), content_type="application/json", headers=headers)

    assert patch({"text": "Why so?", "revision": 1}).json()["text"] == "Why so?"
    assert patch({"text": "Again", "revision": 1}).status_code == 409
    assert patch({"text": "Again"}).status_code == 400
    assert patch({}).status_code == 400
    assert patch({"resolved": True}).json()["resolved_by"]["id"] == world.viewer.pk
    assert raw.delete(base + where, headers=headers).status_code == 204
    left = client.get("/lines/drawn/comments").json()
    assert [(each["deleted"], [r["text"] for r in each["replies"]]) for each in left] == [(True, ["So."])]
