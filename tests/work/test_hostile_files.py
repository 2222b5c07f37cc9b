"""Two hundred hostile files through every place that shows or serves them: nothing runs, nothing is a fault."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from html.parser import HTMLParser
from typing import Any

import pytest
from django.core import mail
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import BrowserContext, Page

from pipelines.models import Artifact, Blob, LineVersion, Task, Upload, User
from pipelines.work import storage
from reviews.models import Mail
from reviews.tasks import deliver_mail
from tests.factories import World, document, station
from tests.pages.conftest import at, client_of
from tests.work.conftest import artifacts_here
from tests.work.hostile_files import CONTENTS, FILES, NAMES, RUNS

__all__ = ["artifacts_here"]
SignIn = Callable[[Page | BrowserContext, User], None]
LEADS = ("href", "src", "action", "formaction", "data", "xlink:href", "hx-get", "hx-post")
AT_ONCE = 20
"""Files of one task."""


class Active(HTMLParser):
    """What of a page would run: of the canary nothing may."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._script = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._script = tag == "script"
        for name, value in attrs:
            leads = name in LEADS and (value or "").strip().lower().startswith(("javascript:", "data:text"))
            if name.startswith("on") or name == "srcdoc" or leads:
                self.found.append(f"<{tag} {name}={value}>")
        if tag in ("iframe", "object", "embed"):
            self.found.append(f"<{tag}>")

    def handle_data(self, data: str) -> None:
        if self._script and RUNS in data:
            self.found.append(data)

    def handle_endtag(self, tag: str) -> None:
        self._script = False


def active(html: str) -> list[str]:
    parser = Active()
    parser.feed(html)
    return parser.found


def version_of(world: World) -> LineVersion:
    inputs = [{"key": f"file{n}", "type": "file", "label": f"File {n}"} for n in range(AT_ONCE)]
    gates = [{"key": "look", "notify": ["lead@example.com"]}]
    return world.line(document([station("build", gate="look")], gates=gates, inputs=inputs))


def handed_in(world: World, version: LineVersion, files: Sequence[tuple[str, bytes]]) -> Task:
    """A task that has them as its inputs and as its artifacts, and waits at a gate."""
    given = {}
    for number, (name, content) in enumerate(files):
        kept = storage.store_upload(
            world.project, name, SimpleUploadedFile("x", content), "t", timezone.now()
        )
        given[f"file{number}"] = kept
    task = world.start(version, inputs=given, title=None)  # type: ignore[arg-type]
    for number, (name, _content) in enumerate(files):
        blob = Blob.objects.get(pk=given[f"file{number}"]["digest"])
        media = ("text/html", "image/svg+xml", "text/html; x\r\ny", "application/pdf")[number % 4]
        name = f"{number}/{name[-280:]}".replace("\0", "")
        Artifact.objects.create(task=task, job=world.job(task), name=name, media_type=media, blob=blob)
    world.report(task)
    return task


def checked(client: Client, address: str, faults: list[str]) -> HttpResponse:
    """A page that runs nothing of others, and a policy that would let nothing run."""
    answer: HttpResponse = client.get(address)
    html = answer.content.decode()
    faults += [f"{address}: {each}" for each in active(html)]
    policy = answer.headers["Content-Security-Policy"]
    if answer.status_code != 200 or "unsafe" in policy or "default-src 'none'" not in policy:
        faults.append(f"{address}: {answer.status_code} {policy}")
    return answer


def served(client: Client, address: str, content: bytes, faults: list[str]) -> None:
    """A download, of a type that no browser guesses, in a sandbox."""
    answer = client.get(address)
    wrong = (
        answer.status_code != 200
        or not answer.headers["Content-Disposition"].startswith("attachment")
        or answer.headers["X-Content-Type-Options"] != "nosniff"
        or "sandbox" not in answer.headers["Content-Security-Policy"]
        or any(sign in str(answer.headers) for sign in ("\r\n ", "canary=1\r"))
        or "Set-Cookie" in answer.headers
        or b"".join(answer) != content  # type: ignore[arg-type]
    )
    faults += [f"{address}: {answer.status_code} {dict(answer.headers)}"] if wrong else []


