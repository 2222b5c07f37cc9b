"""Whether the model of an agent answers to the stored key, as setup checks it: against a real server on loopback."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from pipelines.models import Repository, StoredValue
from pipelines.ports.vault import store
from tests.factories import World
from tests.outgoing.servers import Server, say, serving
from tests.pages.conftest import client_of

pytestmark = pytest.mark.django_db
KEY = "sk-of-the-test-0123456789"


def shown(world: World, server: Server, name: str = "ANTHROPIC_API_KEY") -> str:
    """Setup, after the model was checked."""
    for kind, key, value in (
        (StoredValue.ValueKind.SECRET, name, KEY),
        (StoredValue.ValueKind.VARIABLE, "ANTHROPIC_BASE_URL", server.url),
    ):
        store.create_or_replace_value(
            store.ValuePlace(world.project), key, value, kind=kind, by=world.admin, now=timezone.now()
        )
    Repository.objects.create(
        project=world.project,
        name="app",
        address="https://git.test/app.git",
        connected_at=timezone.now(),
        tested=[{"check": "reach", "ok": True, "said": "1", "commit": "", "seconds": 0.1}],
        tested_at=timezone.now(),
    )
    client, place = client_of(world.admin), f"/p/acme/{world.project.key}/setup/"
    before = client.get(f"{place}?step=agent&agent=claude").content.decode()
    assert "Model reachable" in before and "accepts the key" not in before
    said = {"do": "reach", "step": "agent", "agent": "claude"}
    assert client.post(f"{place}?step=agent&agent=claude", said).status_code == 302
    return client.get(f"{place}?step=agent&agent=claude").content.decode()


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (200, "accepts the key"),
        (401, "refuses the key (HTTP 401)"),
        (503, "HTTP 503"),
        (404, "HTTP 404"),
    ],
)
def test_the_model_is_asked_with_the_stored_key(status: int, words: str, world: World, settings: Any) -> None:
    settings.PRIVATE_HOSTS = ["127.0.0.1"]
    with serving(lambda to, _asked: say(to, status, b"{}")) as server:
        page = shown(world, server)
        (request,) = server.asked
    assert words in page and KEY not in page
    assert (request.path, request.headers["x-api-key"]) == ("/v1/models", KEY)


def test_a_private_address_gets_no_key_unless_it_is_listed(world: World) -> None:
    with serving(lambda to, _asked: say(to, 200)) as server:
        page = shown(world, server)
        assert server.asked == []
    assert "accepts the key" not in page and "not https" in page


def test_where_no_key_can_ask_it_says_so(world: World) -> None:
    with serving(lambda to, _asked: say(to, 200)) as server:
        page = shown(world, server, "CLAUDE_CODE_OAUTH_TOKEN")
        assert server.asked == []
    assert "cannot be checked without a key of its own" in page
