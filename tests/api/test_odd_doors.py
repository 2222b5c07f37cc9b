"""What a document says passes every door over HTTP unchanged, however odd its numbers, keys and texts are."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.test import Client

from pipelines.formats import native
from pipelines.models import Line, Membership, Role
from pipelines.routing.basics.canonical import canonical_digest, canonical_json
from pipelines.routing.document.line import read_line
from pipelines.routing.document.networks import document_to_publish
from tests.api.conftest import Api, Apis
from tests.factories import World, make_project
from tests.odd import Drawing, sound, written
from tests.pages.conftest import at, client_of

pytestmark = pytest.mark.django_db
Document = dict[str, Any]
PARTS = ("inputs", "stations", "gates", "ends")


@dataclass(frozen=True)
class Doors:
    """The doors of one project, and of another that gets copies, as somebody who may do all there."""

    world: World
    api: Api
    other: Api
    pages: Client

    def line(self, key: str, api: Api | None = None) -> Line:
        owner, project = re.findall(r"/owners/([^/]+)/projects/([^/]+)", (api or self.api).base)[0]
        return Line.objects.get(project__owner__key=owner, project__key=project, key=key)

    def page(self, name: str, line: Line, *rest: object) -> str:
        return at(self.world, name, line.key, *rest)


@dataclass(frozen=True)
class Passage:
    """One document on its way: `document` is what `text` says. `faults` gets the doors that changed it."""

    doors: Doors
    key: str
    text: str
    document: Document
    faults: list[str] = field(default_factory=list)

    @property
    def line(self) -> Line:
        return self.doors.line(self.key)

    def same(self, door: str, after: Any, **changed: Any) -> None:
        """Note the door unless it gave the same document, but for what it was to change at the top."""
        expected = {**self.document, **changed}
        if canonical_json(after) == canonical_json(expected):
            return
        differences = [
            f"{key}: {expected.get(key, '(none)')!r:.300} … {after.get(key, '(none)')!r:.300}"
            for key in {**expected, **after}
            if canonical_json(expected.get(key)) != canonical_json(after.get(key))
        ]
        self.faults.append(f"{self.key}: {door}: {'; '.join(differences)}")

    def same_text(self, door: str, after: str) -> None:
        if after != self.text:
            self.faults.append(f"{self.key}: {door}: {self.text[:300]!r} … {after[:300]!r}")


@pytest.fixture
def doors(world: World, api: Apis) -> Doors:
    project = make_project("copies", "copies")
    Membership.objects.create(project=project, user=world.admin, roles=[Role.ADMIN], execute=True)
    own = api.as_(world.admin, "read", "submit", "report", "decide", "design", "settings")
    return Doors(world, own, Apis(World(project, world.worker)).as_(world.admin), client_of(world.admin))


def answered(answer: Any, *codes: int) -> Any:
    assert answer.status_code in (codes or (200,)), answer.content[:1_000]
    return answer


def put_and_read(passage: Passage) -> None:
    line = passage.line
    read = answered(passage.doors.api.get(f"/lines/{line.key}/draft")).json()
    passage.same("PUT draft", read["document"])
    passage.same_text("PUT draft, text", read["text"])
    assert canonical_json(line.draft) == canonical_json(read["document"])


def edited_and_merged(passage: Passage) -> None:
    api, line = passage.doors.api, passage.line
    number, document = line.draft_number, passage.document
    there = f"/lines/{line.key}/draft"

    def edit(based_on: int, changed: Document, text: str = "") -> Any:
        body = {"based_on": based_on, "base": document, "document": changed, "text": text}
        return answered(api.send("PATCH", there, body)).json()

    edit(number, {**document, "name": "Another name"})
    passage.same("PATCH draft", api.get(there).json()["document"], name="Another name")
    merged = edit(number, {**document, "description": "Another description"})
    both = {"name": "Another name", "description": "Another description"}
    passage.same("PATCH draft, merged", merged["document"], **both)
    passage.same("PATCH draft, merged and stored", passage.line.draft, **both)
    edited = {**document, **both}
    body = {"based_on": merged["number"], "base": edited, "document": document, "text": passage.text}
    answered(api.send("PATCH", there, body))
    passage.same("PATCH draft with a text", passage.line.draft)
    passage.same_text("PATCH draft with a text", passage.line.draft_text)


def downloaded(passage: Passage) -> None:
    pages, address = passage.doors.pages, passage.doors.page("line-export", passage.line)
    text = answered(pages.get(address, {"version": "draft"})).content.decode()
    passage.same_text("download as YAML", text)
    passage.same(
        "download as JSON", json.loads(pages.get(address, {"version": "draft", "as": "json"}).content)
    )


def typed_on_a_page(passage: Passage) -> None:
    """The page of the document's text, sent as a browser sends a form."""
    pages, address = passage.doors.pages, passage.doors.page("line-edit", passage.line)
    page = answered(pages.get(address)).content.decode()
    (area,) = re.findall(r'<textarea[^>]*name="text"[^>]*>(.*?)</textarea>', page, re.DOTALL)
    shown = html.unescape(area).removeprefix("\n")
    passage.same_text("page of the text", shown)
    form = {"text": shown.replace("\n", "\r\n"), "based_on": passage.line.draft_number}
    answered(pages.post(address, form), 302)
    passage.same("page of the text, saved", passage.line.draft)
    passage.same_text("page of the text, saved", passage.line.draft_text)


