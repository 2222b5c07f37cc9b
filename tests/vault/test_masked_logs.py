"""A secret that a station spells otherwise in its log stands in nothing that HTTP answers, whoever runs the station."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from pipelines.models import Task
from tests.api.conftest import Api
from tests.factories import World
from tests.fixtures.site import Site, environment, manage, stop
from tests.waiting import until
from tests.work.driving import command, done
from tests.work.runners.running import runner

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.moves]
CANARY = "planted-canary/of-a-station"
TELLS = """
import base64, os
token = os.environ["TOKEN"]
for user in ("", "u", "us", "user"):
    print("sign-in", base64.b64encode(f"{user}:{token}".encode()).decode())
print("hex", token.encode().hex(), token.encode().hex().upper())
print("cut", token[:5] + "\\x1b[31m" + token[5:9] + "\\x1b[0m" + token[9:])
print("plain", token)
"""


def spellings() -> Iterator[str]:
    """Each of which alone tells most of it; of Base64 what does not depend on the letters around."""
    yield from (CANARY, CANARY.encode().hex(), CANARY.encode().hex().upper(), CANARY[9:])
    for before in ("", "u", "us"):
        yield base64.b64encode(f"{before}:{CANARY}".encode()).decode()[8:-4]


@pytest.mark.smoke(1)
@pytest.mark.parametrize("hands", ["worker", "runner"])
def test_no_spelling_of_a_secret_is_read_over_http(
    hands: str, site: Site, world: World, tmp_path: Path
) -> None:
    who = Api(world.project, world.token_of(world.admin, "read", "settings")[1])
    put = who.client.put(
        f"{who.base}/secrets/API", {"value": CANARY}, "application/json", headers=who.headers
    )
    assert put.status_code in (200, 201), put.content
    tell = command(
        "tell", TELLS, {"id": "end", "to": "completed"}, work={"env": {"TOKEN": {"secret": "API"}}}
    )
    line = world.line(stations=[tell])
    with ExitStack() as stack:
        if hands == "runner":
            world.worker.delete()
            stack.enter_context(runner(site.url, world.runner()[1], tmp_path / "far"))
        else:
            process = manage("worker", log=tmp_path / "worker.log", env=environment())
            stack.callback(lambda: stop(process))
        task = world.start(line)
        until(lambda: ended(task), lambda: str(task.status))
    path = f"/stages/line/tasks/{task.name}"
    log = who.get(f"{path}/visits/{done(task, 'tell').pk}/log")
    assert log.status_code == 200, log.content
    lines = log.json()["lines"]
    assert "•••" in str(lines) and len(lines) >= 7, lines
    answers = log.content.decode() + who.get(path).content.decode()
    assert not [spelling for spelling in spellings() if spelling in answers], lines


def ended(task: Task) -> bool:
    task.refresh_from_db()
    return task.ended_at is not None
