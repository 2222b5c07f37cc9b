"""A call of a runner takes a shorter way through the web process (config/request_handler.py), and says the same."""

from __future__ import annotations

import asyncio
import gzip
import json
import uuid
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from config.request_handler import BatchedRequest, SingleThreadHandler
from pipelines.api.runner_calls import CallAnswer
from pipelines.models import ApiToken, Job
from pipelines.people import accounts
from pipelines.work.transport.http.wire_format import PROTOCOL
from tests.factories import World
from tests.work.runners.far import FACTS

pytestmark = pytest.mark.django_db(transaction=True)
Answer = tuple[int, dict[str, str], bytes]
ONE_ID = {"X-Request-ID": "one"}


def shortly(path: str, body: bytes, headers: dict[str, str]) -> Answer:
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    given = {"host": "testserver", **ONE_ID, **headers, "content-length": str(len(body))}
    path, _, query = path.partition("?")
    scope = {
        "type": "http",
        "method": "POST",
        "path": path,
        "query_string": query.encode(),
        "headers": [(name.lower().encode(), value.encode()) for name, value in given.items()],
    }
    asyncio.run(SingleThreadHandler()(scope, receive, send))
    first, *rest = sent
    said = {name.decode(): value.decode() for name, value in first["headers"]}
    return first["status"], said, b"".join(each.get("body", b"") for each in rest)


def usually(path: str, body: bytes, headers: dict[str, str]) -> Answer:
    answer = Client(raise_request_exception=False).post(
        path, body, content_type=headers["Content-Type"], headers={**ONE_ID, **headers}
    )
    return answer.status_code, dict(answer.headers), answer.content


def test_the_short_way_says_what_the_usual_one_says(world: World) -> None:
    token, secret = world.runner()
    runner = f"/api/v1/runner/{uuid.uuid4()}"
    body = json.dumps({**FACTS, "protocol": PROTOCOL}).encode()
    calls = [(runner, body, secret), (runner + "/leases", b"{}", secret), (runner + "/tell", b"{", secret)]
    calls += [(runner + "/reports", b'{"reports": 1}', secret), (runner + "/nothing", b"{}", secret)]
    calls += [(runner, body, "gl_wrong"), (runner + "/claims", b"{}", "")]
    for path, sent, key in calls:
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        short = shortly(path, sent, headers)
        assert short == usually(path, sent, headers), path
        assert short[1]["Cache-Control"] == "private, no-store" and short[1]["X-Frame-Options"] == "DENY"
    assert ApiToken.objects.get(pk=token.pk).last_used_at is not None


