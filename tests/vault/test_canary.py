"""A canary in a secret reaches its station, and nothing else: no log, event, page, answer, export, dump, process list
(house §3 I16)."""

from __future__ import annotations

import base64
import io
import logging
import re
from html import unescape
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.core import mail
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from pipelines.formats.evidence.readers.report import CaseProblem, ReadReport, ToolFinding
from pipelines.models import Job, StoredValue
from pipelines.queries import unclaimable_jobs
from pipelines.work.results.text import Masker
from pipelines.work.transport.local import jobs
from pipelines.work.transport.local.orders import job_orders
from pipelines.work.transport.protocol import NO_VALUES
from reviews.models import Mail, Remark
from reviews.review.reports import report_without_secrets
from reviews.tasks import deliver_mail
from tests.factories import World, document, station
from tests.pages.conftest import at, client_of
from tests.vault.conftest import Put
from tests.work.conftest import artifacts_here, bench
from tests.work.driving import Bench, command, done, drive, outcome_of, text_of

__all__ = ["artifacts_here", "bench"]
pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.moves,
    pytest.mark.usefixtures("artifacts_here"),
]
CANARY = 'planted-canary/of a "station"?'
NAMES = {"env": {"TOKEN": {"secret": "API"}, "REGION": {"variable": "REGION"}}}
# Says it in every way it can, in pieces too, and says whether it stands in the arguments of any process.
TELLS = """
import base64, glob, json, os, sys, urllib.parse
token = os.environ["TOKEN"]
print(token)
print(urllib.parse.quote(token, safe=""), json.dumps({"k": token}), base64.b64encode(token.encode()).decode())
for letter in token:
    sys.stderr.write(letter)
    sys.stderr.flush()
listed = 0
for path in glob.glob("/proc/[0-9]*/cmdline"):
    try:
        listed += token.encode() in open(path, "rb").read()
    except OSError:
        pass
open("left", "w").write(token[::-1])
with open(os.environ["GATELINE_RESULT"], "w") as result:
    json.dump({"result": "success", "summary": "with " + token,
               "output": {token: [token], "listed": listed, "region": os.environ["REGION"]}}, result)
"""
READS = "print(open('left').read()[::-1])"


def told(world: World, version: Any, bench: Bench) -> Any:
    task = world.start(version, title="Deploy")
    drive(bench, task)
    return task


def lines(world: World) -> Any:
    return world.line(
        document([command("tell", TELLS, work=NAMES, result_document="optional"), command("read", READS)])
    )


