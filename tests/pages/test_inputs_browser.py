"""Files, secrets and repositories as inputs: in a real browser, and against who sends something else."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone
from playwright.sync_api import BrowserContext, Page, expect

from pipelines.errors import InputError
from pipelines.models import Blob, Task, Upload, User
from pipelines.ports.vault import store
from pipelines.work import storage
from tests.factories import World, make_project
from tests.pages.conftest import As, at, text
from tests.work.remotes import allow

SignIn = Callable[[Page | BrowserContext, User], None]
INPUTS = [
    {"key": "patch", "type": "file", "label": "Patch", "required": True},
    {"key": "key", "type": "secret", "label": "Deploy key"},
    {"key": "repository", "type": "repository", "label": "Repository"},
    {"key": "note", "label": "Note", "required": True},
]
EVIL = b"<script>alert(1)</script>"


@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
def test_a_file_is_uploaded_with_the_form_and_downloaded_again(
    page: Page, sign_in: SignIn, world: World, tmp_path: Path
) -> None:
    world.line(inputs=INPUTS)
    file = tmp_path / "evil.html"
    file.write_bytes(EVIL)
    sign_in(page, world.operator)
    page.goto(at(world, "task-new", "line"))
    with page.context.expect_page() as helped:
        page.get_by_label("Patch").press("F1")
    helped.value.wait_for_url("**/help/start-forms/#files")
    page.get_by_label("Title").fill("Apply it")
    page.get_by_label("Patch").set_input_files(file)
    expect(page.get_by_text("none is stored for this line")).to_be_visible()
    expect(page.locator("[name='inputs.key']")).to_have_count(0)
    page.get_by_label("Note").fill(" ")
    page.get_by_label("Repository").fill("/no/such/root")
    page.get_by_role("button", name="Start the task").click()
    # What was uploaded is kept while the rest is mended.
    expect(page.get_by_text("evil.html is uploaded.")).to_be_visible()
    expect(
        page.get_by_text("is a folder of the server that is not allowed; connect it under")
    ).to_be_visible()
    page.get_by_label("Repository").fill("")
    page.get_by_label("Note").fill("now")
    page.get_by_role("button", name="Start the task").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Apply it")
    value = {"name": "evil.html", "digest": hashlib.sha256(EVIL).hexdigest(), "size": len(EVIL)}
    assert Task.objects.get().inputs == {"patch": value, "note": "now"}
    with page.expect_download() as downloaded:
        page.get_by_role("link", name="evil.html").click()
    assert downloaded.value.path().read_bytes() == EVIL


def _upload(world: World, content: bytes = EVIL, name: str = "evil.html") -> dict[str, Any]:
    """Over the API."""
    secret = world.token_of(world.operator)[1]
    address = f"/api/owners/{world.project.owner.key}/projects/{world.project.key}/files"
    sent = {"file": SimpleUploadedFile(name, content, "text/html")}
    answer = Client().post(address, sent, headers={"Authorization": f"Bearer {secret}"})
    assert answer.status_code == 201, answer.content
    return dict(answer.json())


@pytest.mark.django_db
def test_an_uploaded_file_is_never_active_content(world: World, signed_in: As) -> None:
    world.line(inputs=INPUTS)
    value = _upload(world)
    task = world.start(world.project.lines.get().live, inputs={"patch": value, "note": "x"})  # type: ignore[arg-type]
    answer = signed_in(world.viewer).get(at(world, "task-input", task.name, "patch"))
    assert answer.headers["Content-Type"] == "application/octet-stream"
    assert answer.headers["Content-Disposition"].startswith("attachment")
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in answer.headers["Content-Security-Policy"]
    assert b"".join(answer) == EVIL  # type: ignore[arg-type]
    assert signed_in(world.viewer).get(at(world, "task-input", task.name, "note")).status_code == 404
    assert signed_in(world.stranger).get(at(world, "task-input", task.name, "patch")).status_code == 404


@pytest.mark.django_db
def test_a_file_of_another_project_cannot_be_named(world: World) -> None:
    other = World(make_project("other"), world.worker)
    value = _upload(other)
    version = world.line(inputs=INPUTS)
    with pytest.raises(InputError) as fault:
        world.start(version, inputs={"patch": value, "note": "x"})
    assert [problem.path for problem in fault.value.problems] == ["inputs.patch"]
    assert Upload.objects.filter(project=world.project).count() == 0


@pytest.mark.django_db
def test_what_is_too_large_is_dropped_and_said(world: World, signed_in: As, settings: Any) -> None:
    world.line(inputs=INPUTS)
    settings.UPLOAD_BYTES = 100_000
    sent = {"title": "t", "inputs.note": "x", "inputs.patch": SimpleUploadedFile("a", b"x" * 100_001)}
    answer = signed_in(world.operator).post(at(world, "task-new", "line"), sent)
    assert answer.status_code == 422
    assert "is larger than 0 MiB" in text(answer)
    assert not Blob.objects.exists()
    assert not Task.objects.exists()
    sent["inputs.patch"] = SimpleUploadedFile("a", b"x" * 100_000)
    assert signed_in(world.operator).post(at(world, "task-new", "line"), sent).status_code == 302


@pytest.mark.django_db
@pytest.mark.parametrize(
    "patch",
    [
        "a.txt",
        "{",
        "[]",
        "{}",
        '{"name": "a", "digest": "0"}',
        '{"name": "../a\\u0000", "digest": "%s"}' % ("0" * 64),
    ],
)
def test_what_is_no_upload_is_refused_in_the_form(world: World, signed_in: As, patch: str) -> None:
    world.line(inputs=INPUTS)
    sent = {"title": "t", "inputs.note": "x", "inputs.patch": patch}
    assert signed_in(world.operator).post(at(world, "task-new", "line"), sent).status_code == 422
    assert not Task.objects.exists()


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["../../etc/passwd", "C:\\evil\\a.txt", "a\u202etxt", "", "/", "x" * 300])
def test_a_name_is_data_and_never_a_path(world: World, name: str) -> None:
    kept = storage.store_upload(world.project, name, SimpleUploadedFile("x", b"1"), "t", timezone.now())
    assert kept["name"]
    assert len(kept["name"]) <= 200
    assert "/" not in kept["name"]
    assert "\\" not in kept["name"]
    assert kept["name"].isprintable()


# Secrets


@pytest.mark.django_db
def test_a_secret_is_never_filled_nor_shown(world: World, signed_in: As) -> None:
    """By the page, the API or the command: refused, and the answer does not repeat it."""
    version = world.line(inputs=[{"key": "key", "type": "secret", "default": "deploy"}])
    client = signed_in(world.operator)
    refused = client.post(at(world, "task-new", "line"), {"title": "t", "inputs.key": "hunter2"})
    assert refused.status_code == 422
    assert "hunter2" not in text(refused)
    assert "name of a secret that is stored" in text(refused)
    secret = world.token_of(world.operator)[1]
    address = f"/api/owners/{world.project.owner.key}/projects/{world.project.key}/stages/line/tasks"
    headers = {"Authorization": f"Bearer {secret}"}
    body = json.dumps({"title": "t", "inputs": {"key": "hunter2"}})
    answer = Client().post(address, body, "application/json", headers=headers)
    assert answer.status_code == 400
    assert "hunter2" not in text(answer)
    assert "name of a secret that is stored" in text(answer)
    task = world.start(version)
    assert task.inputs == {}
    Task.objects.filter(pk=task.pk).update(inputs={"key": "hunter2"})
    assert "hunter2" not in text(client.get(at(world, "task", task.name)))
    shown = Client().get(f"{address}/{task.name}", headers=headers)
    assert shown.json()["inputs"] == {"key": "••••••"}


@pytest.mark.django_db
def test_a_required_secret_is_asked_for(world: World) -> None:
    version = world.line(inputs=[{"key": "key", "type": "secret", "required": True}])
    with pytest.raises(InputError, match="is required"):
        world.start(version)


@pytest.mark.django_db
def test_a_task_starts_with_the_name_of_a_stored_secret(world: World, signed_in: As) -> None:
    version = world.line(inputs=[{"key": "key", "type": "secret", "default": "DEPLOY"}])
    assert world.start(version).inputs == {}
    store.create_or_replace_value(
        store.ValuePlace(world.project),
        "DEPLOY",
        "not-on-a-page",
        kind="secret",
        by=world.admin,
        now=timezone.now(),
    )
    client = signed_in(world.operator)
    form = text(client.get(at(world, "task-new", "line")))
    assert '<option value="DEPLOY" selected>' in " ".join(form.split()).replace("  ", " ")
    assert "not-on-a-page" not in form
    client.post(at(world, "task-new", "line"), {"title": "t", "inputs.key": "DEPLOY"})
    assert Task.objects.latest("pk").inputs == {"key": "DEPLOY"}
    assert world.start(version).inputs == {"key": "DEPLOY"}


# Repositories


@pytest.mark.smoke(4)
@pytest.mark.django_db
@pytest.mark.parametrize(
    ("repository", "allowed"),
    [
        ("{root}/app", True),
        ("{root}", False),
        ("{root}/../elsewhere", False),
        ("{root}/link/app", False),
        ("{root}-elsewhere", False),
        ("/", False),
        ("/etc", False),
        ("app", False),
        ("../app", False),
        ("file:///etc", False),
        ("ext::sh -c id", False),
        ("git://example.com/a", False),
        ("https://example.com/a.git", True),
        ("ssh://git@example.com/a.git", True),
        ("git@example.com:a.git", True),
        ("/" + "a/" * 3000, False),
    ],
)
def test_a_folder_that_is_not_allowed_is_refused_and_no_path_is_told(
    world: World, signed_in: As, tmp_path: Path, repository: str, allowed: bool
) -> None:
    root = tmp_path / "root"
    (root / "app").mkdir(parents=True)
    (root / "link").symlink_to("/etc")
    allow(world.project.owner, root / "app")
    world.line(inputs=[{"key": "repository", "type": "repository", "label": "Repository"}])
    client = signed_in(world.operator)
    assert str(root) not in text(client.get(at(world, "task-new", "line")))
    sent = {"title": "t", "inputs.repository": repository.format(root=root)}
    answer = client.post(at(world, "task-new", "line"), sent)
    assert answer.status_code == (302 if allowed else 422)
    assert Task.objects.exists() == allowed
    if repository.startswith(("/etc", "{root}-")):
        assert "is not allowed" in text(answer)


# Previews

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 40
SVG = b'<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>'


@pytest.mark.smoke(4)
@pytest.mark.django_db
@pytest.mark.parametrize(
    ("content", "media", "shown"),
    [
        (EVIL, "application/octet-stream", "&lt;script&gt;alert(1)&lt;/script&gt;"),
        (SVG, "application/octet-stream", "&lt;svg xmlns="),
        (b"GIF89a=1;alert(1)//" + EVIL, "image/gif", "<img"),
        (PNG, "image/png", "<img"),
        (b"\xff\xd8\xff\xe0" + EVIL, "image/jpeg", "<img"),
        (b"RIFF\0\0\0\0WEBP" + EVIL, "image/webp", "<img"),
        (b"%PDF-1.7\0" + EVIL, "application/octet-stream", "No preview of this type"),
        (b"\xff\xfe<\0s\0", "application/octet-stream", "No preview of this type"),
        ("\u202etxt.exe".encode(), "application/octet-stream", "\\u202etxt.exe"),
        ("ä".encode() * 40_000, "application/octet-stream", "The file is longer."),
        (b"", "application/octet-stream", "<pre"),
    ],
)
def test_a_preview_shows_a_file_and_runs_nothing(
    world: World, signed_in: As, content: bytes, media: str, shown: str
) -> None:
    world.line(inputs=INPUTS)
    value = _upload(world, content)
    task = world.start(world.project.lines.get().live, inputs={"patch": value, "note": "x"})  # type: ignore[arg-type]
    client = signed_in(world.viewer)
    page = client.get(at(world, "task-input-preview", task.name, "patch"))
    assert page.status_code == 200
    assert shown in text(page)
    assert "<script>alert" not in text(page)
    assert "<svg xmlns" not in text(page)
    raw = client.get(at(world, "task-input", task.name, "patch"))
    assert raw.headers["Content-Type"] == media
    assert raw.headers["Content-Disposition"].startswith("attachment")
    assert raw.headers["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in raw.headers["Content-Security-Policy"]
    assert (
        signed_in(world.stranger).get(at(world, "task-input-preview", task.name, "patch")).status_code == 404
    )


@pytest.mark.django_db
def test_a_file_that_expired_is_named_and_not_linked(world: World, signed_in: As) -> None:
    version = world.line(inputs=INPUTS)
    task = world.start(version, inputs={"patch": _upload(world), "note": "x"})
    Upload.objects.all().delete()
    client = signed_in(world.viewer)
    page = text(client.get(at(world, "task", task.name)))
    assert "evil.html" in page
    assert "expired" in page
    assert at(world, "task-input", task.name, "patch") not in page
    assert client.get(at(world, "task-input-preview", task.name, "patch")).status_code == 404


@pytest.mark.wide
@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
def test_a_chosen_file_is_uploaded_and_shown_before_the_form_is_sent(
    page: Page, sign_in: SignIn, world: World, tmp_path: Path
) -> None:
    world.line(inputs=[{"key": "patch", "type": "file", "label": "Patch", "accept": [".txt"], "maximum": 1}])
    files = {"a.txt": EVIL, "b.exe": b"MZ", "c.txt": b"x" * (1024 * 1024 + 1)}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    sign_in(page, world.operator)
    page.goto(at(world, "task-new", "line"))
    form, chosen = page.get_by_role("main"), page.get_by_label("Patch")
    for name, fault in (
        ("b.exe", "Choose a file of the type .txt."),
        ("c.txt", "The file is larger than 1 MiB."),
    ):
        chosen.set_input_files(tmp_path / name)
        expect(form.get_by_text(fault)).to_be_visible()
        assert not Upload.objects.exists()
    chosen.set_input_files(tmp_path / "a.txt")
    expect(form.get_by_text("a.txt is uploaded.")).to_be_visible()
    expect(page.locator("[data-upload-facts]")).to_contain_text(hashlib.sha256(EVIL).hexdigest()[:12])
    expect(page.locator("[data-upload-preview]")).to_have_text(EVIL.decode())
    assert chosen.input_value() == ""
    page.get_by_role("button", name="Remove").click()
    expect(form.get_by_text("a.txt is uploaded.")).to_be_hidden()
    chosen.set_input_files(tmp_path / "a.txt")
    expect(form.get_by_text("a.txt is uploaded.")).to_be_visible()
    page.get_by_role("button", name="Start the task").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("a.txt")
    assert Task.objects.get().inputs["patch"]["size"] == len(EVIL)
    page.get_by_role("link", name="Preview").click()
    expect(page.locator("pre.file-text")).to_have_text(EVIL.decode())