@pytest.fixture(params=[1, pytest.param(10, marks=pytest.mark.wide)], ids=["some", "all"])
def lots(request: pytest.FixtureRequest) -> list[list[tuple[str, bytes]]]:
    """Each name and each content is among some of them, too."""
    step = len(FILES) // (request.param * AT_ONCE)
    chosen = [
        FILES[(number * step + number // len(CONTENTS)) % len(FILES)]
        for number in range(request.param * AT_ONCE)
    ]
    files = list(FILES) if step == 1 else chosen
    return [files[n : n + AT_ONCE] for n in range(0, len(files), AT_ONCE)]


@pytest.mark.smoke(1)
@pytest.mark.usefixtures("artifacts_here")
@pytest.mark.django_db(transaction=True)
def test_no_place_that_shows_or_serves_a_file_runs_it(
    world: World, lots: list[list[tuple[str, bytes]]]
) -> None:
    version, faults = version_of(world), list[str]()
    client = client_of(world.reviewer)
    for files in lots:
        task = handed_in(world, version, files)
        visit = world.visit(task)
        below = reverse("artifact", args=[*_where(world), task.name, 0])[:-2]
        for tab in ("log", "outputs", "artifacts", "events"):
            page = checked(client, f"{at(world, 'task', task.name)}?tab={tab}", faults).content.decode()
            assert page.count(below) == (len(files) if tab == "artifacts" else 0)
        review = reverse("gate-visit", args=[visit.pk])
        for show in ("changes", "findings", "claims", "log", "history"):
            checked(client, f"{review}?show={show}", faults)
        assert checked(client, f"{review}?show=output", faults).content.decode().count(below) >= len(files)
        again = f"{at(world, 'task-new', version.line.key)}?follows={task.name}"
        checked(client, again, faults)
        for number, (_name, content) in enumerate(files):
            served(client, at(world, "task-input", task.name, f"file{number}"), content, faults)
            checked(client, at(world, "task-input-preview", task.name, f"file{number}"), faults)
        for artifact in Artifact.objects.filter(task=task).select_related("blob"):
            content = storage.artifact_storage().open(artifact.blob.name).read()
            served(client, at(world, "artifact", task.name, artifact.pk), content, faults)
    for address in (at(world, "tasks"), reverse("needs-me"), reverse("home"), f"{reverse('palette')}?q=file"):
        checked(client, address, faults)
    for each in Mail.objects.all():
        deliver_mail(each.pk)
    for message in mail.outbox:
        assert "\n" not in message.subject
        faults += [f"mail: {found}" for body, _ in message.alternatives for found in active(body)]  # type: ignore[attr-defined]
    assert not faults, "\n".join(faults)
    assert sum(map(len, lots)) == Artifact.objects.count()


def _where(world: World) -> tuple[str, str]:
    return world.project.owner.key, world.project.key


def forms() -> Iterator[tuple[bytes, str]]:
    """Uploads as nobody's browser writes them."""
    for name in NAMES:
        yield name.encode(), "text/html"
        yield (
            name.encode().replace(b'"', b"%22").replace(b"\r", b"").replace(b"\n", b""),
            "image/svg+xml\r\nX: y",
        )
    yield b"\xff\xfe\x00", "text/html"
    yield "ä.html".encode("latin-1"), "x" * 5000


@pytest.mark.usefixtures("artifacts_here")
@pytest.mark.django_db
def test_no_way_to_write_a_name_is_a_fault_of_an_upload(world: World) -> None:
    secret = world.token_of(world.operator)[1]
    address = f"/api/owners/{world.project.owner.key}/projects/{world.project.key}/files"
    client = Client(headers={"Authorization": f"Bearer {secret}"})
    answers: list[Any] = []
    for name, media in forms():
        head = b'--x\r\nContent-Disposition: form-data; name="file"; filename="' + name + b'"\r\n'
        body = head + f"Content-Type: {media}\r\n\r\n<html>\r\n--x--\r\n".encode()
        answers.append(client.generic("POST", address, body, "multipart/form-data; boundary=x"))
    assert {answer.status_code for answer in answers} <= {201, 400}
    for upload in Upload.objects.all():
        assert upload.name.isprintable() and upload.name.strip()
        assert not set(upload.name) & set("/\\")


@pytest.mark.browser
@pytest.mark.wide
@pytest.mark.django_db(transaction=True)
def test_a_browser_runs_none_of_them(page: Page, sign_in: SignIn, world: World) -> None:
    files = [
        (NAMES[(3 * number + 8) % len(NAMES)], CONTENTS[number % len(CONTENTS)]) for number in range(AT_ONCE)
    ]
    task = handed_in(world, version_of(world), files)
    sign_in(page, world.reviewer)
    ran: list[str] = []
    page.context.expose_function("canary", lambda: ran.append(page.url))
    for address in (at(world, "task", task.name), reverse("gate-visit", args=[world.visit(task).pk])):
        page.goto(f"{address}?tab=artifacts")
        page.wait_for_load_state("load")
    for number in range(len(CONTENTS)):
        page.goto(at(world, "task-input-preview", task.name, f"file{number}"))
        page.wait_for_load_state("load")
        with page.expect_download() as download:
            page.get_by_role("main").get_by_role("link", name="Download").click()
        assert download.value.failure() is None
    assert ran == []