def imported_on_the_canvas(passage: Passage) -> None:
    body = {"document": {"name": "Before"}, "text": passage.text}
    read = answered(passage.doors.api.post(f"/lines/{passage.key}/draft/import", body)).json()
    passage.same("import on the canvas", read["document"], key=passage.key)
    passage.same_text("import on the canvas", read["text"])


def imported_in_a_project(passage: Passage) -> None:
    if passage.document["key"] != passage.key:
        return  # it is no line that could be imported: its key is a number, or an object
    other = passage.doors.other
    files = {"line.json": passage.text}
    seen = answered(other.post("/import", {"files": files, "save": True}), 201).json()
    passage.same("import, looked at", seen["document"])
    made = seen["saved"]["key"]
    imported = passage.doors.line(made, other)
    passage.same("import", imported.draft)
    passage.same_text("import", imported.draft_text)
    body = {"files": files, "save": True, "key": f"{made}-again"}
    again = passage.doors.line(answered(other.post("/import", body), 201).json()["saved"]["key"], other)
    passage.same("import under another key", again.draft, key=again.key)
    passage.same("import under another key, text", native.loads(again.draft_text), key=again.key)


def duplicated(passage: Passage) -> None:
    doors, line = passage.doors, passage.line
    for target, api in (("another project", doors.other), ("its project", doors.api)):
        owner, project = re.findall(r"/owners/([^/]+)/projects/([^/]+)", api.base)[0]
        body = {"owner": owner, "project": project}
        made = answered(doors.api.post(f"/lines/{line.key}/duplicate", body), 201).json()
        copy = doors.line(made["key"], api)
        changed = {} if copy.key == line.key else {"key": copy.key}
        passage.same(f"copy to {target}", copy.draft, **changed)
        if copy.draft_text:
            passage.same(f"copy to {target}, text", native.loads(copy.draft_text), **changed)


def renamed(passage: Passage) -> None:
    api, line = passage.doors.api, passage.line
    name = "Another name: “a” # b"
    answered(api.send("PATCH", f"/lines/{line.key}", {"name": name}))
    passage.same("rename", passage.line.draft, name=name)
    passage.same("rename, text", native.loads(passage.line.draft_text), name=name)


TYPED = {"name": "Typed: “a” # b", "label": "Typed: “a” # b", "limits.expected": "90"}
"""By a field of a form, what is typed into it."""
FIELDS = {"line": "name", "station": "limits.expected", "rule": "label", "gate": "name", "end": "label"}


def typed_in_forms(passage: Passage) -> None:
    """What is typed into a form of the inspector changes its field, and nothing else of the part."""
    document, chosen = passage.document, Drawing(passage.key).random.choice
    station = chosen(document["stations"])
    parts: dict[str, tuple[Document, str]] = {
        "line": (document, "name"),
        "station": (station, "limits.expected"),
        "rule": (chosen(station["rules"]), "label"),
        "gate": (chosen(document["gates"]), "name"),
        "end": (chosen(document["ends"]), "label"),
    }
    for form, (part, name) in parts.items():
        typed = "90" if name == "limits.expected" else "Typed: “a” # b"
        own = "" if form == "line" else part.get("key", part.get("id"))
        body = {"fragment": part, "own": own, "typed": {name: [typed]}}
        answer = answered(passage.doors.api.post(f"/lines/{passage.key}/draft/forms/{form}", body)).json()
        assert canonical_json(answer["fragment"]) != canonical_json(part), form
        expected = {**part, name: typed} if name in part else part
        wrong = lost(expected, answer["fragment"], "")
        passage.faults.extend(f"{passage.key}: form {form}: {each}" for each in wrong)


