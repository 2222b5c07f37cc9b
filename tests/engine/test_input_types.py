"""The types of inputs and what bounds them: the same check for the form, the API and the command line."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone

from pipelines.engine.commands.inputs import input_fault_text, title_from_inputs
from pipelines.errors import InputError
from pipelines.routing.document.inputs import Input
from pipelines.work import storage
from tests.factories import World


@pytest.mark.parametrize(
    ("type_", "more", "value", "fault"),
    [
        ("long_text", {}, "two\nlines", ""),
        ("text", {"minimum": 3}, "ab", "has to have at least 3 characters"),
        ("text", {"maximum": 3}, "abcd", "may have at most 3 characters"),
        ("text", {"maximum": 3}, "äöü", ""),
        ("text", {"pattern": "[A-Z]+-[0-9]+"}, "ABC-12", ""),
        ("text", {"pattern": "[A-Z]+-[0-9]+"}, "see ABC-12", "has to match [A-Z]+-[0-9]+"),
        ("text", {"pattern": "(a+)+"}, "a" * 50_000 + "b", "has to match (a+)+"),
        ("number", {"minimum": 0, "maximum": 5}, 5, ""),
        ("number", {"minimum": 0}, -0.5, "has to be 0 or more"),
        ("number", {"maximum": 5}, 5.01, "has to be 5 or less"),
        ("yes_no", {}, False, ""),
        ("yes_no", {}, "false", "has to be yes or no: true or false"),
        ("yes_no", {}, 0, "has to be yes or no: true or false"),
        ("revision", {}, "feature/a_b-1.2", ""),
        ("revision", {}, "0f3c9a", ""),
        ("revision", {}, "@", ""),
        *(
            ("revision", {}, value, "has to be a branch, a tag or a commit")
            for value in ("--upload-pack=x", "a..b", "a b", "a:b", "a~1", "/a", "", "a\n", "x" * 251, 1)
        ),
    ],
)
def test_a_value_is_checked_by_the_type_and_the_bounds_of_its_field(
    type_: str, more: dict[str, Any], value: Any, fault: str
) -> None:
    assert input_fault_text(Input("field", type_, **more), value) == fault


@pytest.mark.django_db
def test_a_file_is_bounded_by_its_ending_and_the_size_that_was_measured(world: World) -> None:
    version = world.line(
        inputs=[
            {"key": "file", "type": "file", "accept": [".txt", ".tar.gz"], "maximum": 1, "required": True}
        ]
    )

    def upload(name: str, size: int) -> dict[str, Any]:
        content = (b"\x1f\x8b" if name.endswith(".gz") else b"").ljust(size, b"x")
        return storage.store_upload(
            world.project, name, SimpleUploadedFile("x", content), "t", timezone.now()
        )

    for name, size, fault in (
        ("a.exe", 1, "has to be a file of the type .txt, .tar.gz"),
        ("a.txt", 1024 * 1024 + 1, "is larger than 1 MiB"),
    ):
        with pytest.raises(InputError) as refused:
            world.start(version, inputs={"file": {**upload(name, size), "size": 1}})
        assert [each.message for each in refused.value.problems] == [fault]
    for name in ("A.TXT", "b.tar.gz"):
        assert world.start(version, inputs={"file": upload(name, 1024 * 1024)}).inputs["file"]["name"] == name


@pytest.mark.parametrize(
    ("fields", "filled", "title"),
    [
        ([], {}, "Check"),
        (
            [Input("a", "number"), Input("b", "yes_no"), Input("c", "secret")],
            {"a": 1, "b": True, "c": "K"},
            "Check",
        ),
        ([Input("a", "number"), Input("b", "text")], {"a": 1, "b": "\n one \n two"}, "Check: one"),
        ([Input("a", "repository")], {"a": "https://example.org/team/app.git"}, "Check: app"),
        ([Input("a", "repository")], {"a": "git@example.org:app"}, "Check: app"),
        ([Input("a", "repository")], {"a": "/srv/app/"}, "Check: app"),
        ([Input("a", "file")], {"a": {"name": "fix.patch", "digest": ""}}, "Check: fix.patch"),
        ([Input("a", "text"), Input("b", "choice")], {"a": "\u202eevil", "b": "fast"}, "Check: fast"),
        ([Input("a", "long_text")], {"a": "x" * 400}, "Check: " + "x" * 71 + "…"),
        (
            [Input("a", "long_text")],
            {"a": "Nobody should guess passwords. Count attempts by account and by address.\nMore."},
            "Check: Nobody should guess passwords.",
        ),
        ([Input("a", "long_text")], {"a": "word " * 99}, "Check: " + "word " * 13 + "word…"),
    ],
)
def test_a_title_is_made_from_the_line_and_the_first_input_that_tells(
    fields: list[Input], filled: dict[str, Any], title: str
) -> None:
    assert title_from_inputs("Check", fields, filled) == title


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("Check: app", "Check: app"),
        ("Check App", "Check App"),
        ("Check apps", "Check apps: app"),
        ("Check my-app.", "Check my-app."),
    ],
)
def test_a_title_does_not_repeat_what_the_name_of_the_line_says(name: str, title: str) -> None:
    assert title_from_inputs(name, [Input("a", "repository")], {"a": "/srv/app.git"}) == title
