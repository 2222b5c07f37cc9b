"""A new line from a document: of Gateline's own or of another system, as text, as a file and as a folder."""

from __future__ import annotations

import html
import io
import json
import re
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponse
from django.test import Client

from pipelines.formats import native
from pipelines.models import Line
from pipelines.web.lines.document_paths import path_text
from tests.factories import World, document
from tests.pages.conftest import As, at, text
from tests.pages.foreign_documents import AEEF, ALP, CONTENOX, FLUX, WHOLE_VIBE

pytestmark = pytest.mark.django_db


@pytest.fixture
def client(world: World, signed_in: As) -> Client:
    return signed_in(world.designer)


@pytest.mark.parametrize("given", [ALP, CONTENOX, WHOLE_VIBE, FLUX, AEEF])
def test_a_new_line_of_such_a_document_is_shown_before_it_is_saved(
    world: World, client: Client, given: dict[str, Any]
) -> None:
    shown = client.post(at(world, "lines-new"), {"text": json.dumps(given)})
    assert shown.status_code == 200 and Line.objects.count() == 0
    page = text(shown)
    assert "1 station ·" in page and "Nothing is saved yet." in page
    document = html.unescape(
        re.search(r"<textarea[^>]*>\n?(.*?)</textarea>", shown.content.decode(), re.DOTALL)[1]
    )  # type: ignore[index]
    saved = client.post(at(world, "lines-new"), {"text": document})
    assert saved.status_code == 302
    assert Line.objects.get().draft == native.loads(document)


@pytest.mark.parametrize(
    "given", [{"handoff_id": ""}, {**FLUX, "stages": [{"id": "a", "onPass": "nowhere"}]}]
)
def test_a_new_line_of_what_cannot_be_read_is_refused(
    world: World, client: Client, given: dict[str, Any]
) -> None:
    answer = client.post(at(world, "lines-new"), {"text": json.dumps(given)})
    assert answer.status_code == 422
    assert "cannot be read as a line yet" in text(answer)
    as_file = SimpleUploadedFile("line.json", json.dumps({**given, "name": "Kept to be mended"}).encode())
    assert "Kept to be mended" in text(client.post(at(world, "lines-new"), {"file": as_file}))
    assert Line.objects.count() == 0


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"gateline": 1, "name": "Fresh", "stations": []}, "“Key” is missing."),
        ({"stations": [{"id": "a", "onPass": "nowhere"}]}, None),
        ({**FLUX, "stages": [{"id": "a", "onPass": "nowhere"}]}, "Stage 1 · On pass: "),
    ],
)
def test_a_new_line_is_refused_with_places_in_words(
    world: World, client: Client, given: dict[str, Any], sentence: str | None
) -> None:
    answer = client.post(at(world, "lines-new"), {"text": json.dumps(given)})
    assert answer.status_code == 422
    problems = html.unescape(
        answer.content.decode().partition('<ul class="problems"')[2].partition("</ul>")[0]
    )
    assert problems
    assert sentence is None or sentence in problems, problems
    assert "<code" not in problems
    assert not re.search(r"\w\[\d+\]", problems)


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("stations[1].trigger.promptTemplate", "Block · Trigger · Prompt template"),
        ("stations[0].rules[1].to", "Station 1 · Rule 2 · To"),
        ("policies[0]", "Policy 1"),
        ("a/station.json: gates[0].maxRetries", "a/station.json · Gate 1 · Max retries"),
        ("[1].baseURL", "2 · Base URL"),
        ("", ""),
    ],
)
def test_a_place_in_a_document_of_another_system_is_said_in_words(path: str, words: str) -> None:
    assert path_text({"stations": [{"id": "a"}, {"id": "b", "name": "Block"}]}, path) == words


def zipped(line: dict[str, Any]) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr(".agentics/assembly-line.json", json.dumps({"name": line["name"]}))
        archive.writestr(".agentics/stations/01-a/station.json", json.dumps(line["stations"][0]))
    return held.getvalue()