@pytest.fixture
def sent_together(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Of each bundle, how many went together."""
    bundles: list[int] = []
    together = SingleThreadHandler._answer_calls

    def counting(app: SingleThreadHandler, requests: Sequence[BatchedRequest]) -> list[CallAnswer | None]:
        bundles.append(len(requests))
        return together(app, requests)

    monkeypatch.setattr(SingleThreadHandler, "_answer_calls", counting)
    return bundles


class Reporting:
    """A runner that has a job, and its report as it is sent."""

    def __init__(self, world: World) -> None:
        self.token, self.secret = world.runner()
        self.runner = f"/api/v1/runner/{uuid.uuid4()}"
        line = world.line(stations=["build", "test"])
        jobs = [world.start(line).jobs.get().pk for _ in range(2)]
        usually(self.runner, json.dumps({**FACTS, "protocol": PROTOCOL}).encode(), self.headers())
        claim = usually(self.runner + "/claims", json.dumps({"jobs": jobs}).encode(), self.headers())
        first, self.started = json.loads(claim[2])["started"]
        self.job = self.started["orders"]["job_id"]
        self.path = f"{self.runner}/jobs/{self.job}/report"
        self.said = {"attempt": 1, "outcome": {"result": "success"}, "go_on": True}
        self.body = json.dumps(self.said).encode()
        before = f"{self.runner}/jobs/{first['orders']['job_id']}/report"
        told = shortly(before, self.body, self.headers(first["lease"]))
        assert told[0] == 200, "of which project its token is, is known from here on"

    def headers(self, lease: str = "", **more: str) -> dict[str, str]:
        leased = {"Gateline-Lease": lease} if lease else {}
        given = {"Authorization": f"Bearer {self.secret}", "Content-Type": "application/json", **leased}
        return {**given, **{name.replace("_", "-"): value for name, value in more.items()}}

    @property
    def leased(self) -> dict[str, str]:
        return self.headers(self.started["lease"])


FOR_PAGES = ("Vary",)
"""What an answer says of sessions, which a report has none of."""


def test_a_report_is_answered_with_the_headers_of_any_other(world: World, sent_together: list[int]) -> None:
    far = Reporting(world)
    status, said, body = shortly(far.path, far.body, far.leased)
    again = shortly(far.path, far.body, far.leased)
    usual = usually(far.path, far.body, far.leased)
    assert (status, json.loads(body)["status"]) == (200, "accepted")
    assert sent_together == [1, 1], "both went the way of reports"
    assert json.loads(again[2])["status"] == json.loads(usual[2])["status"] == "repeated"
    without = {name: value for name, value in usual[1].items() if name not in FOR_PAGES}
    assert {name: value for name, value in again[1].items() if name not in FOR_PAGES} == without
    assert {"X-Frame-Options", "X-Content-Type-Options", "Content-Security-Policy"} <= said.keys()
    assert said["Cache-Control"] == "private, no-store"


def test_an_answer_to_a_report_travels_compressed(world: World, sent_together: list[int]) -> None:
    far = Reporting(world)
    status, said, body = shortly(far.path, far.body, {**far.leased, "Accept-Encoding": "gzip"})
    assert status == 200 and said["Content-Encoding"] == "gzip" and sent_together == [1]
    assert json.loads(gzip.decompress(body))["status"] == "accepted"


ODD: dict[str, tuple[int, Callable[[Reporting], tuple[str, bytes, dict[str, str]]]]] = {
    "a host that is not ours": (400, lambda far: (far.path, far.body, {**far.leased, "host": "evil"})),
    "NUL in the query": (400, lambda far: (far.path + "?a=%00", far.body, far.leased)),
    "no JSON": (400, lambda far: (far.path, b"{", far.leased)),
    "no outcome": (400, lambda far: (far.path, b'{"attempt": 1}', far.leased)),
    "no lease": (400, lambda far: (far.path, far.body, far.headers())),
    "a lease that is none": (400, lambda far: (far.path, far.body, far.headers("mine"))),
    "a wrong token": (401, lambda far: (far.path, far.body, {**far.leased, "Authorization": "Bearer gl_no"})),
    "no token": (401, lambda far: (far.path, far.body, {**far.leased, "Authorization": ""})),
    "two tokens": (
        401,
        lambda far: (far.path, far.body, {**far.leased, "Authorization": f"Bearer {far.secret},Bearer x"}),
    ),
    "the job of nobody": (404, lambda far: (f"{far.runner}/jobs/999999/report", far.body, far.leased)),
    "a job beyond numbers": (400, lambda far: (f"{far.runner}/jobs/{10**20}/report", far.body, far.leased)),
    "an unknown runner": (
        404,
        lambda far: (f"/api/v1/runner/{uuid.uuid4()}/jobs/{far.job}/report", far.body, far.leased),
    ),
}


@pytest.mark.smoke(len(ODD))
@pytest.mark.parametrize("what", ODD)
def test_a_report_that_is_refused_is_told_what_any_other_call_is(world: World, what: str) -> None:
    far, (status, sent) = Reporting(world), ODD[what]
    short, usual = shortly(*sent(far)), usually(*sent(far))
    assert (short[0], short[2]) == (usual[0], usual[2]) and short[0] == status
    without = [
        {name: value for name, value in each[1].items() if name not in FOR_PAGES} for each in (short, usual)
    ]
    assert without[0] == without[1]
    assert Job.objects.get(pk=far.job).state == Job.State.RUNNING


def test_a_token_that_was_revoked_is_refused(world: World, sent_together: list[int]) -> None:
    far = Reporting(world)
    accounts.revoke_token(far.token, timezone.now(), None)
    assert [shortly(far.path, far.body, far.leased)[0] for _ in range(2)] == [401, 401]
    assert sent_together == [1], "from then on it is looked up by itself"
    assert Job.objects.get(pk=far.job).state == Job.State.RUNNING


def test_wrong_tokens_of_reports_are_counted(world: World, settings: Any) -> None:
    far = Reporting(world)
    settings.GUESSES_PER_MINUTE = 2
    wrong = {**far.leased, "Authorization": "Bearer gl_wrong"}
    assert [shortly(far.path, far.body, wrong)[0] for _ in range(4)][-1] == 429
    assert shortly(far.path, far.body, far.leased)[0] == 200, "a right one always works"
