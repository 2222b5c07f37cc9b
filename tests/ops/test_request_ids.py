"""The id of a request, from the header of a caller to the log, the page and the problem of what went wrong."""

from __future__ import annotations

import json
import re
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from email.message import Message
from pathlib import Path
from urllib.error import HTTPError

import pytest

from tests.factories import World
from tests.fixtures.site import Site, start_web, stop
from tests.pages.conftest import client_of
from tests.waiting import LONG, until

NEW = re.compile(r"[0-9a-f]{32}")


@pytest.fixture
def logging_site(transactional_db: None, tmp_path: Path) -> Iterator[Site]:
    site = start_web(tmp_path, LOG_FORMAT="json")
    yield site
    stop(site.process)


def ask(site: Site, path: str, sent: str | None = None) -> tuple[int, Message, str]:
    request = urllib.request.Request(site.url + path, headers={"X-Request-ID": sent} if sent else {})
    try:
        with urllib.request.urlopen(request, timeout=LONG) as answer:
            return answer.status, answer.headers, answer.read().decode()
    except HTTPError as error:
        return error.code, error.headers, error.read().decode()


def logged(site: Site) -> dict[str, str]:
    """What was refused, by the id in its line."""
    lines = [json.loads(line) for line in site.log.read_text().splitlines() if line.startswith("{")]
    return {line["request_id"]: line["event"] for line in lines if "Not Found" in line["event"]}


def test_an_id_goes_through_answer_page_problem_and_log(logging_site: Site) -> None:
    status, headers, page = ask(logging_site, "/no-such-page", "from-proxy.1")
    assert (status, headers["X-Request-ID"]) == (404, "from-proxy.1") and "from-proxy.1" in page
    status, headers, problem = ask(logging_site, "/api/v1/no-such-thing", "from-proxy.2")
    assert (status, headers["X-Request-ID"]) == (404, "from-proxy.2")
    assert json.loads(problem)["request_id"] == "from-proxy.2"
    until(lambda: {"from-proxy.1", "from-proxy.2"} <= logged(logging_site).keys(), logging_site.log.read_text)
    assert "/no-such-page" in logged(logging_site)["from-proxy.1"]


@pytest.mark.wide
def test_ids_of_requests_at_once_are_not_mixed_up(logging_site: Site) -> None:
    ids = [f"request-{number}" for number in range(40)]
    with ThreadPoolExecutor(8) as pool:
        pages = list(pool.map(lambda one: ask(logging_site, f"/missing-{one}/", one), ids))
    assert [headers["X-Request-ID"] for _status, headers, _page in pages] == ids
    until(lambda: logged(logging_site).keys() >= set(ids), logging_site.log.read_text)
    assert all(logged(logging_site)[one].endswith(f"/missing-{one}/") for one in ids)


@pytest.mark.smoke(7)
@pytest.mark.parametrize(
    "sent",
    [None, "", "x" * 65, "two words", '"><script>', "\x1b[31mred", "-option"],
    ids=["none", "empty", "too long", "a blank", "markup", "a terminal", "an option"],
)
def test_what_could_not_stand_in_a_log_gets_a_new_id(world: World, sent: str | None) -> None:
    client = client_of(world.viewer)
    headers = {} if sent is None else {"X-Request-ID": sent}
    answers = [client.get("/no-such-page", headers=headers) for _ in range(2)]
    ids = {answer["X-Request-ID"] for answer in answers}
    assert len(ids) == 2 and all(NEW.fullmatch(one) for one in ids)
    for answer in answers:
        assert answer["X-Request-ID"] in answer.content.decode()


def test_a_refused_call_says_its_id(world: World) -> None:
    answer = client_of(world.viewer).get(
        "/api/v1/owners/no/projects/no/lines", headers={"X-Request-ID": "a.1"}
    )
    assert (answer.status_code, answer.json()["request_id"], answer["X-Request-ID"]) == (404, "a.1", "a.1")
