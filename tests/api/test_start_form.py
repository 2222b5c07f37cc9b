"""The start form of a line: the same in the browser, over the API and on the command line, and so is what is wrong."""

from __future__ import annotations

import json
from html import unescape
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone

from gateline.failures import InvalidFailure
from gateline.form_values import parse_value as from_shell
from pipelines.models import Task, Upload
from pipelines.ports.vault import store
from pipelines.routing.basics.file_signatures import content_kind, contradicting_ending_or_empty
from tests.factories import World
from tests.pages.conftest import at, client_of, door, text

pytestmark = pytest.mark.django_db
FIELDS = [
    {
        "key": "why",
        "type": "long_text",
        "label": "Reason",
        "help": "Be brief.",
        "minimum": 3,
        "required": True,
    },
    {"key": "ticket", "label": "Ticket", "pattern": "[A-Z]+-[0-9]+", "maximum": 9},
    {"key": "tries", "type": "number", "label": "Tries", "minimum": 1, "maximum": 5, "default": 3},
    {"key": "strict", "type": "yes_no", "label": "Warnings are errors", "default": True},
    {"key": "kind", "type": "choice", "label": "Kind", "choices": ["fast", "slow"], "default": "slow"},
    {"key": "on", "type": "date", "label": "On"},
    {"key": "revision", "type": "revision", "label": "Revision", "default": "main"},
    {"key": "repository", "type": "repository", "label": "Repository"},
    {"key": "patch", "type": "file", "label": "Patch", "accept": [".patch", ".png"], "maximum": 1},
    {"key": "deploy", "type": "secret", "label": "Deploy key", "default": "DEPLOY"},
    {"key": "plain"},
]
GOOD = {"why": "because"}
PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)


@pytest.fixture
def line(world: World) -> str:
    store.create_or_replace_value(
        store.ValuePlace(world.project),
        "DEPLOY",
        "12345678",
        kind="secret",
        by=world.admin,
        now=timezone.now(),
    )
    return world.line(name="Release", inputs=FIELDS).line.key


def bearer(world: World) -> Client:
    return Client(headers={"Authorization": f"Bearer {world.token_of(world.operator)[1]}"})


def form_of(world: World, line: str) -> dict[str, Any]:
    answer = bearer(world).get(door(world, "/start-form", line))
    assert answer.status_code == 200
    return dict(answer.json())


def test_the_form_says_of_each_field_what_the_page_shows(world: World, line: str) -> None:
    form, page = form_of(world, line), text(client_of(world.operator).get(at(world, "task-new", line)))
    assert (form["version"], form["title"]) == (1, "Release: slow")
    assert f'value="{form["title"]}"' in page
    assert [field["key"] for field in form["fields"]] == [field["key"] for field in FIELDS]
    for field, said in zip(form["fields"], FIELDS, strict=True):
        assert field["type"] == said.get("type", "text")
        assert field["label"] == said.get("label", "plain")
        assert field["required"] == said.get("required", False)
        assert (field["default"], field["pattern"]) == (said.get("default"), said.get("pattern", ""))
        assert f'name="inputs.{field["key"]}"' in page
        assert field["help"] in unescape(page)
    by_key = {field["key"]: field for field in form["fields"]}
    assert by_key["why"]["help"] == "Be brief. At least 3 characters."
    assert (by_key["kind"]["choices"], by_key["deploy"]["choices"]) == (["fast", "slow"], ["DEPLOY"])
    assert (by_key["patch"]["maximum"], by_key["patch"]["accept"]) == (1, [".patch", ".png"])
    assert (by_key["tries"]["minimum"], by_key["tries"]["maximum"]) == (1, 5)


def test_what_the_form_begins_with_starts_a_task(world: World, line: str) -> None:
    begins = {field["key"]: field["default"] for field in form_of(world, line)["fields"]}
    address = f"/api/owners/{world.project.owner.key}/projects/{world.project.key}/stages/{line}/tasks"
    body = json.dumps({"inputs": begins | GOOD})
    assert bearer(world).post(address, body, content_type="application/json").status_code == 201
    assert Task.objects.get().inputs == {
        **GOOD, "tries": 3, "strict": True, "kind": "slow", "revision": "main", "deploy": "DEPLOY"
    }  # fmt: skip


def test_a_line_that_is_not_published_has_no_form_yet(world: World) -> None:
    version = world.line()
    version.line.live = None
    version.line.save()
    assert bearer(world).get(door(world, "/start-form", "line")).status_code == 409