def published(passage: Passage) -> None:
    """The version says all of the draft, and what the draft leaves out; each of its doors says just that."""
    doors, line = passage.doors, passage.line
    body = {"draft": line.draft_number}
    version = answered(doors.api.post(f"/lines/{line.key}/publish", body), 201).json()
    stored = line.versions.get(number=version["number"]).document
    missing = lost(passage.document, stored, "")
    passage.faults.extend(f"{line.key}: published: {each}" for each in missing)
    whole = Passage(
        doors,
        line.key,
        passage.text,
        document_to_publish(read_line(passage.document).to_document()),
        passage.faults,
    )
    whole.same("published", stored)
    assert version["digest"] == canonical_digest(stored)
    for query in ("", "?version=1"):
        whole.same(
            f"document{query}", native.loads(doors.api.get(f"/lines/{line.key}/document{query}").content)
        )
    export = doors.page("line-export", line)
    whole.same("version as YAML", native.loads(doors.pages.get(export).content))
    whole.same("version as JSON", json.loads(doors.pages.get(export, {"as": "json", "version": "1"}).content))
    page = answered(doors.pages.get(doors.page("line-version", line, 1))).content.decode()
    (code,) = re.findall(r"<pre[^>]*><code[^>]*>(.*?)</code></pre>", page, re.DOTALL)
    whole.same("page of the version", native.loads(html.unescape(code)))
    drawn = doors.api.get(f"/lines/{line.key}/picture?from_=live&to=live").json()["document"]
    missing = lost({name: passage.document[name] for name in PARTS}, drawn, "")
    passage.faults.extend(f"{line.key}: picture: {each}" for each in missing)


def restored(passage: Passage) -> None:
    """A version becomes the draft, and the draft that was put aside comes back with its text."""
    doors, line = passage.doors, passage.line
    version, text = line.versions.get().document, line.draft_text
    address = doors.page("line-restore", line)
    form = {"source": "1", "based_on": line.draft_number}
    answered(doors.pages.post(address, form), 302)
    Passage(doors, line.key, passage.text, version, passage.faults).same(
        "version restored", passage.line.draft
    )
    aside = line.record.filter(draft__isnull=False).get()
    form = {"source": f"aside-{aside.pk}", "based_on": passage.line.draft_number}
    answered(doors.pages.post(address, form), 302)
    passage.same("draft restored", passage.line.draft)
    if passage.line.draft_text != text:
        passage.faults.append(f"{line.key}: draft restored: {text!r:.300} … {passage.line.draft_text!r:.300}")


def started(passage: Passage) -> None:
    """A text that the start form begins with comes into the task as it is."""
    doors, key = passage.doors, passage.key
    fields = answered(doors.api.get(f"/lines/{key}/start-form")).json()["fields"]
    inputs = {each["key"]: each["default"] for each in fields}
    usual = {each["key"]: each["default"] for each in passage.document["inputs"]}
    if inputs != usual:
        passage.faults.append(f"{key}: start form: {usual!r:.300} … {inputs!r:.300}")
    made = answered(doors.api.post(f"/stages/{key}/tasks", {"inputs": usual}), 201).json()
    read = doors.api.get(f"/stages/{key}/tasks/{made['id']}").json()["inputs"]
    if read != usual:
        passage.faults.append(f"{key}: inputs of a task: {usual!r:.300} … {read!r:.300}")


EMPTY = (("label", ""), ("description", ""))


def lost(before: Any, after: Any, place: str) -> list[str]:
    """Return what `after`, which may say more, does not say as `before` does. An empty label or description is none."""
    if isinstance(before, dict) and isinstance(after, dict):
        gone = [key for key, value in before.items() if key not in after and (key, value) not in EMPTY]
        both = [(before[key], after[key], f"{place}.{key}") for key in before if key in after]
        return [f"{place}.{key} is gone" for key in gone] + [each for pair in both for each in lost(*pair)]
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        pairs = enumerate(zip(before, after, strict=True))
        return [each for number, (old, new) in pairs for each in lost(old, new, f"{place}[{number}]")]
    return (
        []
        if canonical_json(before) == canonical_json(after)
        else [f"{place}: {before!r:.200} … {after!r:.200}"]
    )


ANY: tuple[Callable[[Passage], None], ...] = (
    put_and_read,
    edited_and_merged,
    downloaded,
    typed_on_a_page,
    imported_on_the_canvas,
    imported_in_a_project,
    duplicated,
    typed_in_forms,
)
"""The doors of every document, also of one that is no line yet."""
SOUND = (*ANY, published, restored, started)
"""And those of one that can be published: half of what is drawn."""
LAST = renamed


def passed(doors: Doors, seeds: Iterable[int]) -> list[str]:
    """Send documents through all doors and return what became of them."""
    faults: list[str] = []
    for seed in seeds:
        drawing = Drawing(f"odd {seed}", f"odd-{seed}")
        text = written(drawing, sound(drawing) if seed % 2 else None)
        answered(doors.api.put(f"/lines/odd-{seed}/draft", text))
        passage = Passage(doors, f"odd-{seed}", text, native.loads(text), faults)
        for go_through in (*(SOUND if seed % 2 else ANY), LAST):
            go_through(passage)
    return faults


def test_odd_documents_pass_every_door_unchanged(doors: Doors) -> None:
    faults = passed(doors, range(250, 252))
    assert not faults, "\n".join(faults)


@pytest.mark.soak
@pytest.mark.parametrize("first", range(0, 2_000, 50))
def test_two_thousand_odd_documents_pass_every_door_unchanged(doors: Doors, first: int) -> None:
    faults = passed(doors, range(first, first + 50))
    assert not faults, "\n".join(faults)
