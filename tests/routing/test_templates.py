"""Templates are look-ups: undefined is an error before anything starts, and there is nothing to call."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.routing.templates import MAX_RENDERED, TemplateError, UndefinedVariable, names, render

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
    assert render(text, SCOPE) == rendered


@pytest.mark.parametrize(
    "name",
    ["task.x", "input.title", "context.report.high.x", "variables.list.0", ".x", ".id.x", "task.owner.x"],
)
def test_something_undefined_is_an_error_that_names_it(name: str) -> None:
    with pytest.raises(UndefinedVariable) as caught:
        render(f"x {{{{{name}}}}}", SCOPE)
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
        render(text, SCOPE)
    with pytest.raises(TemplateError):
        names(text)


def test_an_error_says_the_line_what_stands_there_and_what_could() -> None:
    with pytest.raises(TemplateError) as caught:
        names("{{task.title}}\n\n{{" + "x" * 80 + "}}")
    assert str(caught.value) == (
        "line 3: {{" + "x" * 58 + " is no look-up; "
        "there are {{task.…}}, {{input.…}}, {{context.…}}, {{variables.…}} and {{.…}}"
    )
    with pytest.raises(TemplateError) as caught:
        names('{{"open}}')
    assert str(caught.value).startswith('{{"open}}: line 1, column 1: Unterminated string')


def test_a_scope_may_lack_families() -> None:
    assert render("{{.x}}", {"task": {"x": 1}, "input": None}) == "1"  # type: ignore[dict-item]
    with pytest.raises(UndefinedVariable):
        render("{{input.x}}", {"task": {"x": 1}})


def test_values_are_not_rendered_again() -> None:
    assert render("{{.x}}", {"variables": {"x": "{{task.title}}"}}) == "{{task.title}}"


def test_the_names_of_a_template_are_known_before_it_is_rendered() -> None:
    assert names('{{task.title}} {{.x}} {{"{{"}} {{task.title}}') == ("task.title", ".x")


def test_a_rendered_text_is_bounded() -> None:
    with pytest.raises(TemplateError, match="longer"):
        render("{{.x}}" * 5, {"variables": {"x": "y" * (MAX_RENDERED // 4)}})
    assert len(render("{{.x}}" * 4, {"variables": {"x": "y" * (MAX_RENDERED // 4)}})) == MAX_RENDERED
    with pytest.raises(TemplateError, match=f"the rendered text is longer than {MAX_RENDERED} characters"):
        render("z{{.x}}" * 4, {"variables": {"x": "y" * (MAX_RENDERED // 4)}})
