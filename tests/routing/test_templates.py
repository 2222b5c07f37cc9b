"""Templates are look-ups: undefined is an error before anything starts, and there is nothing to call."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from pipelines.routing.document.template_variables import format_time
from pipelines.routing.document.templates import (
    MAX_RENDERED,
    TemplateError,
    UndefinedVariable,
    counted_edges,
    placeholder_names,
    render_template,
    template_lookups,
)

SCOPE: dict[str, Any] = {
    "task": {"title": "Fix", "owner": {"name": "O"}, "same": "task"},
    "input": {"repo": "r", "same": "input", "n": 5},
    "context": {"report": {"high": 2}, "report.low": 7, "same": "context", "both": "context"},
    "variables": {"id": 7, "same": "variables", "none": None, "list": [1, "é"], "yes": True},
}

RENDERED = [
    ("", ""),
    ("plain", "plain"),
    ("{{task.title}}", "Fix"),
    ("a {{ task.title }} b {{input.repo}}", "a Fix b r"),
    ("{{task.owner.name}}", "O"),
    ("{{context.report.high}}", "2"),
    ("{{context.report.low}}", "7"),
    ("{{context.report}}", '{"high": 2}'),
    ("{{variables.none}}/{{variables.yes}}", "null/true"),
    ("{{.id}}", "7"),
    ("{{.same}}", "variables"),
    ("{{.repo}}{{.both}}{{.title}}", "rcontextFix"),
    ('{{"{{"}}x{{"}"}}', "{{x}"),
    ("{ {task.title} }", "{ {task.title} }"),
    ("{{task.title", "{{task.title"),
    ("100 %}", "100 %}"),
]


@pytest.mark.parametrize(("text", "rendered"), RENDERED)
def test_a_template_is_rendered(text: str, rendered: str) -> None:
    assert render_template(text, SCOPE) == rendered


@pytest.mark.parametrize(
    "name",
    ["task.x", "input.title", "context.report.high.x", "variables.list.0", ".x", ".id.x", "task.owner.x"],
)
def test_something_undefined_is_an_error_that_names_it(name: str) -> None:
    with pytest.raises(UndefinedVariable) as caught:
        render_template(f"x {{{{{name}}}}}", SCOPE)
    assert caught.value.name == name
    assert str(caught.value) == f"{{{{{name}}}}} is not defined"


NO_LOOKUPS = [
    "{{}}",
    "{{ task }}",
    "{{title}}",
    "{{secrets.key}}",
    "{{task.}}",
    "{{task.title()}}",
    "{{task.title|upper}}",
    "{{task.a b}}",
    "{{#each x}}",
    "{{1 + 1}}",
    "{{task['title']}}",
    '{{"open}}',
]


@pytest.mark.parametrize("text", NO_LOOKUPS)
def test_braces_that_hold_no_look_up_are_an_error(text: str) -> None:
    with pytest.raises(TemplateError):
        render_template(text, SCOPE)
    with pytest.raises(TemplateError):
        placeholder_names(text)


def test_an_error_says_the_line_what_stands_there_and_what_could() -> None:
    with pytest.raises(TemplateError) as caught:
        placeholder_names("{{task.title}}\n\n{{" + "x" * 80 + "}}")
    assert str(caught.value) == (
        "line 3: {{" + "x" * 58 + " is no look-up; "
        "there are {{task.…}}, {{input.…}}, {{context.…}}, {{variables.…}} and {{.…}}"
    )
    with pytest.raises(TemplateError) as caught:
        placeholder_names('{{"open}}')
    assert str(caught.value).startswith('{{"open}}: line 1, column 1: Unterminated string')


def test_a_scope_may_lack_families() -> None:
    assert render_template("{{.x}}", {"task": {"x": 1}, "input": None}) == "1"
    with pytest.raises(UndefinedVariable):
        render_template("{{input.x}}", {"task": {"x": 1}})


def test_values_are_not_rendered_again() -> None:
    assert render_template("{{.x}}", {"variables": {"x": "{{task.title}}"}}) == "{{task.title}}"


def test_the_names_of_a_template_are_known_before_it_is_rendered() -> None:
    assert placeholder_names('{{task.title}} {{.x}} {{"{{"}} {{task.title}}') == ("task.title", ".x")


def test_a_rendered_text_is_bounded() -> None:
    with pytest.raises(TemplateError, match="longer"):
        render_template("{{.x}}" * 5, {"variables": {"x": "y" * (MAX_RENDERED // 4)}})
    assert len(render_template("{{.x}}" * 4, {"variables": {"x": "y" * (MAX_RENDERED // 4)}})) == MAX_RENDERED
    with pytest.raises(TemplateError, match=f"the rendered text is longer than {MAX_RENDERED} characters"):
        render_template("z{{.x}}" * 4, {"variables": {"x": "y" * (MAX_RENDERED // 4)}})


# Macros of the dialects

MOMENT = datetime(2026, 3, 7, 16, 5, 9, 123400, UTC)
MACROS: dict[str, Any] = {
    **SCOPE,
    "said": {"previous_output": {"high": 3}, "lint": "clean", "last_error": "no disk", "same": "said"},
    "macros": {
        "now": MOMENT,
        "chain": "release",
        "os": "linux",
        "arch": "x86_64",
        "edges": {"a->b": 2},
        "tools": ["grep", "fetch"],
    },
}


@pytest.mark.parametrize(
    ("text", "rendered"),
    [
        ("{{var:id}}", "7"),
        ("{{ var:repo }}", "r"),
        ("{{var:list}}", '[1, "\\u00e9"]'),
        ("{{var:nope|a text, as it is}}", "a text, as it is"),
        ("{{var:nope|}}", ""),
        ("{{var:id|not this}}", "7"),
        ("{{var:nope|var:repo}}", "r"),
        ("{{now:2006-01-02}}", "2026-03-07"),
        ("{{now}}", "2026-03-07T16:05:09Z"),
        ("{{date}}", "2026-03-07"),
        ("{{chain:id}}", "release"),
        ("{{edge_count:a->b}} {{edge_count:b->a}}", "2 0"),
        ("{{host:os}}/{{host:arch}}", "linux/x86_64"),
        ("{{tools}}", '["grep", "fetch"]'),
        ("{{toolservice:list}}{{hookservice:list}}", '["grep", "fetch"]["grep", "fetch"]'),
        ("{{.previous_output}}", '{"high": 3}'),
        ("{{.previous_output.high}}", "3"),
        ("{{.lint}} {{.last_error}}", "clean no disk"),
        ("{{.same}}", "variables"),
    ],
)
def test_B16_a_macro_is_a_look_up(text: str, rendered: str) -> None:
    assert render_template(text, MACROS) == rendered


@pytest.mark.parametrize(
    "name", ["var:nope", "var:nope|var:nothing", ".fix", "chain:id", "tools", "now", "date"]
)
def test_B16_an_undefined_macro_is_an_error_that_names_it(name: str) -> None:
    scope = MACROS if name.startswith(("var", ".")) else SCOPE
    with pytest.raises(UndefinedVariable) as caught:
        render_template(f"{{{{{name}}}}}", scope)
    assert caught.value.name == name


@pytest.mark.parametrize(
    "text",
    [
        "{{host:user}}",
        "{{env:HOME}}",
        "{{chain:name}}",
        "{{edge_count:a}}",
        "{{var:}}",
        "{{now:}}",
        "{{exec:id}}",
    ],
)
def test_there_are_no_other_macros(text: str) -> None:
    with pytest.raises(TemplateError):
        placeholder_names(text)


def test_what_a_template_asks_for_is_known_before_it_is_rendered() -> None:
    text = "{{task.title}} {{.x.y}} {{var:a}} {{var:b|c}} {{now:2006}} {{edge_count:a->b}}"
    assert template_lookups(text) == (("task", "title"), ("", "x.y"), ("variables", "a"))
    assert counted_edges(text) == (("a", "b"),)
    assert placeholder_names(text)[-2:] == ("now:2006", "edge_count:a->b")


@pytest.mark.parametrize(
    ("layout", "text"),
    [
        ("Mon Jan _2 15:04:05 MST 2006", "Sat Mar  7 16:05:09 UTC 2026"),
        ("Monday, 02-Jan-06 3:04PM", "Saturday, 07-Mar-26 4:05PM"),
        ("January 2, 2006 at 3:04pm", "March 7, 2026 at 4:05pm"),
        ("2006-01-02T15:04:05.000Z07:00", "2026-03-07T16:05:09.123Z"),
        ("15:04:05.999999999 -0700 -07:00", "16:05:09.1234 +0000 +00:00"),
        ("1/2/06 4:5", "3/7/26 5:9"),
        ("Year 2006, day 002 and __2", "Year 2026, day 066 and  66"),
        ("Month Janus", "Month Janus"),
        ("", ""),
    ],
)
def test_a_moment_is_written_as_go_s_layout_shows_it(layout: str, text: str) -> None:
    assert format_time(MOMENT, layout) == text


def test_a_zone_is_written_as_its_offset() -> None:
    moment = MOMENT.astimezone(timezone(timedelta(hours=-5, minutes=-30)))
    assert format_time(moment, "15:04 Z07:00 Z0700") == "10:35 -05:30 -0530"