def test_a_folder_of_an_assembly_line_comes_as_a_zip(world: World, client: Client) -> None:
    archive = SimpleUploadedFile("line.zip", zipped(ALP))
    page = text(client.post(at(world, "lines-new"), {"file": archive}))
    assert "ALP (Agentics)" in page and "1 station ·" in page
    wrong = client.post(at(world, "lines-new"), {"file": SimpleUploadedFile("line.zip", b"PK broken")})
    assert wrong.status_code == 422 and "The archive cannot be read:" in text(wrong)


def test_a_folder_comes_with_the_paths_of_its_files_and_is_drawn_before_it_is_saved(
    world: World, client: Client
) -> None:
    def sent_with(paths: Any, text: str = "") -> HttpResponse:
        parts = [("assembly-line.json", {"name": "Checks"}), ("station.json", ALP["stations"][0])]
        files = [SimpleUploadedFile(name, json.dumps(said).encode()) for name, said in parts]
        return client.post(at(world, "lines-new"), {"folder": files, "paths": text or json.dumps(paths)})

    page = sent_with([".agentics/assembly-line.json", ".agentics/stations/01-a/station.json"])
    assert page.status_code == 200 and Line.objects.count() == 0
    assert "ALP (Agentics)" in text(page) and b"data-drawing" in page.content
    for paths in ([], ["a.json"], 5, [1, 2], ["\ud800.json", "b.json"]):
        assert sent_with(paths).status_code == 422
    for broken in ("[" * 50_000, "1" * 5_000):
        assert sent_with([], broken).status_code == 422


def test_what_differs_in_several_places_is_told_once_with_each_of_them(world: World, client: Client) -> None:
    work = {"type": "dispatch_worker", "promptTemplate": "For {{project.name}}"}
    stations = [{"id": each[0], "name": each, "trigger": work} for each in ("Apply", "Block")]
    given = {**ALP, "stations": stations, "transitionRules": []}
    page = client.post(at(world, "lines-new"), {"text": json.dumps(given, indent=1)}).content.decode()
    assert "2 differences from the original" in page and page.count("does not fill in") == 1
    assert re.search(r"<span>Apply · Trigger · Prompt template · line \d+</span>", page)
    assert "Block · Trigger · Prompt template · line" in page


class Shelf(BaseHTTPRequestHandler):
    """A server of documents on this machine."""

    def do_GET(self) -> None:
        kind, body = {
            "/line.yaml": ("text/plain", native.dumps(document(key="fetched", name="Fetched")).encode()),
            "/flux.json": ("application/json", json.dumps(FLUX).encode()),
            "/page": ("text/html; charset=utf-8", b"<html>"),
            "/large": ("text/plain", b"#" * 2_000_001),
        }.get(self.path, ("", b""))
        self.send_response(200 if kind else 404)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def shelf() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Shelf)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def test_a_document_is_read_from_an_address_and_one_of_another_system_is_shown_first(
    world: World, client: Client, shelf: str, settings: Any
) -> None:
    settings.PRIVATE_HOSTS = ["127.0.0.1"]
    page = at(world, "lines-new")
    shown = client.post(page, {"address": f"{shelf}/flux.json", "text": ""})
    assert shown.status_code == 200 and "Nothing is saved yet." in text(shown) and not Line.objects.exists()
    assert client.post(page, {"address": f"{shelf}/line.yaml", "text": "typed before"}).status_code == 302
    assert Line.objects.get().key == "fetched"


def test_an_address_of_no_document_is_refused_at_its_field_and_nothing_is_lost(
    world: World, client: Client, shelf: str, settings: Any
) -> None:
    page = at(world, "lines-new")

    def refused(address: str) -> str:
        answer = client.post(page, {"address": address, "text": "typed before"})
        assert answer.status_code == 422 and "typed before" in text(answer)
        return text(answer)

    assert "begins with https://" in refused(f"{shelf}/line.yaml"), "a private host that nobody listed"
    assert "It cannot be fetched" in refused(f"{shelf.replace('http', 'https')}/line.yaml")
    for address in ("ftp://example.com/a", "line.yaml", "https://[", "http:///etc/passwd"):
        assert "begins with https://" in refused(address)
    settings.PRIVATE_HOSTS = ["127.0.0.1"]
    for place, words in (
        ("none", "answered 404"),
        ("page", "a page, and no document"),
        ("large", "larger than 2 MB"),
    ):
        assert words in refused(f"{shelf}/{place}")
    assert not Line.objects.exists()