def test_a_station_gets_it_and_nothing_shows_it(
    world: World, put: Put, bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    put(world.project, "API", CANARY, by=world.admin)
    put(world.project, "REGION", "eu-north", kind="variable", by=world.admin)
    version = lines(world)
    task = told(world, version, bench)
    assert world.status(task) == "completed", text_of(done(task, "tell"))
    output = outcome_of(task, "tell")["output"]
    assert output == {"•••": ["•••"], "listed": 0, "region": "eu-north"}
    logs = text_of(done(task, "tell")) + text_of(done(task, "read"))
    assert logs.count("•••") >= 5, (
        "both streams, three spellings, and the station that only read what was left"
    )

    dump = io.StringIO()
    call_command("dumpdata", stdout=dump)
    client = client_of(world.admin)
    project = f"/api/owners/{world.project.owner.key}/projects/{world.project.key}"
    addresses = [
        at(world, "task", task.name),
        f"{at(world, 'task', task.name)}?tab=changes",
        f"{at(world, 'task-log', task.name)}?job={done(task, 'tell').pk}",
        at(world, "task-events", task.name),
        at(world, "project-events"),
        at(world, "project-secrets"),
        at(world, "project-audit"),
        at(world, "project-audit-export"),
        at(world, "line-export", "line"),
        at(world, "line-draw", "line"),
        f"{project}/secrets",
        f"{project}/stages/line/tasks/{task.name}",
        f"{project}/stages/line/tasks/{task.name}/decisions",
    ]
    pages = "".join(body(client, address) for address in addresses)
    posted = "".join(str(message.message()) for message in mail.outbox)
    said = logs + dump.getvalue() + pages + posted + caplog.text
    for spelling in (CANARY, CANARY.replace('"', '\\"'), base64.b64encode(CANARY.encode()).decode()):
        assert spelling not in said
    used = StoredValue.objects.get(name="API")
    assert used.last_used_at is not None


def test_the_mail_and_the_page_of_a_review_show_the_mask(world: World, put: Put, bench: Bench) -> None:
    put(world.project, "API", CANARY, by=world.admin)
    put(world.project, "REGION", "eu-north", kind="variable", by=world.admin)
    gates = [{"key": "review", "notify": ["lead@example.com"]}]
    tell = command("tell", TELLS, work=NAMES, result_document="optional", gate="review")
    version = world.line(document([tell, "ship"], gates=gates))
    task = told(world, version, bench)
    # What a file of before holds becomes a secret later.
    put(world.project, "API", CANARY[::-1], by=world.admin)
    assert world.status(task) == "awaiting_review", text_of(done(task, "tell"))
    deliver_mail(Mail.objects.get(address="lead@example.com").pk)
    (sent,) = mail.outbox
    visit = task.gate_visits.get()
    address, client = reverse("gate-visit", args=[visit.pk]), client_of(world.reviewer)
    changes, output = (body(client, f"{address}?show={tab}") for tab in ("changes", "output"))
    for shown in (str(sent.message()), changes, output):
        assert "planted-canary" not in shown
    assert CANARY[::-1] not in unescape(changes)
    assert "with •••" in output
    plain = re.sub(r"</?span[^>]*>", "", changes)  # without the colours of the code
    assert "<td>•••</td>" in plain, "the file that the station left"
    said = {"path": "left", "side": "new", "line": "1", "text": "What is this?"}
    client.post(reverse("gate-remark", args=[visit.pk]), said)
    assert Remark.objects.get().quoted == "•••"


def test_a_report_of_a_tool_shows_the_mask() -> None:
    finding = ToolFinding("high", f"found {CANARY}", path="a.py", line=3)
    problem = CaseProblem("failed", "suite", f"test[{CANARY}]", CANARY)
    report = ReadReport("sarif", tests=[problem], findings=[finding], rows=[[CANARY]], text=f"# {CANARY}")
    masked = report_without_secrets(report, Masker([CANARY]))
    assert "planted-canary" not in repr(masked)
    assert (masked.findings[0].severity, masked.findings[0].message) == ("high", "found •••")


def body(client: Client, address: str) -> str:
    response = client.get(address)
    assert response.status_code == 200, address
    if not response.streaming:
        return str(response.content.decode())

    async def pieces() -> bytes:
        return b"".join([piece async for piece in response.streaming_content])  # type: ignore[attr-defined]

    return async_to_sync(pieces)().decode()


def test_it_comes_with_the_claim_and_is_no_part_of_the_orders(world: World, put: Put) -> None:
    put(world.project, "API", CANARY, by=world.admin)
    put(world.project, "REGION", "eu-north", kind="variable", by=world.admin)
    task = world.start(lines(world))
    job = Job.objects.select_related("task__project__owner").get(task=task)
    got = jobs.start_job_or_none(job.pk, world.claim())
    assert got is not None
    assert (got.values.secrets, got.values.variables) == ({"API": CANARY}, {"REGION": "eu-north"})
    assert CANARY not in repr(got) + str(got.orders.to_json()) + str(job_orders(job))


def test_the_station_after_it_gets_the_mask_alone(world: World, put: Put) -> None:
    put(world.project, "API", CANARY, by=world.admin)
    put(world.project, "REGION", "eu-north", kind="variable", by=world.admin)
    task = world.start(lines(world))
    world.report(task)
    got = jobs.start_job_or_none(world.job(task, "read").pk, world.claim())
    assert got is not None
    assert (got.values.secrets, got.values.variables, got.values.masked) == ({}, {}, (CANARY,))


def test_a_line_that_names_none_asks_nothing(world: World) -> None:
    task = world.start(world.line(document(["a"])))
    got = jobs.start_job_or_none(world.job(task).pk, world.claim())
    assert got is not None
    assert got.values is NO_VALUES


def test_a_station_without_its_secret_says_which(world: World, bench: Bench, put: Put) -> None:
    put(world.project, "API", CANARY, by=world.admin)
    work = {"env": {"REGION": {"variable": "REGION"}}}
    task = told(world, world.line(document([command("tell", "print(1)", work=work)])), bench)
    said = done(task, "tell").outcome
    assert said is not None
    assert "asks for the variable REGION, which is not stored for this line" in str(said)


def test_whoever_starts_a_task_chooses_the_secret(world: World, put: Put, bench: Bench) -> None:
    put(world.project, "API", CANARY, by=world.admin)
    put(world.project, "OTHER", "another-planted-canary", by=world.admin)
    work = {"env": {"TOKEN": {"secret": "input:token"}}}
    program = "import os, hashlib; print(hashlib.sha256(os.environ['TOKEN'].encode()).hexdigest(), os.environ['TOKEN'])"
    inputs = [{"key": "token", "type": "secret", "required": True}]
    version = world.line(document([command("tell", program, work=work)], inputs=inputs))
    task = world.start(version, inputs={"token": "OTHER"})
    drive(bench, task)
    assert world.status(task) == "completed"
    log = text_of(done(task, "tell"))
    assert "another-planted-canary" not in log
    assert "•••" in log


def test_a_job_waits_for_no_worker_when_its_secret_is_stored(world: World, put: Put) -> None:
    call = station(
        "call", kind="http", work={"url": "https://example.com", "headers": {"A": {"secret": "API"}}}
    )
    task = world.start(world.line(document([call])))
    world.worker.offers = ["kind:http"]
    world.worker.save()
    assert unclaimable_jobs.count_unclaimable() == 1
    put(world.project.owner, "API", CANARY, by=world.admin)
    assert unclaimable_jobs.count_unclaimable() == 0
    assert (
        unclaimable_jobs.unclaimed_sentence_by_token_id(task, {world.token(task).pk: world.job(task)}) == {}
    )