@pytest.mark.smoke(8)
@pytest.mark.parametrize(
    ("key", "typed", "value"),
    [
        ("why", "", ""),
        ("why", "ab", "ab"),
        ("ticket", "abc", "abc"),
        ("ticket", "ABCDEF-123", "ABCDEF-123"),
        ("tries", "many", "many"),
        ("tries", "9", 9),
        ("tries", "0.5", 0.5),
        ("tries", "NaN", "NaN"),
        ("tries", "1e999", "1e999"),
        ("tries", "1_0", "1_0"),
        ("tries", "٣", "٣"),
        ("tries", "9" * 5000, "9" * 5000),
        ("kind", "medium", "medium"),
        ("on", "tomorrow", "tomorrow"),
        ("on", "2026-02-30", "2026-02-30"),
        ("revision", "--upload-pack=x", "--upload-pack=x"),
        ("repository", "/no/such/root", "/no/such/root"),
        ("repository", "ext::sh -c id", "ext::sh -c id"),
        ("deploy", "hunter2", "hunter2"),
        ("deploy", "OTHER", "OTHER"),
    ],
)
def test_the_same_wrong_input_is_the_same_problem_everywhere(
    world: World, line: str, key: str, typed: str, value: Any
) -> None:
    address = f"/api/owners/{world.project.owner.key}/projects/{world.project.key}/stages/{line}/tasks"
    body = json.dumps({"inputs": {**GOOD, key: value}})
    answer = bearer(world).post(address, body, content_type="application/json")
    assert answer.status_code == 400, answer.content
    problems = {each["path"]: each["message"] for each in answer.json()["errors"]}
    assert list(problems) == [f"inputs.{key}"]

    kind = next(str(field.get("type", "text")) for field in FIELDS if field["key"] == key)
    try:
        entered = from_shell({"type": kind}, key, typed)
    except InvalidFailure as refusal:
        assert [place.path for place in refusal.places] == [f"inputs.{key}"]
    else:
        shell = bearer(world).post(
            address, json.dumps({"inputs": {**GOOD, key: entered}}), content_type="application/json"
        )
        assert {each["path"] for each in shell.json()["errors"]} == {f"inputs.{key}"}

    sent = {f"inputs.{name}": said for name, said in {**GOOD, key: typed}.items()}
    page = client_of(world.operator).post(at(world, "task-new", line), {"title": "t", **sent})
    assert page.status_code == 422
    label = next(str(field["label"]) for field in FIELDS if field["key"] == key)
    assert f"{label} {problems[f'inputs.{key}']}." in unescape(text(page))
    assert not Task.objects.exists()


@pytest.mark.parametrize("typed", ["2", " 2 ", "+2", "2.0", "2e0"])
def test_a_number_is_read_the_same_from_a_form_and_from_the_command(
    world: World, line: str, typed: str
) -> None:
    sent = {"title": "t", "inputs.why": "because", "inputs.tries": typed}
    client_of(world.operator).post(at(world, "task-new", line), sent)
    inputs = {"why": "because", "tries": from_shell({"type": "number"}, "tries", typed)}
    started = bearer(world).post(
        door(world, "/tasks", line).replace("/lines/", "/stages/"),
        json.dumps({"inputs": inputs}),
        content_type="application/json",
    )
    assert started.status_code == 201, started.content
    assert [task.inputs["tries"] for task in Task.objects.all()] == [2, 2]


# What a file holds, beside what it is called


@pytest.mark.parametrize(
    ("name", "content", "fault"),
    [
        ("a.png", PNG, ""),
        ("a.png", b"<script>", ".png"),
        ("a.png", b"", ".png"),
        ("a.PNG", b"GIF89a", ".png"),
        ("a.jpg", b"\xff\xd8\xff\xe0", ""),
        ("a.webp", b"RIFF\0\0\0\0WEBPVP8 ", ""),
        ("a.webp", b"RIFF\0\0\0\0WAVEfmt ", ".webp"),
        ("a.pdf", b"%PDF-1.7\n", ""),
        ("a.docx", b"PK\x03\x04...", ""),
        ("a.tar.gz", b"\x1f\x8b\x08", ""),
        ("a.tar", bytes(257) + b"ustar\x0000", ""),
        ("a.csv", b"a;b\n\xe4;1\n", ""),
        ("a.csv", b"\xff\xfea\0;\0", ""),
        ("a.csv", b"", ""),
        ("a.csv", b"MZ\x90\0\3\0", ".csv"),
        ("a.patch", b"%PDF-1.7\n", ".patch"),
        ("a.bin", b"MZ\x90\0\3\0", ""),
        ("png", PNG, ""),
    ],
)
def test_the_first_bytes_say_whether_the_ending_is_true(name: str, content: bytes, fault: str) -> None:
    assert contradicting_ending_or_empty(name, content_kind(content)) == fault


def test_nobody_looked_at_a_file_of_before() -> None:
    assert contradicting_ending_or_empty("a.png", "") == ""


def test_a_file_that_is_not_what_it_is_called_is_refused_everywhere(world: World, line: str) -> None:
    fault = "has the ending .png, but its content is of another type"
    tasks = f"/api/owners/{world.project.owner.key}/projects/{world.project.key}"
    sent = {"file": SimpleUploadedFile("a.png", b"<script>alert(1)</script>", "image/png")}
    value = bearer(world).post(f"{tasks}/files", sent).json()
    body = json.dumps({"inputs": {**GOOD, "patch": value}})
    answer = bearer(world).post(f"{tasks}/stages/{line}/tasks", body, content_type="application/json")
    assert [each["message"] for each in answer.json()["errors"]] == [fault]
    form = {"title": "t", "inputs.why": "because", "inputs.patch": SimpleUploadedFile("a.png", b"<svg/>")}
    page = client_of(world.operator).post(at(world, "task-new", line), form)
    assert (page.status_code, f"Patch {fault}." in text(page)) == (422, True)
    assert not Task.objects.exists()
    form["inputs.patch"] = SimpleUploadedFile("a.png", PNG)
    assert client_of(world.operator).post(at(world, "task-new", line), form).status_code == 302
    assert Upload.objects.filter(content="png").count() == 1
