"""Files that are no document of a line are refused in words about what they are."""

from __future__ import annotations

import json

import pytest

from pipelines.formats.foreign import document_import
from pipelines.routing.basics.problems import DocumentError

SQL = "-- the stations\nCREATE TABLE station_transitions (\n  id BLOB PRIMARY KEY\n);\n"
SOURCE = (
    "// an edge\nimport { Edge } from 'flow';\n\nexport default function Edge() { return <path d={a} />; }\n"
)
RUST = "use chrono::{DateTime, Utc};\n\npub struct Station { pub id: Uuid }\n"
MARKDOWN = "# Transition rules\n\nA rule says where a task goes.\n\n- one\n- two\n"
FRONT = "---\nsidebar_position: 9\ntitle: Agents\n---\n\n# Agents\n\nThey work.\n"
RECORD = {"provenance": {"id": "p", "generation": {"tool": "t"}, "review": {}, "compliance": {}}}
SCHEMA = {"$schema": "https://json-schema.org/draft/2020-12/schema", "properties": {"tasks": {}}}
POLICY = {"default_action": "approve", "rules": [{"tools": "shell"}]}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (SQL, "this is SQL, and no document of a line"),
        (SOURCE, "this is the source of a program, and no document of a line"),
        (RUST, "this is the source of a program, and no document of a line"),
        (MARKDOWN, "this is a text in Markdown, and no document of a line"),
        (FRONT, "this is a text in Markdown, and no document of a line"),
        ("<!doctype html>\n<p>Hi: there</p>\n", "this is a page or XML, and no document of a line"),
        ("Just a sentence.", "this is a text, and no document of a line"),
        (json.dumps(RECORD), "this is a record of AEEF of how a change was made, and no line"),
        (json.dumps(SCHEMA), "this is a JSON Schema, and no line"),
        (json.dumps(POLICY), "this is a policy that says what a person approves (contenox), and no line"),
        ('{"one": 1, "two": 2}', "this is no document of a system that is known: it has one, two"),
    ],
)  # fmt: skip
def test_it_is_said_what_it_is(text: str, said: str) -> None:
    with pytest.raises(DocumentError) as error:
        document_import.import_document(text)
    [problem] = error.value.problems
    assert (str(problem.message), problem.line) == (said, 1) and problem.hint


@pytest.mark.parametrize(
    "text",
    [
        "# My line\n\ngateline: 1\nkey: a\nstations: []\n",
        "# import it\n# from elsewhere\nname: a\nstages:\n  - {id: a, skill: a, onPass: complete}\n",
        '// select one from many\n{"id": "x", "tasks": [{"id": "a", "handler": "noop"}]}',
    ],
)
def test_a_document_that_begins_like_one_is_read(text: str) -> None:
    assert document_import.import_document(text).document["key"]
